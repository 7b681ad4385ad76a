"""`shoal optimum`: the grouping of least loss, proven."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.bound import PROVABLE, Verify, certified, show_proof
from shoal.cli.console import guarded
from shoal.cli.options import Wanted, planned


@app.command()
@guarded
@planned(
    only=PROVABLE, why="the optimum is that of whole records in groups of at least k, published as means"
)
def optimum(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    wanted: Wanted,
    save: Annotated[
        Path | None, typer.Option(help="Keep labels and certificate in this private .npz file.")
    ] = None,
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Find the grouping that loses least and prove it, or say within 600 s or --time-limit how near it is."""
    from shoal.optimise.optimum import SECONDS, Optimum, optimum
    from shoal.outcome import percent

    prove = partial(optimum, k=wanted.k, plan=wanted, time_limit=wanted.time_limit or SECONDS)
    found = certified(file, wanted, prove, Optimum, verify, save)
    least = "no grouping loses less" if found.proven else f"at least {percent(found.bound)}"
    rows = [("lost", percent(found.information_loss)), ("must be lost", least)]
    names = ("information_loss", "proven", "bound", "gap")
    facts = {name: getattr(found, name) for name in names} if as_json else None
    show_proof(wanted.k, rows, found.least, found.information_loss, verify, facts)
