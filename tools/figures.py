"""Collect what benchmarks measured: `make figures` (python -m tools.figures).

Each benchmark writes benchmarks/out/NAME.json. This takes them over into docs/figures.json, beside those that
stand there and were not measured anew, and writes docs/figures.md from it. `tests/project/test_figures.py`
compares README and docs with docs/figures.json: a sentence that quotes a figure is listed in QUOTED. What
README quotes of a page that has a benchmark's table is listed in SAME.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT, STORE, PAGE = ROOT / "benchmarks" / "out", ROOT / "docs" / "figures.json", ROOT / "docs" / "figures.md"

#: Where a figure is quoted: page, and the text with the figure's path in braces, as `str.format` fills it.
QUOTED = [
    ("docs/install.md", "with compiled kernels it takes {container[1][processor s]} s of processor time"),
    ("docs/install.md", "without them {container[0][processor s]} s"),
    ("docs/install.md", "The core takes {install_size[core MB]} MB on disk"),
    ("docs/install.md", "numba with llvmlite {install_size[numba and llvmlite MB]}"),
    ("docs/install.md", "pyarrow {install_size[pyarrow MB]}"),
    ("docs/install.md", "scipy {install_size[scipy MB]}"),
]

#: What README quotes, and the page that has it with its command.
SAME = [
    ("14.4675", "docs/optimality.md"),
    ("30.119", "docs/optimality.md"),
    ("4.6684", "docs/optimality.md"),
    ("14.80", "docs/optimality.md"),
    ("| 3 | 16.93 | 16.93 |", "docs/results.md"),
    ("| 10 | 33.19 | 33.19 |", "docs/results.md"),
    ("| 3 | 5.69 | 5.69 |", "docs/results.md"),
    ("1.626", "docs/speed.md"),
    ("17.326", "docs/speed.md"),
    ("0.0456", "docs/measures.md"),
    ("1092", "docs/measures.md"),
]


def collected(out: Path = OUT, store: Path = STORE) -> dict[str, Any]:
    """What is stored, with what was measured since."""
    known: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    for path in sorted(out.glob("*.json")):
        measured = json.loads(path.read_text())
        known[path.stem] = {"command": f"python -m benchmarks.{path.stem}", **measured}
    return dict(sorted(known.items()))


def page(known: Mapping[str, Any]) -> str:
    """The collected figures as a page."""
    parts = [
        "# Figures\n\nCollected by `make figures` from what benchmarks wrote. Each is measured anew by the "
        "command above it;\nother pages quote them, and a test compares."
    ]
    for name, facts in known.items():
        shown = json.dumps(facts["outcome"], indent=1)
        told = f"`{facts['command']}` on {facts['machine']}."
        parts.append(f"## {name}\n\n{told}\n\n```json\n{shown}\n```")
    return "\n\n".join(parts) + "\n"


def quoted(known: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each page with a text that must stand there."""
    outcomes = {name: facts["outcome"] for name, facts in known.items()}
    return [(where, text.format(**outcomes)) for where, text in QUOTED]


def main() -> None:
    known = collected()
    STORE.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(page(known))
    for where, text in quoted(known):
        if text not in " ".join((ROOT / where).read_text().split()):
            print(f"{where} should say: {text}")


if __name__ == "__main__":
    main()
