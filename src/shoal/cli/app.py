"""The typer application, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal

app = typer.Typer(
    help="Publish microdata safely: each record becomes the mean of a group of at least k similar ones.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

K = Annotated[
    str, typer.Option("-k", metavar="K", help="How many records must share each published combination.")
]
MaybeK = Annotated[
    str | None,
    typer.Option("-k", metavar="K", help="How many records must share each combination; or a plan says it."),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="PLAN", help="A plan that `shoal plan` wrote; it says all the rest."),
]
Strata = Annotated[
    list[str] | None,
    typer.Option("--stratum", metavar="COL", help="Groups never cross the values of this column; repeat it."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("-c", "--column", help="A column to protect; repeat it. Default: every numeric."),
]
PerColumn = Annotated[
    bool,
    typer.Option("--per-column", help="Group each column on its own: k holds per column, not per record."),
]


AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object on stdout.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"shoal {shoal.__version__}")
        raise typer.Exit
