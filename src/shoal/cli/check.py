"""`shoal check`: the independent check of a released file."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, MaybeK, PerColumn, PlanFile, Strata, app
from shoal.cli.console import guarded
from shoal.cli.places import source_of
from shoal.cli.values import whole
from shoal.errors import InputError


@app.command()
@guarded
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A released table.")],
    k: MaybeK = None,
    column: Columns = None,
    plan: PlanFile = None,
    stratum: Strata = None,
    per_column: PerColumn = False,
    as_json: AsJson = False,
) -> None:
    """Check a released file, from the file alone: does every combination occur at least k times?"""
    from dataclasses import asdict

    from shoal.check import check as count

    if plan is not None:
        wanted = shoal.Plan.read(plan, None if k is None else whole(k))
    elif k is None:
        raise InputError("how many records must share each combination? give -k, such as -k 5, or a --plan")
    else:
        wanted = shoal.Plan(whole(k), column, per_column=per_column, strata=stratum or ())
    with source_of(file) as source:
        findings = count(
            source,
            wanted.k,
            wanted.columns,
            per_column=wanted.per_column,
            blocks=wanted.blocks,
            strata=None if wanted.merge_small_strata else wanted.strata,
        )
    for finding in findings:
        print(finding, file=sys.stderr)
    if wanted.apart:
        part = "column" if wanted.per_column else "block"
        print(f"k was checked for each {part} alone, not for the record", file=sys.stderr)
    passed = all(finding.passed for finding in findings)
    if as_json:
        print(json.dumps({"passed": passed, "findings": [asdict(finding) for finding in findings]}))
    if not passed:
        raise typer.Exit(1)
