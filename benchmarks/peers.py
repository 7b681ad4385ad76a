"""Independent eyes: `python -m benchmarks.peers`, in an environment of its own.

pyCANON counts k-anonymity on releases of ours; the `microaggregation` package cuts sequences of records at
least SSE, as our kernel does. Both come from the package index into a temporary environment, for they pin old
versions; what cannot be installed is told, with what pip said.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _common

COUNT = """
import json, sys
import pandas as pd
from pycanon import anonymity
print(json.dumps([anonymity.k_anonymity(pd.read_csv(path), names) for path, names in json.load(sys.stdin)]))
"""

CUT = """
import json, sys
import numpy as np
from microaggregation import calculate_sse_dynamic
print(json.dumps([float(calculate_sse_dynamic(np.array(X), k)) for X, k in json.load(sys.stdin)]))
"""


def releases(folder: Path) -> list[tuple[str, str, list[str], int]]:
    """Releases of ours: what it is, its file, the protected columns, the rarest combination as we count."""
    import shoal
    from shoal.datasets import survey
    from shoal.verify.files import check

    names = ["turnover", "wages", "profit"]
    made = []
    for method in ("mdav", "mst_d", "multi_dsort", "auto"):
        for k in (2, 3, 5, 10):
            path = folder / f"{method}{k}.csv"
            shoal.microaggregate(survey(600), k, columns=names, method=method).write(path)
            made.append((f"{method}, k={k}", str(path), names, check(path, k, names)[0].smallest_group))
    path = folder / "mixed.csv"
    options: dict[str, Any] = {"columns": ["sector", "employees"], "types": {"sector": "nominal"}}
    shoal.microaggregate(survey(600), 4, **options).write(path)
    made.append(
        (
            "sector and employees, k=4",
            str(path),
            options["columns"],
            check(path, 4, options["columns"])[0].smallest_group,
        )
    )
    return made


def install(python: Path, package: str) -> str:
    """Install a package; an empty text, or what pip said."""
    words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    done = subprocess.run(words, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def ask(python: Path, script: str, question: Any) -> Any:
    """What a script in the other environment answers."""
    words = [str(python), "-c", script]
    done = subprocess.run(words, input=json.dumps(question), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def counts(python: Path, folder: Path) -> list[dict[str, Any]]:
    ours = releases(folder)
    theirs = ask(python, COUNT, [(path, names) for _, path, names, _ in ours])
    return [
        {"release": title, "ours": own, "pyCANON": other, "agree": own == other}
        for (title, _, _, own), other in zip(ours, theirs)
    ]


def cuts(python: Path) -> list[dict[str, Any]]:
    """The least SSE of cutting a sequence into groups of k to 2k-1, ours and theirs."""
    from shoal.grouping.partition import Partition
    from shoal.kernels.sequence.cut import cut

    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=(n, d)), k) for n, d, k in ((40, 1, 3), (100, 2, 4), (250, 3, 5), (500, 5, 10))]
    theirs = ask(python, CUT, [(X.tolist(), k) for X, k in cases])
    rows = []
    for (X, k), other in zip(cases, theirs):
        own = Partition(cut(X, k)).sse(X)
        same = abs(own - other) <= 1e-9 * other
        rows.append({"records": X.shape, "k": k, "ours": own, "microaggregation": other, "agree": same})
    return rows


def main() -> None:
    print(_common.header())
    outcome: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "peers"], check=True)
        python = folder / "peers" / "bin" / "python"
        for package in ("pycanon", "microaggregation"):
            said = install(python, package)
            if said:
                outcome[package] = f"not installed: {said}"
            else:
                outcome[package] = counts(python, folder) if package == "pycanon" else cuts(python)
            print(package, outcome[package] if said else "\n" + _common.table(outcome[package]), sep=": ")
    print(_common.save("peers", outcome))
    rows = [row for found in outcome.values() if isinstance(found, list) for row in found]
    sys.exit(0 if all(row["agree"] for row in rows) else 1)


if __name__ == "__main__":
    main()
