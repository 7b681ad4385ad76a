"""`shoal optimum`: the grouping of least loss, proven."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, interruptible, print_table
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_of
from shoal.errors import CheckFailed
from shoal.io.json_text import json_text


@app.command()
@guarded
@planned(
    only=(
        *("columns", "types", "levels", "roles", "missing", "missing_codes", "time_limit"),
        *("weight", "blocks", "per_column"),  # for which no bound is known, as is said then
    ),
    why="the optimum is that of whole records in groups of at least k, published as means",
)
def optimum(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    wanted: Wanted,
    save: Annotated[
        Path | None, typer.Option(help="Keep labels and certificate in this private .npz file.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Prove this saved certificate again, from the data alone.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the grouping that loses least and prove it, or say within 600 s or --time-limit how near it is."""
    from shoal.optimise.optimum import SECONDS, Optimum, optimum
    from shoal.outcome import percent

    size = wanted.k
    with source_of(file) as source:
        if verify is None:
            limit = wanted.time_limit or SECONDS
            found = interruptible(partial(optimum, source, size, plan=wanted, time_limit=limit))
        else:
            found = Optimum.load(verify)
            again = partial(found.verify, source, plan=wanted)
            if found.certificate.k != size or not interruptible(again):
                raise CheckFailed(
                    f"{str(verify)!r} does not prove its optimum for this table, these columns and k={size}"
                )
    if save is not None:
        found.save(save)
    least = "no grouping loses less" if found.proven else f"at least {percent(found.bound)}"
    rows = [
        ("k", str(size)),
        ("lost", percent(found.information_loss)),
        ("must be lost", least),
        ("proven again by" if verify else "proven by", found.least.method),
        ("time", f"{found.least.seconds:.1f} s"),
    ]
    print_table(None, rows, stderr=True)
    if as_json:
        facts = {"proven": found.proven, "bound": found.bound, "gap": found.gap}
        print(json_text({"k": size, "information_loss": found.information_loss, **facts}))
    else:
        print(found.information_loss, file=sys.stdout)
