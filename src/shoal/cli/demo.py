"""`shoal demo`: a survey made, protected and explained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli.app import K, app
from shoal.cli.bound import facts
from shoal.cli.console import guarded, interruptible, say, show_outcome, watching
from shoal.cli.options import whole
from shoal.cli.protect import write_reports
from shoal.io.json_text import json_text

#: Seconds for the bound: what is shown shall not be waited for longer than the rest.
PROOF = 15.0


@app.command()
@guarded
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put the files.")] = Path("demo"),
    records: Annotated[int, typer.Option("-n", help="How many businesses the survey has.")] = 5000,
    k: K = "3",
) -> None:
    """Make a business survey, protect it, and show what was lost."""
    from shoal.datasets import survey
    from shoal.pipeline import run
    from shoal.report.model import proof

    folder.mkdir(parents=True, exist_ok=True)
    original, target = folder / "firms.csv", folder / "firms.protected.csv"
    shoal.write(survey(records), original)
    with watching() as progress:
        release = interruptible(lambda: run(shoal.Plan(whole(k)), original, progress))
        release.write(target)
    with watching(doing="proof"):
        bound = interruptible(lambda: release.bound(PROOF))
    proven = facts(proof(bound, release.information_loss))
    show_outcome(release.outcome, str(target), proven)
    outcome = {**release.summary(), "output": str(target), **proven}
    (folder / "outcome.json").write_text(json_text(outcome, indent=1) + "\n")
    editions = {"internal": folder / "report.html", "public": folder / "report.public.html"}
    write_reports(release, editions, {"formula": "turnover ~ employees + wages", "bound": bound})
    say(f"Compare {original} with {target}; {editions['internal']} explains it.")
