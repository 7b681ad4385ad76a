"""`shoal protect`: protect a table and say what was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.bound import BoundTime, facts
from shoal.cli.console import guarded, interruptible, say, show_outcome, watching
from shoal.cli.large import Engine, Master, engine_for, protect_large
from shoal.cli.large import refuse_reports as refuse_large_reports
from shoal.cli.light import without_scipy
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_and_target
from shoal.errors import InputError
from shoal.io.databases.address import shown
from shoal.io.json_text import json_text

if TYPE_CHECKING:
    from shoal.release import Release

TERMINAL = Path("-")


@app.command()
@guarded
@planned()
def protect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="The table: a file, a folder of Parquet files, a database's URL, - for stdin."
        ),
    ],
    wanted: Wanted,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="Default: NAME.protected.EXT beside IN; - for stdout."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a database's table, or a folder of a release, be replaced.")
    ] = False,
    safe_cells: Annotated[
        bool,
        typer.Option(
            "--safe-cells", help="An apostrophe before texts that a spreadsheet would run (CSV, TSV)."
        ),
    ] = False,
    bound: Annotated[
        bool, typer.Option("--bound", help="Prove how little any release with this k could lose.")
    ] = False,
    bound_time: BoundTime = 60.0,
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
    engine: Engine = "auto",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Protect a table and say what was lost."""
    without_scipy()
    from shoal.pipeline import run

    output = output or ("-" if file == "-" else None)
    where = engine_for(engine, file, master)
    if where != "memory":
        refuse_large_reports(bound=bound, report=report, public_report=public_report)
        outcome, target = protect_large(where, wanted, file, output, replace, master)
        show_outcome(outcome, target)
        if as_json:
            print(json_text({**outcome.summary(), "output": target}))
        return
    editions = {"internal": report, "public": public_report}
    options: dict[str, Any] = {"formula": formula, "confidential": confidential, "sums": sums or ()}
    with source_and_target(file, output, replace) as (source, target):
        refuse_reports(editions.values(), source, target)
        with watching() as progress:
            release = interruptible(lambda: run(wanted, source, progress, strict=True))
            notes = release.write(target, replace=replace, safe_cells=safe_cells)
        proof = {}
        if bound:
            options["bound"] = interruptible(lambda: release.bound(bound_time))
            proof = facts(options["bound"], release.information_loss)
        show_outcome(release.outcome, output or target, proof, notes)
        for edition, path in write_reports(release, editions, options):
            say(f"{edition} report: {path}")
    if as_json:
        summary = release.summary()
        print(
            json_text(
                {**summary, "output": shown(output or target), "notes": [*summary["notes"], *notes], **proof}
            )
        )


def write_reports(
    release: Release, editions: Mapping[str, Path | None], options: Mapping[str, Any]
) -> list[tuple[str, Path]]:
    """Write the reports asked for; the internal one compares the neighbouring k too."""
    wanted = [(edition, path) for edition, path in editions.items() if path is not None]
    if not wanted:
        return []
    from shoal.comparison import neighbours
    from shoal.report import build, render

    for edition, path in wanted:
        comparison = None
        if edition == "internal":
            with watching() as progress:
                comparison = interruptible(lambda: neighbours(release, progress))
        if path == TERMINAL:
            make = partial(build, release, edition, comparison=comparison, **options)
            print(render(interruptible(make), "text"))
        else:
            interruptible(partial(release.report, path, edition, comparison=comparison, **options))
    return [(edition, path) for edition, path in wanted if path != TERMINAL]


def refuse_reports(paths: Iterable[Path | None], *taken: str) -> None:
    """Say before the work what would fail after it."""
    others = {Path(other).resolve() for other in taken}
    for path in paths:
        if path is None or path == TERMINAL:
            continue
        from shoal.io.atomic import refuse_missing_folder
        from shoal.report import report_format

        report_format(path)
        if path.resolve() in others:
            raise InputError(f"{str(path)!r} cannot be a report and another file too: name another")
        others.add(path.resolve())
        refuse_missing_folder(path.parent)
