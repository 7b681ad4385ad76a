"""The typer application, and the options that several commands share."""

from typing import Annotated

import typer

import shoal

app = typer.Typer(
    help="Publish microdata: in chosen columns, each record shows the mean of at least k similar ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

K = Annotated[
    str, typer.Option("-k", metavar="K", help="How many records must share each published combination.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object on stdout.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"shoal {shoal.__version__}")
        raise typer.Exit
