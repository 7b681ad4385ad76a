"""`shoal check`: the independent check of a released file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, say, watching
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_of
from shoal.io.json_text import json_text

#: The fields of a plan that a count in the released file alone looks at.
COUNTED = (
    *("columns", "types", "levels", "roles", "keep", "weight", "unit", "strata", "merge_small_strata"),
    *("missing_codes", "blocks", "per_column", "diversity", "closeness", "dominance", "spread"),
)


@app.command()
@guarded
@planned(
    only=lambda options: COUNTED if options["original"] is None else (),
    why="without --original only what is in the file is counted; add it, or leave this out",
)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A released table, or a folder of its parts.")],
    wanted: Wanted,
    original: Annotated[
        str | None,
        typer.Option("--original", metavar="FILE", help="Compare rows and untouched columns with this."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a released file, from files alone: does every combination occur at least k times?

    With --original also whether no row was lost or doubled, and untouched columns are untouched; with the
    plan or the options of the release, row by row, though rows were shuffled, and units are counted.
    """
    from dataclasses import asdict, replace

    from shoal.plan.rules import KINDS
    from shoal.verify.files import check as count
    from shoal.verify.files import check_original, contents_of

    loose = wanted.merge_small_strata or wanted.missing_codes
    merged, protected = wanted.strata if loose else (), wanted.columns or ()
    with source_of(file) as source, watching(doing="check") as progress:
        share = 1.0 if original is None else 0.2
        told: dict[str, Any] = {"per_column": wanted.per_column, "blocks": wanted.blocks, "plan": wanted}
        alone = wanted if original is None else replace(wanted, **dict.fromkeys(KINDS))
        released = contents_of(source)
        findings: list[Any] = list(
            count(
                released,
                wanted.k,
                wanted.columns,
                strata=[name for name in wanted.strata if name not in merged or name not in protected],
                unit=wanted.unit if original is None else (),
                progress=lambda done: progress(share * done),
                **{**told, "plan": alone},
            )
        )
        if original is not None:
            agreement = check_original(
                released,
                original,
                wanted.columns,
                without_gaps=wanted.missing == "drop",
                totals_kept=wanted.preserve is not None,
                merged=merged,
                progress=lambda done: progress(share + (1 - share) * done),
                **told,
            )
            findings.append(agreement)
    for finding in findings:
        say(finding)
    if wanted.apart:
        part = "column" if wanted.per_column else "block"
        say(f"k was checked for each {part} alone, not for the record")
    passed = all(finding.passed for finding in findings)
    if as_json:
        answer: dict[str, Any] = {"passed": passed, "findings": [asdict(f) for f in findings]}
        if original is not None:
            answer["original"] = answer["findings"].pop()
        print(json_text(answer))
    if not passed:
        raise typer.Exit(1)
