"""`shoal protect`: protect a table and say what was lost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli.app import AsJson, Columns, K, PerColumn, app
from shoal.cli.console import guarded, interruptible, show_outcome, watching
from shoal.cli.values import parameters, whole
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.release import Release

TERMINAL = Path("-")


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
    report: Annotated[
        Path | None, typer.Option(help="Write the internal report there: .html, .json, .txt; - prints it.")
    ] = None,
    public_report: Annotated[
        Path | None, typer.Option(help="Write the public report there, without seed and risks.")
    ] = None,
    formula: Annotated[
        str | None, typer.Option(help='A model that the report fits on both tables, "y ~ a + log(b)".')
    ] = None,
    confidential: Annotated[
        list[str] | None, typer.Option(help="A kept column that the report watches; repeat it.")
    ] = None,
    sums: Annotated[
        list[str] | None, typer.Option("--sum", help='A sum the report audits, "total = a + b"; repeat it.')
    ] = None,
    as_json: AsJson = False,
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
    editions = {"internal": report, "public": public_report}
    refuse_reports(editions.values(), file, target)
    with watching() as progress:
        release = interruptible(lambda: run(plan, file, progress))
        release.write(target)
    outcome = {**release.summary(), "output": str(target)}
    show_outcome(outcome)
    options = {"formula": formula, "confidential": confidential, "sums": sums or ()}
    for edition, path in write_reports(release, editions, options):
        print(f"{edition} report: {path}", file=sys.stderr)
    if as_json:
        print(json.dumps(outcome))


def write_reports(
    release: Release, editions: Mapping[str, Path | None], options: Mapping[str, Any]
) -> list[tuple[str, Path]]:
    """Write the reports asked for; the internal one compares the neighbouring k too."""
    from shoal.comparison import neighbours
    from shoal.report import build, render

    wanted = [(edition, path) for edition, path in editions.items() if path is not None]
    for edition, path in wanted:
        own = dict(options)
        if edition == "internal":
            with watching() as progress:
                own["comparison"] = interruptible(lambda: neighbours(release, progress))
        if path == TERMINAL:
            print(render(interruptible(partial(build, release, edition, **own)), "text"))
        else:
            interruptible(partial(release.report, path, edition, **own))
    return [(edition, path) for edition, path in wanted if path != TERMINAL]


def refuse_reports(paths: Iterable[Path | None], *taken: Path) -> None:
    """Say before the work what would fail after it."""
    from shoal.report import report_format

    for path in paths:
        if path is None or path == TERMINAL:
            continue
        report_format(path)
        if path.resolve() in {other.resolve() for other in taken}:
            raise InputError(f"{str(path)!r} cannot be the table and its report: name another file")
        if not path.parent.is_dir():
            raise InputError(
                f"the folder {str(path.parent)!r} does not exist: make it first, or write elsewhere"
            )


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
