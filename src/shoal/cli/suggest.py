"""`shoal suggest`: which k keeps the risk low enough, and why."""

from __future__ import annotations

from typing import Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, app
from shoal.cli.compare import Known, Methods, Outputs, Seed, Source, TimeLimit, refuse_outputs, show
from shoal.cli.console import guarded, interruptible, say, watching
from shoal.cli.options import whole
from shoal.cli.places import source_of
from shoal.io.json_text import json_text
from shoal.plan.options import split as listed


@app.command()
@guarded
def suggest(
    file: Source,
    max_risk: Annotated[
        float, typer.Option(help="The share of records that an intruder may link correctly.")
    ] = 0.05,
    k: Annotated[
        str | None, typer.Option("-k", metavar="K,K,..", help="Only these; default: from 2 to 50.")
    ] = None,
    method: Methods = "auto",
    column: Columns = None,
    known: Known = None,
    output: Outputs = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """Which k? The least loss whose risk is low enough, with the reason in words. Exit 1 if there is none."""
    refuse_outputs(output)
    sizes = [shoal.Plan(k=whole(word)).k for word in listed(k)] if k else None
    with source_of(file) as source, watching() as progress:
        suggestion = interruptible(
            lambda: shoal.suggest(
                source,
                max_risk,
                sizes,
                listed(method),
                columns=column,
                known=listed(known) if known else None if known is None else (),
                seed=seed,
                time_limit=time_limit,
                progress=progress,
            )
        )
    show(suggestion.comparison, output)
    say(suggestion.reason)
    if as_json:
        print(json_text(suggestion.facts()))
    if suggestion.k is None:
        raise typer.Exit(1)
