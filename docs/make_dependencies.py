"""Write docs/dependencies.md: every pinned package with its licence, and why it is there.

`python docs/make_dependencies.py`, after constraints.txt has changed; `tests/project/test_dependencies.py`
compares.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"

#: Why each package that pyproject.toml names is there.
REASONS = {
    "numpy": "arrays",
    "scipy": "linear algebra and distributions",
    "numba": "compiles the kernels",
    "scikit-learn": "a decision tree in the measures, the estimator's interface",
    "threadpoolctl": "keeps the linear algebra from taking our threads",
    "highspy": "linear and integer programs of the optimiser and the bounds",
    "narwhals": "pandas, polars and pyarrow tables seen alike",
    "pyarrow": "files, types, and the counting of the check",
    "typer": "the command line",
    "rich": "tables and progress in the terminal",
    "Jinja2": "the HTML report",
    "matplotlib": "pictures",
    "nicegui": "the web page",
    "pyspark": "tables in Spark",
    "pyreadstat": "Stata, SPSS and SAS files",
    "pandas": "what pyreadstat writes from; a table of its own in the tests",
    "openpyxl": "Excel files",
    "pg8000": "PostgreSQL",
    "pytest": "tests",
    "pytest-xdist": "tests on both cores",
    "pytest-cov": "measures what the tests run",
    "hypothesis": "tests over random tables",
    "ruff": "style",
    "mypy": "types",
    "import-linter": "holds which room may import which",
    "pre-commit": "runs style, types and imports before each commit",
    "polars": "a table of its own in the tests",
    "networkx": "an independent shortest tour and tree in the tests, and an example",
    "playwright": "drives a browser in the tests of the web page",
    "microagg1d": "a peer in the benchmarks of one column",
}
#: Copyleft within the file (MPL): shoal neither changes nor ships these files.
WEAK = ("MPL", "Mozilla")

HEAD = """# Dependencies

Written by `python docs/make_dependencies.py` from `constraints.txt`, which pins every package, and from what
each installed package says of its own licence; `tests/project/test_dependencies.py` compares. **core** is
what `pip install shoal-sdc` brings; the rest comes with the extra that is named, or serves development only.

{summary}

| package | version | licence | for | why |
|---|---|---|---|---|
"""


def key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, tuple[str, str]]:
    """Name and version of every line of constraints.txt, by a key that spelling does not change."""
    lines = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    pairs = [line.split("==") for line in lines if line]
    return {key(name): (name, version) for name, version in pairs}


def licence(name: str) -> str:
    """What an installed package says of its licence."""
    facts = metadata.metadata(name)
    if facts.get("License-Expression"):
        return str(facts["License-Expression"])
    classes = [
        text.split("::")[-1].strip() for text in facts.get_all("Classifier", []) if "License ::" in text
    ]
    return "; ".join(text for text in classes if text != "OSI Approved") or str(
        facts.get("License", "unknown")
    )


def wanted() -> dict[str, list[str]]:
    """The packages that pyproject.toml names, by what they are for: core first, then extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"core": project["dependencies"], **project["optional-dependencies"]}
    del groups["all"]
    return {group: [key(re.split(r"[^\w.-]", text)[0]) for text in texts] for group, texts in groups.items()}


def reached(roots: Iterable[str]) -> dict[str, str]:
    """Every package that these need, and the one that needs it."""
    known, found, waiting = pinned(), {}, [(root, "") for root in roots]
    while waiting:
        name, parent = waiting.pop(0)
        if name in found or name not in known:
            continue
        found[name] = parent
        for text in metadata.requires(known[name][0]) or []:
            if "extra ==" not in text:
                waiting.append((key(re.split(r"[^\w.-]", text)[0]), known[name][0]))
    return found


def rows() -> list[tuple[str, str, str, str, str]]:
    """One for each pinned package."""
    purpose: dict[str, tuple[str, str]] = {}
    for group, roots in wanted().items():
        for name, parent in reached(roots).items():
            purpose.setdefault(name, (group, parent))
    reasons = {key(name): why for name, why in REASONS.items()}
    made = []
    for short, (name, version) in pinned().items():
        group, parent = purpose.get(short, ("benchmarks" if short in reasons else "dev", ""))
        made.append(
            (name, version, licence(name), group, reasons.get(short) or f"needed by {parent or 'others'}")
        )
    order = ["core", *[group for group in wanted() if group != "core"], "benchmarks"]
    return sorted(made, key=lambda row: (order.index(row[3]), row[0].lower()))


def page() -> str:
    found = rows()
    weak = [f"{name} ({group})" for name, _, text, group, _ in found if any(word in text for word in WEAK)]
    summary = (
        f"{sum(row[3] == 'core' for row in found)} packages in the core, {len(found)} in all. Every licence\n"
        "is permissive (BSD, MIT, Apache, PSF, ISC and their like), with these exceptions, none in core:\n"
        "under the Mozilla Public Licence, whose copyleft ends at its own files, which shoal never changes\n"
        f"nor ships, {', '.join(weak)}.\n"
        "docutils (app) is public domain in the main, with tools under the GPL that shoal does not call."
    )
    lines = ["| " + " | ".join(row) + " |" for row in found]
    return HEAD.format(summary=summary) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
