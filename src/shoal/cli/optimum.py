"""`shoal optimum`: the grouping of least loss, proven."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.app import AsJson, Columns, K, app
from shoal.cli.console import guarded, interruptible, print_table
from shoal.cli.options import whole
from shoal.cli.places import source_of
from shoal.errors import CheckFailed
from shoal.io.json_text import json_text


@app.command()
@guarded
def optimum(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    k: K,
    column: Columns = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="The best grouping and bound found by then.")
    ] = 600.0,
    save: Annotated[
        Path | None, typer.Option(help="Keep labels and certificate in this private .npz file.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Prove this saved certificate again, from the data alone.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the grouping that loses least, and prove that none loses less; or say how near it is."""
    import shoal
    from shoal.outcome import percent

    size = shoal.Plan(whole(k)).k
    with source_of(file) as source:
        if verify is None:
            found = interruptible(lambda: shoal.optimum(source, size, columns=column, time_limit=time_limit))
        else:
            found = shoal.Optimum.load(verify)
            if found.certificate.k != size or not interruptible(lambda: found.verify(source, column)):
                raise CheckFailed(
                    f"{str(verify)!r} does not prove its optimum for this table, these columns and k={size}"
                )
    if save is not None:
        found.save(save)
    rows = [
        ("k", str(size)),
        ("lost", percent(found.information_loss)),
        (
            "must be lost",
            "the same: no grouping loses less" if found.proven else f"at least {percent(found.bound)}",
        ),
        ("proven again by" if verify else "proven by", found.least.method),
        ("time", f"{found.least.seconds:.1f} s"),
    ]
    print_table(None, rows, stderr=True)
    if as_json:
        facts = {"proven": found.proven, "bound": found.bound, "gap": found.gap}
        print(json_text({"k": size, "information_loss": found.information_loss, **facts}))
    else:
        print(found.information_loss, file=sys.stdout)
