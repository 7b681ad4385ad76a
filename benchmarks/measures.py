"""How long the measures take, and how much memory: `python -m benchmarks.measures`."""

import resource
import time

import numpy as np

import shoal
from benchmarks._common import header, save, table
from shoal.datasets import survey

COLUMNS = ["employees", "turnover", "wages", "assets", "energy_use", "profit"]


def halved(X: np.ndarray) -> np.ndarray:
    """Group means of a quick partition into 7 to 9 records: halve along the widest column."""
    labels, groups, rest = np.empty(len(X), int), 0, [np.arange(len(X))]
    while rest:
        rows = rest.pop()
        if len(rows) < 10:
            labels[rows] = groups
            groups += 1
            continue
        widest = np.ptp(X[rows], axis=0).argmax()
        order = np.argpartition(X[rows, widest], len(rows) // 2)
        rest += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    sizes = np.bincount(labels)
    return np.stack([np.bincount(labels, column) / sizes for column in X.T], axis=1)[labels]


def main() -> None:
    rows = []
    for n in (10_000, 100_000, 1_000_000):
        firms = survey(n)
        X = np.stack([firms[name].to_numpy().astype(float) for name in COLUMNS], axis=1)
        Y = halved((X - X.mean(axis=0)) / X.std(axis=0)) * X.std(axis=0) + X.mean(axis=0)
        for measure in (shoal.utility, shoal.risk):
            began, cpu = time.perf_counter(), time.process_time()
            measure(X, Y)
            rows.append(
                {
                    "measure": measure.__name__,
                    "records": n,
                    "seconds": round(time.perf_counter() - began, 2),
                    "cpu_seconds": round(time.process_time() - cpu, 2),
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
            )
    print(header(), table(rows), save("measures", rows), sep="\n\n")


if __name__ == "__main__":
    main()
