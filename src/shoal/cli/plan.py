"""`shoal plan`: every decision, written down for a person to change."""

from __future__ import annotations

from typing import Annotated

import typer

import shoal
from shoal.cli.app import K, app
from shoal.cli.console import guarded
from shoal.cli.options import whole
from shoal.cli.places import source_of


@app.command()
@guarded
def plan(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table.")],
    k: K = "5",
    method: Annotated[str, typer.Option("-m", "--method", help="See `shoal methods`.")] = "auto",
) -> None:
    """Write a plan for a table to stdout: roles and types as guessed, with reasons, for you to change."""
    from shoal.frame.guess import guess_roles
    from shoal.grouping.registry import get_method
    from shoal.io.source import frame_of

    get_method(method)
    with source_of(file) as source:
        frame = frame_of(source)
        digest = frame.origin and frame.origin.sha256()
    guesses = guess_roles(frame)
    wanted = shoal.Plan(
        k=whole(k),
        method=method,
        roles={guess.name: guess.role for guess in guesses},
        types={guess.name: guess.type for guess in guesses if guess.role == "quasi" and guess.type},
        sha256=digest,
    )
    print(wanted.toml({guess.name: guess.reason for guess in guesses}), end="")
