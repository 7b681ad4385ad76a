"""`shoal compare`: several methods at several k, side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, app
from shoal.cli.console import guarded, interruptible, print_table, watching
from shoal.cli.values import listed, whole
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.comparison import Comparison

Several = Annotated[
    str, typer.Option("-k", metavar="K,K,..", help="Several group sizes, separated by commas.")
]
Methods = Annotated[
    str, typer.Option("-m", "--method", metavar="M,M,..", help="Methods, separated by commas.")
]
Outputs = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="Write the comparison as .csv, .json or .svg; repeat it."),
]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", help="For each run.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same runs.")]


@app.command()
@guarded
def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The table: CSV, TSV or Parquet.")],
    k: Several = "3,5,10",
    method: Methods = "auto",
    column: Columns = None,
    output: Outputs = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    bound_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="For the proven bound at each k; 0 for none.")
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Run several methods at several k and show what each loses and risks."""
    for path in output or ():
        if path.suffix.lower() not in (".csv", ".json", ".svg"):
            raise InputError(f"{path.name!r} has another ending than .csv, .json or .svg")
    sizes = [shoal.Plan(whole(word)).k for word in listed(k)]
    with watching() as progress:
        found = interruptible(
            lambda: shoal.compare(
                shoal.read(file),
                sizes,
                listed(method),
                columns=column,
                seed=seed,
                time_limit=time_limit,
                bound_time=bound_time or None,
                progress=progress,
            )
        )
    show(found)
    for path in output or ():
        found.write(path)
        print(f"written to {path}", file=sys.stderr)
    if as_json:
        print(json.dumps(found.facts()))


def show(found: Comparison) -> None:
    """The runs as a table, by growing loss."""
    rows = []
    for run in found.runs:
        bound = found.bounds.get(run.k)
        rows.append(
            (
                "*" if run.pareto else "",
                run.method,
                str(run.k),
                f"{run.information_loss:.4g} %",
                f"{bound:.4g} %" if bound else "",
                f"{100 * run.risk:.3g} %",
                f"{100 * run.interval_disclosure:.3g} %",
                f"{run.groups:,} of {run.smallest_group} to {run.largest_group}",
                f"{run.seconds:.2f} s",
            )
        )
    heads = ("", "method", "k", "lost", "proven least", "linked", "within 5 % sd", "groups", "time")
    print_table(heads, rows, stderr=True)
    print("* no other run loses less and risks less; linked: an intruder knows all columns", file=sys.stderr)
    for failure in found.failures:
        print(f"note: {failure.method} at k={failure.k}: {failure.error}", file=sys.stderr)
