"""Write docs/methods.md from the registry: `python docs/make_methods.py`."""

import inspect
from pathlib import Path

import shoal

HEAD = """# Methods

Every method groups records so that each group has at least k of them. This page is made from the code by
`python docs/make_methods.py`; `shoal methods` prints the short form. Sizes "k..2k-1" are a promise that is
checked on every run. How many records each handles within a minute: `python -m benchmarks.speed --reach`.

| key | method | sizes | time | parameters |
|---|---|---|---|---|
"""


def page() -> str:
    known = shoal.methods().values()
    rows = []
    for info in known:
        parameters = ", ".join(f"`{name}={default!r}`" for name, default in info.parameters.items())
        rows.append(
            f"| [`{info.key}`](#{info.key}) | {info.title} | {info.sizes} | {info.cost} | {parameters} |"
        )
    sections = [
        f"## {info.key}\n\n**{info.title}** ({info.paper})\n\n{inspect.getdoc(info.function)}\n"
        for info in known
    ]
    return HEAD + "\n".join(rows) + "\n\n" + "\n".join(sections)


if __name__ == "__main__":
    Path(__file__).with_name("methods.md").write_text(page())
