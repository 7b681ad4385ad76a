"""`shoal bound`: how little any release could lose, proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    float | None, typer.Option("--bound-time", metavar="SECONDS", help="What --bound may take; default: 60.")
]
Verify = Annotated[Path | None, typer.Option(help="Prove this saved certificate again, from the data alone.")]
#: The fields of a plan that a proof looks at.
PROVABLE = (
    *("columns", "types", "levels", "roles", "missing", "missing_codes", "time_limit", "weight"),
    *("blocks", "per_column"),  # for which no bound is known, as is said then
)


@app.command()
@guarded
@planned(only=PROVABLE, why="a bound holds for every method, scaling, stratum and requirement")
def bound(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    wanted: Wanted,
    save: Annotated[Path | None, typer.Option(help="Keep the certificate in this .npz file.")] = None,
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Prove, within 60 s or --time-limit, how much every release of this table with this k must lose."""
    from shoal.bounds import SECONDS, Bound, bound_matrix, measured
    from shoal.outcome import percent

    def prove(source: str) -> Bound:
        records, weights = measured(source, plan=wanted)
        return bound_matrix(records, wanted.k, weights, time_limit=wanted.time_limit or SECONDS)

    proven = certified(file, wanted, prove, Bound, verify, save)
    told = {"bound": proven.information_loss, "bound_method": proven.method, "bound_seconds": proven.seconds}
    rows = [("must be lost", f"at least {percent(proven.information_loss)}")]
    show_proof(wanted.k, rows, proven, proven.information_loss, verify, told if as_json else None)


def certified(
    file: str, wanted: Wanted, prove: Callable[[str], Any], kind: Any, verify: Path | None, save: Path | None
) -> Any:
    """What is proven of a table, or what a saved certificate proves again."""
    if save is not None:
        from shoal.io.atomic import refuse_input, refuse_place

        refuse_place(save)
        refuse_input(save, Path(file))
    with source_of(file) as source:
        if verify is None:
            proven = interruptible(partial(prove, source))
        else:
            proven = kind.load(verify)
            again = partial(proven.verify, source, plan=wanted)
            if proven.certificate.k != wanted.k or not interruptible(again):
                what = kind.__name__.lower()
                raise CheckFailed(
                    f"{str(verify)!r} does not prove its {what} for this table, these columns and "
                    f"k={wanted.k}"
                )
    if save is not None:
        proven.save(save)
    return proven


def show_proof(
    k: int,
    rows: list[tuple[str, str]],
    proof: Bound,
    loss: float,
    verify: Path | None,
    as_json: Mapping[str, Any] | None,
) -> None:
    """What is proven and how, for people on stderr; the loss alone, or the facts `as_json`, on stdout."""
    how = [("proven again by" if verify else "proven by", proof.method), ("time", f"{proof.seconds:.1f} s")]
    print_table(None, [("k", str(k)), *rows, *how], stderr=True)
    print(loss if as_json is None else json_text({"k": k, **as_json}))


def facts(proof: Mapping[str, Any]) -> dict[str, Any]:
    """A proof, as the report has it, under the names of the outcome's other figures."""
    named = {"bound": "information_loss", "bound_method": "method", "bound_seconds": "seconds", "gap": "gap"}
    return {name: proof[key] for name, key in named.items()}
