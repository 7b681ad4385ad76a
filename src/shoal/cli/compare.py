"""`shoal compare`: several methods at several k, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, interruptible, print_table, say, watching
from shoal.cli.options import Tried, Wanted, planned
from shoal.cli.places import source_of
from shoal.io.json_text import json_text
from shoal.plan.options import OPTIONS

if TYPE_CHECKING:
    from shoal.comparison import Comparison

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The table: a file, a folder of Parquet files, a database's URL, - for stdin."
    ),
]
Outputs = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="Write the comparison as .csv, .json or .svg; repeat it."),
]
SIZES = (3, 5, 10)
#: The fields of a plan that change what a release loses or risks.
TRIED = tuple(option.field for option in OPTIONS if option.field not in ("order", "pseudonyms"))
UNWRITTEN = "what is tried is measured, and written to no file"


@app.command()
@guarded
@planned(k="5", several=True, only=TRIED, why=UNWRITTEN)
def compare(
    file: Source,
    wanted: Wanted,
    sizes: Tried,
    methods: Tried,
    output: Outputs = None,
    bound_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="For the proven bound at each k; 0 for none.")
    ] = 10.0,
    price: Annotated[
        bool, typer.Option("--price", help="Try each plan without each of its requirements too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run several methods at several k (without -k: 3, 5 and 10) and show what each loses and risks.

    A requirement typed again for the same column, such as --closeness income=0.1 --closeness income=0.2, is
    tried likewise.
    """
    from shoal.comparison import compare_plans

    refuse_outputs(output, file)
    with source_of(file) as source, watching() as progress:
        comparison = interruptible(
            lambda: compare_plans(
                *(wanted, source, sizes or SIZES, methods, bound_time or None), progress=progress, price=price
            )
        )
    show(comparison, output)
    if as_json:
        print(json_text(comparison.facts()))


def refuse_outputs(paths: Sequence[Path] | None, file: str) -> None:
    """Say before the work what would fail after it, or take the place of the input."""
    from shoal.comparison import refuse_ending
    from shoal.io.atomic import refuse_input, refuse_place

    for path in paths or ():
        refuse_ending(path)
        refuse_place(path)
        refuse_input(path, Path(file))


def show(comparison: Comparison, outputs: Sequence[Path] | None) -> None:
    """Print the runs as a table, by growing loss, and write the files that were asked for."""
    rows: list[tuple[str, ...]] = [
        (
            "*" if run.pareto else "",
            run.method,
            str(run.k),
            f"{run.information_loss:.4g} %",
            f"{bound:.4g} %" if (bound := comparison.bounds.get(run.k)) else "",
            f"{100 * run.risk:.3g} %",
            f"{100 * run.interval_disclosure:.3g} %",
            f"{run.groups:,} of {run.smallest_group} to {run.largest_group}",
            f"{run.seconds:.2f} s",
        )
        for run in comparison.runs
    ]
    heads = ["", "method", "k", "lost", "proven least", "linked", "within 5 % sd", "groups", "time"]
    if any(run.requirements for run in comparison.runs):  # which need the room
        heads = [*heads[:6], "beyond k"]
        rows = [(*row[:6], run.requirements) for row, run in zip(rows, comparison.runs)]
    print_table(heads, rows, stderr=True)
    say("* no other run loses less and risks less; linked: knowing all protected columns and --known")
    for note in comparison.notes:
        say(f"note: {note}")
    for failure in comparison.failures:
        beyond = f" with {failure.requirements}" if failure.requirements else ""
        say(f"note: {failure.method} at k={failure.k}{beyond}: {failure.error}")
    for path in outputs or ():
        comparison.write(path)
        say(f"written to {path}")
