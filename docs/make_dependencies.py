"""Write docs/dependencies.md: every pinned package with its licence, and why it is there.

`python -m docs.make_dependencies` (or `make sbom`), after the pins have changed;
`tests/project/test_dependencies.py` compares. What the page says of a package that is not installed here
stays.
"""

from __future__ import annotations

import textwrap
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools import licences, pins

PAGE = pins.ROOT / "docs" / "dependencies.md"

#: Why each package that pyproject.toml names is there.
REASONS = {
    "numpy": "arrays",
    "scipy": "linear algebra and distributions",
    "numba": "compiles the kernels",
    "scikit-learn": "the estimator's interface",
    "threadpoolctl": "keeps the linear algebra from taking our threads",
    "highspy": "linear and integer programs of the optimiser and the bounds",
    "narwhals": "pandas, polars and pyarrow tables seen alike",
    "pyarrow": "files, types, and the counting of the check",
    "typer": "the command line",
    "rich": "progress in the terminal and in notebooks",
    "Jinja2": "the HTML report",
    "matplotlib": "pictures",
    "nicegui": "the web page",
    "pyspark": "tables in Spark",
    "pyreadstat": "Stata, SPSS and SAS files",
    "pandas": "what pyreadstat writes from; a table of its own in the tests",
    "fastexcel": "reads Excel files, .xls and OpenDocument too",
    "XlsxWriter": "writes Excel files",
    "rdata": "R's own files",
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
    "duckdb": "files of DuckDB",
    "pandera": "an example, which a test runs",
    "great-tables": "an example, which a test runs",
    "adbc-driver-sqlite": "tables that come as streams, in the tests",
    "ibis-framework": "tables that come as streams, in the tests",
    "Sphinx": "builds the documentation site",
    "myst-nb": "Markdown and executed notebooks in the site",
    "pydata-sphinx-theme": "the look of the site",
    "hatchling": "builds wheel and source archive",
    "setuptools": "builds pyspark, which has no wheel",
    "microagg1d": "a peer in the benchmarks of one column",
}
HEAD = """# Dependencies

Written by `make sbom` from `constraints/`, which pins every package with its hashes, and from what each
installed package says of its own licence; `tests/project/test_dependencies.py` compares. **core** is what
`pip install shoal-sdc` brings; the rest comes with the extra that is named, or serves development only.

`make` installs nothing without its hash: `constraints/core.txt`, `app.txt`, `dev.txt` and `docs.txt` hold
the hashes of every wheel and source archive of each version, for all systems and Python 3.11 to 3.14, and
go to `pip install --no-deps --require-hashes -r`; `constraints/build.txt` holds what builds, so that no
build fetches tools of its own. To install a release the same way: that command with `constraints/core.txt`,
then `pip install --no-deps` with the wheel. `python -m tools.pins` makes the files anew, `--upgrade` with
newer versions. `make dist` builds wheel and source archive, byte for byte the same wherever the same commit
is built; `make try-dist` installs that wheel into an empty environment and runs the demo there; `make sbom`
also writes bills of materials (CycloneDX) into `dist/`.

{summary}

| package | version | licence | for | why |
|---|---|---|---|---|
"""


def licence(name: str) -> str:
    try:
        return licences.licence(name)
    except metadata.PackageNotFoundError:
        return as_listed(name)[2]


def as_listed(name: str) -> list[str]:
    return next((row for row in listed() if row[0] == name), [name, "", "unknown", "docs", "unknown"])


def listed() -> list[list[str]]:
    """The rows of the page as it stands."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def groups() -> dict[str, list[Requirement]]:
    """What is asked for, by what it is for: core first, then extras, then what no user needs."""
    found = {name: [Requirement(text) for text in texts] for name, texts in pins.wanted().items()}
    return found | {"build": [*found.pop("build"), Requirement("setuptools")], "bench": pins.roots("bench")}


def rows() -> list[tuple[str, str, str, str, str]]:
    """One for each pinned package."""
    reasons = {canonicalize_name(name): why for name, why in REASONS.items()}
    known, needs = pins.pinned(), pins.installed_needs()
    purpose: dict[str, tuple[str, str]] = {}
    for group, asked in groups().items():
        for place in sorted(pins.EVERYWHERE):
            for parent, one in pins.walk(asked, needs, place):
                why = reasons.get(canonicalize_name(one.name)) or f"needed by {known[parent].name}"
                purpose.setdefault(canonicalize_name(one.name), (group, why))
    order = list(groups())
    made = [
        (pin.name, pin.version, licence(pin.name), *(purpose.get(name) or as_listed(pin.name)[3:]))
        for name, pin in known.items()
    ]
    return sorted(made, key=lambda row: (order.index(row[3]), row[0].lower()))


def page() -> str:
    found = rows()
    reasons: dict[str, list[str]] = {}
    for name, _, _, group, _ in found:
        if why := licences.EXCEPTIONS.get(canonicalize_name(name)):
            reasons.setdefault(why, []).append(f"{name} ({group})")
    summary = (
        f"{sum(row[3] == 'core' for row in found)} packages in the core, {len(found)} in all. Every licence\n"
        "is permissive (BSD, MIT, Apache, PSF, ISC and their like), with these exceptions, none in core:\n\n"
    ) + "\n".join(
        textwrap.fill(f"- {', '.join(names)}: {why}", 110, subsequent_indent="  ", break_on_hyphens=False)
        for why, names in reasons.items()
    )
    lines = ["| " + " | ".join(row) + " |" for row in found]
    return HEAD.format(summary=summary) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
