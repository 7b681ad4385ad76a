"""`shoal bound`: how little any release could lose, proven."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, interruptible, print_table
from shoal.cli.options import Wanted, planned
from shoal.cli.places import source_of
from shoal.errors import CheckFailed
from shoal.io.json_text import json_text

if TYPE_CHECKING:
    from shoal.bounds import Bound

BoundTime = Annotated[
    float, typer.Option("--bound-time", metavar="SECONDS", help="What finding the proven bound may take.")
]


@app.command()
@guarded
@planned(
    only=(
        *("columns", "types", "levels", "roles", "missing", "missing_codes", "time_limit"),
        *("weight", "blocks", "per_column"),  # for which no bound is known, as is said then
    ),
    why="a bound holds for every method, scaling, stratum and requirement",
)
def bound(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    wanted: Wanted,
    save: Annotated[Path | None, typer.Option(help="Keep the certificate in this .npz file.")] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Prove this saved certificate again, from the data alone.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove, within 60 s or --time-limit, how much every release of this table with this k must lose."""
    from shoal.bounds import SECONDS, Bound, bound_matrix, standardised
    from shoal.outcome import percent

    size = wanted.k
    with source_of(file) as source:
        if verify is None:
            records = standardised(source, plan=wanted)
            limit = wanted.time_limit or SECONDS
            proven = interruptible(lambda: bound_matrix(records, size, time_limit=limit))
        else:
            proven = Bound.load(verify)
            again = partial(proven.verify, source, plan=wanted)
            if proven.certificate.k != size or not interruptible(again):
                raise CheckFailed(
                    f"{str(verify)!r} does not prove its bound for this table, these columns and k={size}"
                )
    if save is not None:
        proven.save(save)
    rows = [
        ("k", str(size)),
        ("must be lost", f"at least {percent(proven.information_loss)}"),
        ("proven again by" if verify else "proven by", proven.method),
        ("time", f"{proven.seconds:.1f} s"),
    ]
    print_table(None, rows, stderr=True)
    if as_json:
        print(json_text({"k": size, **facts(proven)}))
    else:
        print(proven.information_loss, file=sys.stdout)


def facts(bound: Bound, information_loss: float | None = None) -> dict[str, Any]:
    """A bound as plain values; with a release's loss also how far above the bound it lies."""
    facts = {"bound": bound.information_loss, "bound_method": bound.method, "bound_seconds": bound.seconds}
    if information_loss is not None:
        facts["gap"] = bound.gap(information_loss)
    return facts
