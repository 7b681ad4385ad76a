"""`shoal plan`: every decision, written down for a person to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from shoal.cli.app import app
from shoal.cli.console import guarded
from shoal.cli.guesses import with_guesses
from shoal.cli.large import seen_of
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_of


@app.command()
@guarded
@planned(k="5")
def plan(file: Annotated[str, typer.Argument(metavar="FILE", help="A table.")], wanted: Wanted) -> None:
    """Write a plan for a table to stdout, with reasons, for you to change.

    Options, or a plan for an earlier table, say what they say; the other roles and types are guessed.
    """
    from shoal.frame.guess import guess_roles
    from shoal.grouping.registry import get_method

    get_method(wanted.method, wanted.parameters)
    with source_of(file) as source:
        frame = seen_of(source)
        digest = frame.origin and frame.origin.sha256()
    guesses = guess_roles(frame)
    reasons = {g.name: g.reason if g.name not in wanted.roles else "as you said" for g in guesses}
    print(replace(with_guesses(wanted, guesses), sha256=digest).toml(reasons), end="")
