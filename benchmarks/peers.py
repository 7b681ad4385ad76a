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

FIGURES = """
import json, sys
import pandas as pd
from pycanon import anonymity as a
def figures(data, names, sa):
    alpha, k = a.alpha_k_anonymity(data, names, sa)
    c, l = a.recursive_c_l_diversity(data, names, sa)
    return {"k": k, "alpha": alpha, "l": a.l_diversity(data, names, sa), "c of (c, l)": c,
            "entropy l": a.entropy_l_diversity(data, names, sa),
            "beta": a.basic_beta_likeness(data, names, sa),
            "enhanced beta": a.enhanced_beta_likeness(data, names, sa), "t": a.t_closeness(data, names, sa),
            "delta": a.delta_disclosure(data, names, sa)}
print(json.dumps([{key: float(x) for key, x in figures(pd.read_csv(path), names, [sa]).items()}
                  for path, names, sa in json.load(sys.stdin)]))
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


def own_figures(path: str, names: list[str], sa: str) -> dict[str, float]:
    """The figures of the requirements, each that of the worst group of a file."""
    import pandas as pd

    from shoal.frame.column import categories
    from shoal.plan.rules import read_rule
    from shoal.requirements.closeness import Closeness
    from shoal.requirements.diversity import Diversity

    data = pd.read_csv(path)
    column = categories(sa, "nominal", np.unique(data[sa], return_inverse=True)[1], None)
    groups = [np.asarray(rows) for rows in data.groupby(names).indices.values()]

    def worst(kind: type[Diversity | Closeness], word: str, rule: str, of: Any = max) -> float:
        requirement = kind.of(read_rule(word, sa, rule), column)
        return float(of(requirement.figure(rows) for rows in groups))

    rarest = float(-np.log(data[sa].value_counts(normalize=True).min()))
    least = int(worst(Diversity, "diversity", "1", min))
    return {
        "k": min(map(len, groups)),
        "alpha": worst(Diversity, "diversity", "share:1"),
        "l": least,
        "c of (c, l)": max(theirs_of(data[sa].iloc[rows], least) for rows in groups),
        "entropy l": worst(Diversity, "diversity", "entropy:1", min),
        "beta": worst(Closeness, "closeness", "beta:1"),
        "enhanced beta": min(worst(Closeness, "closeness", "beta:1"), rarest),  # as pyCANON limits it
        "t": worst(Closeness, "closeness", "1"),
        "delta": worst(Closeness, "closeness", "delta:1"),
    }


def theirs_of(values: Any, least: int) -> float:
    """c of a group as pyCANON 1.3.6 counts it: it sorts upwards, so its r1 is the rarest value.

    The definition (Machanavajjhala and others, 2007), which our rule `recursive` keeps, has the most frequent
    value there: c > r1 / (rl + .. + rm).
    """
    counts = np.sort(values.value_counts().to_numpy())
    return float(counts[0] // counts[least - 1 :].sum() + 1) if least > 1 else np.nan


def agrees(key: str, own: float, other: float) -> bool:
    if key == "entropy l":  # pyCANON cuts the digits off, and 1.9999999 with them
        return other - 1e-9 <= own <= other + 1 + 1e-9
    return bool(np.isclose(own, other, 0, 1e-6, equal_nan=True))


def figures(python: Path, folder: Path) -> list[dict[str, Any]]:
    """Every figure of a requirement on 20 releases: on how many ours and pyCANON's are the same."""
    import shoal

    files = [
        (path, names, "region" if "sector" in names else "sector") for _, path, names, _ in releases(folder)
    ]
    for number, asked in enumerate(
        ({"diversity": {"sector": 3}}, {"closeness": {"sector": 0.3}}, {"diversity": {"sector": "entropy:2"}})
    ):
        release = shoal.microaggregate(shoal.datasets.survey(600), 4, columns=["turnover", "wages"], **asked)
        path = folder / f"required{number}.csv"
        release.write(path, keep=release.outcome.kept)
        files.append((str(path), ["turnover", "wages"], "sector"))
    rows = []
    pairs = list(zip([own_figures(*file) for file in files], ask(python, FIGURES, files)))
    for key in pairs[0][0]:
        same = [agrees(key, own[key], other[key]) for own, other in pairs]
        first = next((pair for pair, equal in zip(pairs, same) if not equal), pairs[0])
        rows.append(
            {
                "figure": key,
                "releases": len(same),
                "same": sum(same),
                "ours": first[0][key],
                "pyCANON": first[1][key],
                "agree": all(same),
            }
        )
    return rows


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
            if not said and package == "pycanon":
                outcome["requirements"] = figures(python, folder)
                print(_common.table(outcome["requirements"]))
            print(package, outcome[package] if said else "\n" + _common.table(outcome[package]), sep=": ")
    print(_common.save("peers", outcome))
    rows = [row for found in outcome.values() if isinstance(found, list) for row in found]
    sys.exit(0 if all(row["agree"] for row in rows) else 1)


if __name__ == "__main__":
    main()
