"""`shoal protect`: protect a table and say what was lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, K, PerColumn, app
from shoal.cli.console import guarded, interruptible, show_outcome, watching
from shoal.cli.values import parameters, whole
from shoal.errors import InputError


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
