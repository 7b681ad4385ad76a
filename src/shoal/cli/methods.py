"""`shoal methods`: what there is to choose from."""

import inspect
from typing import Annotated, Any

import typer

import shoal
from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, print_table
from shoal.io.json_text import json_text


@app.command()
@guarded
def methods(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="Tell all about this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every method, or tell all about one: paper, group sizes, cost, parameters."""
    from shoal.grouping.registry import get_method

    chosen = [get_method(key)] if key else list(shoal.methods().values())
    if as_json:
        print(json_text({info.key: _facts(info) for info in chosen}))
    elif key:
        (info,) = chosen
        rows = [(name, getattr(info, name)) for name in ("title", "paper", "sizes", "cost")]
        rows += [(f"--set {name}=", f"default {default}") for name, default in info.parameters.items()]
        print_table(None, rows)
        print(inspect.getdoc(info.function))
    else:
        listed = [(info.key, info.summary, info.paper) for info in chosen]
        print_table(("key", "what it does", "paper"), listed)
        print("`shoal methods KEY` tells all about one.")


def _facts(info: Any) -> dict[str, Any]:
    facts = {name: getattr(info, name) for name in ("title", "paper", "sizes", "cost", "summary")}
    plain = (bool, int, float, str, type(None))
    facts["parameters"] = {n: d if isinstance(d, plain) else str(d) for n, d in info.parameters.items()}
    return facts
