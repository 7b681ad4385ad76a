"""`shoal compare`: several methods at several k, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import shoal
from shoal.cli.app import AsJson, Columns, app
from shoal.cli.console import guarded, interruptible, print_table, say, watching
from shoal.cli.options import whole
from shoal.cli.places import source_of
from shoal.io.json_text import json_text
from shoal.plan.options import split as listed

if TYPE_CHECKING:
    from shoal.comparison import Comparison

Source = Annotated[
    str, typer.Argument(metavar="FILE", help="The table: a file, a database's URL, - for stdin.")
]
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
Known = Annotated[
    str | None, typer.Option(metavar="COL,..", help="Kept columns an intruder knows; '' for none.")
]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", help="For each run.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same runs.")]


@app.command()
@guarded
def compare(
    file: Source,
    k: Several = "3,5,10",
    method: Methods = "auto",
    column: Columns = None,
    known: Known = None,
    output: Outputs = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    bound_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="For the proven bound at each k; 0 for none.")
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Run several methods at several k and show what each loses and risks."""
    refuse_outputs(output)
    sizes = [shoal.Plan(k=whole(word)).k for word in listed(k)]
    with source_of(file) as source, watching() as progress:
        comparison = interruptible(
            lambda: shoal.compare(
                source,
                sizes,
                listed(method),
                columns=column,
                known=listed(known) if known else None if known is None else (),
                seed=seed,
                time_limit=time_limit,
                bound_time=bound_time or None,
                progress=progress,
            )
        )
    show(comparison, output)
    if as_json:
        print(json_text(comparison.facts()))


def refuse_outputs(paths: Sequence[Path] | None) -> None:
    """Say before the work what would fail after it."""
    from shoal.comparison import refuse_ending
    from shoal.io.atomic import refuse_missing_folder

    for path in paths or ():
        refuse_ending(path)
        refuse_missing_folder(path.parent)


def show(comparison: Comparison, outputs: Sequence[Path] | None) -> None:
    """Print the runs as a table, by growing loss, and write the files that were asked for."""
    rows = []
    for run in comparison.runs:
        bound = comparison.bounds.get(run.k)
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
    say("* no other run loses less and risks less; linked: knowing all protected columns and --known")
    for failure in comparison.failures:
        say(f"note: {failure.method} at k={failure.k}: {failure.error}")
    for path in outputs or ():
        comparison.write(path)
        say(f"written to {path}")
