"""Independent eyes: `python -m benchmarks.peers`, in an environment of its own.

pyCANON counts k-anonymity, on releases of ours; the `microaggregation` package cuts sorted values, and its SSE is
compared with ours. Both come from the package index into a temporary environment, for they pin old versions;
what cannot be installed is told, with what pip said.
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

LOOK = """
import importlib, json, pkgutil
import microaggregation
names = {m.name: dir(importlib.import_module(m.name)) for m in pkgutil.walk_packages(microaggregation.__path__, "microaggregation.")}
print(json.dumps({"here": dir(microaggregation), **names}))
"""


def releases(folder: Path) -> list[tuple[str, str, list[str], int]]:
    """Releases of ours: what they are, the file, the protected columns, and the smallest combination we count."""
    import shoal
    from shoal.check import check
    from shoal.datasets import survey

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


def main() -> None:
    print(_common.header())
    outcome: dict[str, Any] = {}
    wrong = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "peers"], check=True)
        python = folder / "peers" / "bin" / "python"
        said = install(python, "pycanon")
        if said:
            outcome["pycanon"] = f"not installed: {said}"
            print("pyCANON", outcome["pycanon"])
        else:
            ours = releases(folder)
            asked = json.dumps([(path, names) for _, path, names, _ in ours])
            done = subprocess.run(
                [python, "-c", COUNT], input=asked, capture_output=True, text=True, check=True
            )
            theirs = json.loads(done.stdout.splitlines()[-1])
            rows = [
                {"release": title, "ours": own, "pyCANON": other, "agree": own == other}
                for (title, _, _, own), other in zip(ours, theirs)
            ]
            wrong = not all(row["agree"] for row in rows)
            outcome["pycanon"] = rows
            print(_common.table(rows))
        said = install(python, "microaggregation")
        outcome["microaggregation"] = f"not installed: {said}" if said else _cuts(python)
        print("microaggregation:", outcome["microaggregation"])
    print(_common.save("peers", outcome))
    sys.exit(1 if wrong else 0)


def _cuts(python: Path) -> Any:
    """What the package offers: its names, for whoever compares its sequence partition with ours."""
    done = subprocess.run([python, "-c", LOOK], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
