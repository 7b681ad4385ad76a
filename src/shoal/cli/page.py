"""`shoal app`: the web page for people who do not script."""

from typing import Annotated

import typer

from shoal.cli.app import app
from shoal.cli.console import guarded


@app.command("app")
@guarded
def page(
    port: Annotated[int, typer.Option(help="Default: any free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    upload_limit: Annotated[
        int, typer.Option(metavar="MB", min=1, help="The largest file that the page takes.")
    ] = 2000,
    origin: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The outer address, if a tunnel or a proxy leads to the page."),
    ] = None,
) -> None:
    """Open the web page on this machine: data, settings, run, look, take away. Ctrl-C ends it.

    The first line on stdout is the file that opens it; with --no-browser, its address with a code that
    works once. Nothing leaves the machine.
    """
    from shoal.app.server import serve

    serve(port, browser=browser, upload_limit=upload_limit, origin=origin)
