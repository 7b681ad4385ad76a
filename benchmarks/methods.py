"""Speed of every method: against a plain numpy version of itself, and its growth with the records.

python -m benchmarks.methods [key ...] [--k 3] [--columns 10] [--limit 20]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import plain, plain_line, plain_orders, plain_trees
from benchmarks._common import header, save, table
from shoal.grouping.partition import Partition
from shoal.grouping.registry import MethodInfo, methods
from shoal.grouping.runner import run_method

SIZES = (1000, 2000, 4000, 8000)
BESIDE_PLAIN = 500
PLAIN = plain.PLAIN | plain_line.PLAIN | plain_orders.PLAIN_ORDERS | plain_trees.PLAIN


def clustered(n: int, columns: int, seed: int = 0) -> NDArray[np.float64]:
    """Records around n / 50 centres, standardised: neither noise nor a solved case."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, n // 50), columns))
    X = centres[rng.integers(len(centres), size=n)] + 0.3 * rng.normal(size=(n, columns))
    return (X - X.mean(0)) / X.std(0, ddof=1)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def measure(info: MethodInfo, k: int, columns: int, limit: float) -> dict[str, Any]:
    """One row of the table; a run that would take longer than `limit` seconds is skipped."""

    def records(n: int) -> NDArray:
        X = clustered(n, 1 if info.columns == "one" else columns)
        return np.rint(1e6 * X).astype(np.int64) if info.whole else X

    row: dict[str, Any] = {"method": info.key}
    run_method(info, records(200), k)  # compiles
    seconds: list[float] = []
    for n in SIZES:
        growth = max(4.0, seconds[-1] / seconds[-2]) if len(seconds) > 1 else 4.0
        if seconds and seconds[-1] * growth > limit:
            row[f"{n}"] = f"skipped: about {seconds[-1] * growth:.0f} s"
            break
        X = records(n)
        took, _ = timed(lambda X=X: run_method(info, X, k))
        seconds.append(took)
        row[f"{n}"] = f"{took:.3f}"
    if len(seconds) > 1:
        power = math.log(seconds[-1] / seconds[0]) / math.log(SIZES[len(seconds) - 1] / SIZES[0])
        row["grows as"] = f"n^{power:.2f}"
    if info.key in PLAIN:
        X = records(BESIDE_PLAIN)
        took, partition = timed(lambda: run_method(info, X, k))
        slow, labels = timed(lambda: PLAIN[info.key](X, k))
        row["plain"] = f"{slow:.2f}"
        row["times faster"] = f"{slow / took:.0f}"
        same = np.array_equal(Partition(labels).labels, Partition(partition.labels).labels)
        row["same partition"] = "yes" if same else "NO"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("keys", nargs="*", help="methods to measure; all if none is named")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0, help="skip runs longer than this many seconds")
    options = parser.parse_args()
    print(header())
    print(f"seconds on 1000 to 8000 clustered records with {options.columns} columns, k = {options.k};")
    print(f"the plain numpy version, and how many times faster the method is, on {BESIDE_PLAIN} records\n")
    columns = ["method", *map(str, SIZES), "grows as", "plain", "times faster", "same partition"]
    rows = []
    for key in options.keys or methods():
        row = measure(methods()[key], options.k, options.columns, options.limit)
        rows.append({column: row.get(column, "-") for column in columns})
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    print("\nwritten to", save("methods", {"k": options.k, "columns": options.columns, "rows": rows}))


if __name__ == "__main__":
    main()
