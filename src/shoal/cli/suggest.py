"""`shoal suggest`: which k keeps the risk low enough, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.compare import TRIED, UNWRITTEN, Outputs, Source, refuse_outputs, show
from shoal.cli.console import guarded, interruptible, say, watching
from shoal.cli.options import Tried, Wanted, planned
from shoal.cli.places import source_of
from shoal.io.json_text import json_text


@app.command()
@guarded
@planned(k="2", several=True, only=TRIED, why=UNWRITTEN)
def suggest(
    file: Source,
    wanted: Wanted,
    sizes: Tried,
    methods: Tried,
    max_risk: Annotated[
        float, typer.Option(help="The share of records that an intruder may link correctly.")
    ] = 0.05,
    output: Outputs = None,
    as_json: AsJson = False,
) -> None:
    """Which k, of -k or from 2 to 50? The least loss whose risk is low enough. Exit 1 if there is none."""
    from shoal.suggestion import suggest_plans

    refuse_outputs(output, file)
    with source_of(file) as source, watching() as progress:
        suggestion = interruptible(lambda: suggest_plans(wanted, source, max_risk, sizes, methods, progress))
    show(suggestion.comparison, output)
    say(suggestion.reason)
    if as_json:
        print(json_text(suggestion.facts()))
    if suggestion.k is None:
        raise typer.Exit(1)
