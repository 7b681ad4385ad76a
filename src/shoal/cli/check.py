"""`shoal check`: the independent check of a released file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, K, PerColumn, app
from shoal.cli.console import guarded
from shoal.cli.values import whole


@app.command()
@guarded
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A released table.")],
    k: K,
    column: Columns = None,
    per_column: PerColumn = False,
    as_json: AsJson = False,
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
