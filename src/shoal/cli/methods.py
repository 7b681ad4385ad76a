"""`shoal methods`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Any

import shoal
from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, print_table


@app.command()
@guarded
def methods(
    as_json: AsJson = False,
) -> None:
    """List every method with its paper, group sizes, cost and parameters."""
    known = shoal.methods().values()
    if as_json:
        facts = ("key", "title", "paper", "sizes", "cost", "summary")
        print(
            json.dumps(
                {
                    info.key: {fact: getattr(info, fact) for fact in facts}
                    | {"parameters": {n: _plain(d) for n, d in info.parameters.items()}}
                    for info in known
                }
            )
        )
        return
    rows = [
        (
            info.key,
            info.title,
            info.paper,
            info.sizes,
            info.cost,
            ", ".join(f"{n}={d}" for n, d in info.parameters.items()),
        )
        for info in known
    ]
    print_table(("key", "method", "paper", "sizes", "time", "parameters"), rows)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
