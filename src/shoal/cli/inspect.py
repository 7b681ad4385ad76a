"""`shoal inspect`: what the columns of a table look like."""

from dataclasses import asdict
from typing import Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, plain
from shoal.cli.guesses import show_guesses
from shoal.cli.large import seen_of
from shoal.cli.places import source_of
from shoal.io.databases.address import shown
from shoal.io.json_text import json_text


@app.command()
@guarded
def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table.")], as_json: AsJson = False
) -> None:
    """Guess what each column is, with reasons. Nothing is changed, and no guess is applied."""
    from shoal.frame.guess import guess_roles, notes_on_codes
    from shoal.frame.types import read_column
    from shoal.io.origin import notes_on_signs

    with source_of(file) as source:
        frame = seen_of(source)
    guesses = guess_roles(frame)
    notes = notes_on_codes(read_column(frame, name) for name in frame.numeric()) + notes_on_signs(frame)
    if as_json:
        facts = {"records": len(frame), "columns": [asdict(guess) for guess in guesses], "notes": notes}
        print(json_text(facts))
        return
    show_guesses(guesses)
    for note in notes:
        print(plain(note))
    name = shown(file)
    told = f"{len(frame):,} records were looked at. These are guesses: "
    told += f"`shoal plan {name} > plan.toml` writes them down."
    print(plain(told))
    print("`shoal protect` applies them only with --accept-guesses; else name the columns with -c.")
