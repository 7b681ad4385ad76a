"""What the place of a gap costs: at its nearest records' mean, as shoal groups, or at the column's mean.

    python -m benchmarks.gaps [--full]

Holes are made in complete tables, at random and where values are large, so that rare patterns are joined;
the loss is over the cells that are there.
"""

from __future__ import annotations

import argparse

import numpy as np

import shoal
from benchmarks import _common
from shoal import pipeline
from shoal.table import files

TABLES = {
    "household.csv": ["age", "expend", "income", "savings"],
    "labour_force.csv": None,
    "census.csv": None,
}


def holes(X: np.ndarray, share: float, high: bool, rng: np.random.Generator) -> np.ndarray:
    """The table with that share of cells missing: at random, or only from the upper half of each column."""
    chance = np.where(np.median(X, axis=0) < X, 2 * share, 0.0) if high else share
    return np.where(rng.random(X.shape) < chance, np.nan, X)


def loss(X: np.ndarray, k: int, missing: str, filled: bool) -> float:
    own = pipeline.fill
    if not filled:
        pipeline.fill = lambda points, columns, spans, cells: points
    try:
        return shoal.microaggregate(X, k, method="mdav", missing=missing).information_loss
    finally:
        pipeline.fill = own


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
            for missing in ("group", "impute"):
                for k in (3, 10):
                    at_mean, near = loss(Y, k, missing, False), loss(Y, k, missing, True)
                    rows.append(
                        {
                            "table": name,
                            "records": len(X),
                            "holes": "high" if high else "random",
                            "missing": missing,
                            "k": k,
                            "at the column's mean": at_mean,
                            "at its neighbours": near,
                        }
                    )
    print(_common.header())
    print(_common.table([{key: _shown(value) for key, value in row.items()} for row in rows]))
    print(_common.save("gaps", rows))


def _shown(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
