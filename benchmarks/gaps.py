"""What gaps cost: placed at the column's mean, or among their nearest records; and settled by what both have.

    python -m benchmarks.gaps [--full]

Holes are made in complete tables, at random and where values are large, so that rare patterns are joined;
the loss is over the cells that are there.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

import shoal
from benchmarks import _common
from shoal.io import files
from shoal.stages import group

TABLES = {
    "household.csv": ["age", "expend", "income", "savings"],
    "labour_force.csv": None,
    "census.csv": None,
}


def holes(X: np.ndarray, share: float, high: bool, rng: np.random.Generator) -> np.ndarray:
    """The table with that share of cells missing: at random, or only from the upper half of each column."""
    chance = np.where(np.median(X, axis=0) < X, 2 * share, 0.0) if high else share
    return np.where(rng.random(X.shape) < chance, np.nan, X)


#: What is left out: nothing; settling by what both have; and finding a place for each gap.
NEAR, SETTLED = "at its neighbours", "settled by what both have"
WAYS: dict[str, tuple[str, ...]] = {
    "at the column's mean": ("impute", "refine_gaps"),
    NEAR: ("refine_gaps",),
    SETTLED: (),
}


def loss(X: np.ndarray, k: int, missing: str, method: str, without: tuple[str, ...]) -> float:
    own = {name: getattr(group, name) for name in without}
    for name in without:
        setattr(group, name, lambda given, *others: given)
    try:
        return shoal.microaggregate(X, k, method=method, missing=missing).information_loss
    finally:
        for name, function in own.items():
            setattr(group, name, function)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="all records, not the first 1000")
    full = parser.parse_args().full
    rows = []
    for name, columns in TABLES.items():
        table = files.read(_common.DATA / name)
        if columns is None:
            columns = [c for c in table.column_names if table[c].null_count == 0][:8]
        X = np.column_stack([np.array(table[c], dtype=float) for c in columns])
        X = X[~np.isnan(X).any(axis=1)]
        X = X if full else X[:1000]
        for high in (False, True):
            Y = holes(X, 0.1, high, np.random.default_rng(0))
            for method, missing, k in itertools.product(("mdav", "auto"), ("group", "impute"), (3, 10)):
                facts = {
                    "table": name,
                    "records": len(X),
                    "holes": "high" if high else "random",
                    "method": method,
                    "missing": missing,
                    "k": k,
                }
                lost = {way: loss(Y, k, missing, method, without) for way, without in WAYS.items()}
                rows.append(facts | lost)
    print(_common.header())
    print(_common.table([{key: _shown(value) for key, value in row.items()} for row in rows]))
    print(_common.table(told := summary(rows)))
    print(_common.save("gaps", {"cases": rows, "settled against neighbours": told}))


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often settling lowered the loss, and by how much on average."""
    told = []
    for method, missing in itertools.product(("mdav", "auto"), ("group", "impute")):
        found = [row for row in rows if (row["method"], row["missing"]) == (method, missing)]
        change = np.array([100 * (row[SETTLED] / row[NEAR] - 1) for row in found])
        told.append(
            {
                "method": method,
                "missing": missing,
                "cases": len(found),
                "lower": int((change < -1e-6).sum()),
                "higher": int((change > 1e-6).sum()),
                "lower by %": round(-change.mean(), 1),
            }
        )
    return told


def _shown(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
