"""What each command does: read the request, call the library, say what came of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli.console import guarded, interruptible, show_outcome, watching
from shoal.cli.values import parameters, whole
from shoal.errors import InputError

app = typer.Typer(
    help="Publish microdata safely: each record becomes the mean of a group of at least k similar ones.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

K = Annotated[
    str, typer.Option("-k", metavar="K", help="How many records must share each published combination.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("-c", "--column", help="A column to protect; repeat it. Default: every numeric."),
]
PerColumn = Annotated[
    bool,
    typer.Option("--per-column", help="Group each column on its own: k holds per column, not per record."),
]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"shoal {shoal.__version__}")
        raise typer.Exit


@app.command()
@guarded
def protect(
    file: Annotated[Path, typer.Argument(metavar="IN", help="The table to protect: CSV, TSV or Parquet.")],
    k: K,
    column: Columns = None,
    method: Annotated[str, typer.Option("-m", "--method", help="See `shoal methods`.")] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeat it."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="Default: NAME.protected.EXT beside IN."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same release.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Return the best found by then.")
    ] = None,
    per_column: PerColumn = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> None:
    """Protect a table and say what was lost."""
    from shoal.pipeline import run

    plan = shoal.Plan(
        whole(k),
        tuple(column) if column else None,
        method,
        parameters(settings),
        seed,
        time_limit,
        per_column,
    )
    target = output or beside(file)
    refuse_target(target, file)
    with watching() as progress:
        release = interruptible(lambda: run(plan, file, progress))
        release.write(target)
    outcome = {**release.summary(), "output": str(target)}
    show_outcome(outcome)
    if as_json:
        print(json.dumps(outcome))


def beside(file: Path) -> Path:
    """NAME.protected.EXT beside the input; refused if it exists."""
    target = file.with_name(f"{file.stem}.protected{file.suffix}")
    if target.exists():
        raise InputError(
            f"{str(target)!r} exists already: name the output with -o (a named file is replaced)"
        )
    return target


def refuse_target(target: Path, file: Path) -> None:
    """Say before the work what would fail after it."""
    from shoal.table.files import file_format

    file_format(target)
    if target.exists() and file.exists() and target.samefile(file):
        raise InputError(f"{str(target)!r} is the input, which is never overwritten: name another output")
    if not target.parent.is_dir():
        raise InputError(
            f"the folder {str(target.parent)!r} does not exist: make it first, or write elsewhere"
        )


@app.command()
@guarded
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A released table.")],
    k: K,
    column: Columns = None,
    per_column: PerColumn = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
) -> None:
    """Check a released file, from the file alone: does every combination occur at least k times?"""
    from dataclasses import asdict

    from shoal.check import check as count

    findings = count(file, shoal.Plan(whole(k)).k, column, per_column=per_column)
    for finding in findings:
        print(finding, file=sys.stderr)
    if per_column:
        print("k was checked for each column alone, not for the record", file=sys.stderr)
    passed = all(finding.passed for finding in findings)
    if as_json:
        print(json.dumps({"passed": passed, "findings": [asdict(finding) for finding in findings]}))
    if not passed:
        raise typer.Exit(1)


@app.command()
@guarded
def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print them as one JSON object.")] = False,
) -> None:
    """List every method with its paper, group sizes, cost and parameters."""
    from shoal.cli.console import print_table

    known = shoal.methods().values()
    if as_json:
        facts = ("key", "title", "paper", "sizes", "cost", "summary")
        print(
            json.dumps(
                {
                    info.key: {fact: getattr(info, fact) for fact in facts}
                    | {"parameters": {n: _plain(d) for n, d in info.parameters.items()}}
                    for info in known
                }
            )
        )
        return
    rows = [
        (
            info.key,
            info.title,
            info.paper,
            info.sizes,
            info.cost,
            ", ".join(f"{n}={d}" for n, d in info.parameters.items()),
        )
        for info in known
    ]
    print_table(("key", "method", "paper", "sizes", "time", "parameters"), rows)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


@app.command()
@guarded
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put the files.")] = Path("demo"),
    records: Annotated[int, typer.Option("-n", help="How many businesses the survey has.")] = 5000,
    k: K = "5",
) -> None:
    """Make a business survey, protect it, and show what was lost."""
    from shoal.datasets import survey
    from shoal.pipeline import run

    folder.mkdir(parents=True, exist_ok=True)
    original, target = folder / "survey.csv", folder / "survey.protected.csv"
    shoal.write(survey(records), original)
    with watching() as progress:
        release = interruptible(lambda: run(shoal.Plan(whole(k)), original, progress))
        release.write(target)
    outcome = {**release.summary(), "output": str(target)}
    show_outcome(outcome)
    report = folder / "outcome.json"
    report.write_text(json.dumps(outcome, indent=1) + "\n")
    print(f"Compare {original} with {target}; the outcome is in {report}.", file=sys.stderr)
