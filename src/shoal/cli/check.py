"""`shoal check`: the independent check of a released file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, say
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_of
from shoal.io.json_text import json_text


@app.command()
@guarded
@planned
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A released table, or a folder of its parts.")],
    wanted: Wanted,
    original: Annotated[
        str | None,
        typer.Option(
            "--original", metavar="FILE", help="Compare rows, their order and untouched columns with this."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a released file, from files alone: does every combination occur at least k times?

    With --original also whether no row was lost, doubled or moved, and untouched columns are untouched.
    """
    from dataclasses import asdict

    from shoal.verify.files import check as count
    from shoal.verify.files import check_original

    with source_of(file) as source:
        parts: dict[str, Any] = {"per_column": wanted.per_column, "blocks": wanted.blocks}
        findings: list[Any] = list(
            count(
                source,
                wanted.k,
                wanted.columns,
                strata=None if wanted.merge_small_strata else wanted.strata,
                **parts,
            )
        )
        if original is not None:
            agreement = check_original(
                source,
                original,
                wanted.columns,
                dropped=wanted.named("identifier"),
                without_gaps=wanted.missing == "drop",
                totals_kept=wanted.preserve is not None,
                **parts,
            )
            findings.append(agreement)
    for finding in findings:
        say(finding)
    if wanted.apart:
        part = "column" if wanted.per_column else "block"
        say(f"k was checked for each {part} alone, not for the record")
    if wanted.merge_small_strata and wanted.strata:
        say("k was checked over all records, for small strata were merged")
    passed = all(finding.passed for finding in findings)
    if as_json:
        answer: dict[str, Any] = {"passed": passed, "findings": [asdict(f) for f in findings]}
        if original is not None:
            answer["original"] = answer["findings"].pop()
        print(json_text(answer))
    if not passed:
        raise typer.Exit(1)
