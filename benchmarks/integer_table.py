"""The integer SSE table (Table 3) of the IMHMI paper: orders, then the optimal partition of whole numbers.

python -m benchmarks.integer_table [dataset ...] [--times] [--orders NPN PCA TSP Z-score]

`forest` is the paper's largest table (581,012 x 10): its tour takes minutes. `--times`: seconds of MHM, IMHM
and IMHMI on the dataset in the order of its first principal component, for k from 2 to 50, as in Figure 2.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks._common import DATA, header, save, table
from benchmarks._published import load
from shoal.algorithms.orders import npn_order, pca_order, tour_order, zscore_order
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence.cut import cut, labels_of, whole_sizes

ORDERS = {"NPN": npn_order, "PCA": pca_order, "TSP": tour_order, "Z-score": zscore_order}
PUBLISHED = DATA.parent / "published" / "imhmi_table3_sse.csv"


def half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rounded to whole numbers, halves away from zero, as the paper does."""
    return (np.sign(values) * np.floor(np.abs(values) + 0.5)).astype(np.int64)


def whole_sse(V: NDArray[np.int64], labels: NDArray[np.int64]) -> int:
    """Sum of squared distances to the groups' means, the means rounded to whole numbers."""
    groups = labels.max() + 1
    sizes = np.bincount(labels, minlength=groups)[:, None]
    sums = np.zeros((groups, V.shape[1]), np.int64)
    np.add.at(sums, labels, V)
    means = np.sign(sums) * ((2 * np.abs(sums) + sizes) // (2 * sizes))
    return int(np.square(V - means[labels]).sum())


def exact_cut(V: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """`shoal.kernels.sequence.cut.cut` for whole numbers in whole-number arithmetic: labels.

    Groups of different sizes m often cost the same, and rounding must not choose between them, since
    they round to different sums afterwards: costs are counted in units of 1 / lcm(k..2k-1), and of equal
    partitions the one with the longest last group is taken, as the paper's loop does.
    """
    n = len(V)
    unit = math.lcm(*range(k, 2 * k))
    sums = np.concatenate([np.zeros((1, V.shape[1]), np.int64), V.cumsum(0)])
    squares = np.concatenate([[0], np.square(V).sum(1).cumsum()])
    costs = {}
    for m in range(k, min(2 * k - 1, n) + 1):
        whole = unit * (squares[m:] - squares[:-m]) - unit // m * np.square(sums[m:] - sums[:-m]).sum(1)
        costs[m] = [0] * m + whole.tolist()
    best: list[float] = [0] + [math.inf] * n
    size = [0] * (n + 1)
    for end in range(k, n + 1):
        best[end], size[end] = min((best[end - m] + costs[m][end], -m) for m in costs if m <= end)
    labels = np.empty(n, np.int64)
    end = n
    while end > 0:
        labels[end + size[end] : end] = end  # size is negative
        end += size[end]
    return np.unique(labels, return_inverse=True)[1]


def integer_sse(X: NDArray[np.float64], k: int, order: ArrayLike) -> tuple[int, int]:
    """The IMHM and the IMHMI column for standardised data X in the given order.

    The values are multiplied by 100 and rounded. IMHM: the grouping that is optimal for real centroids,
    which are rounded afterwards. IMHMI: the grouping that is optimal for whole-number centroids.
    """
    V = half_away(100 * X)[np.asarray(order)]
    return whole_sse(V, exact_cut(V, k)), whole_sse(V, labels_of(whole_sizes(V, k)))


def printed() -> dict[tuple[str, int, str], tuple[int, int]]:
    """The paper's table: (dataset, k, order) -> (IMHM, IMHMI)."""
    with PUBLISHED.open() as lines:
        return {
            (row["dataset"], int(row["k"]), row["ordering"]): (int(row["sse_imhm"]), int(row["sse_imhmi"]))
            for row in csv.DictReader(lines)
        }


def compare(
    name: str, X: NDArray[np.float64], wanted: Collection[str] = tuple(ORDERS)
) -> list[dict[str, Any]]:
    """Every cell of a dataset beside the printed one."""
    rows = []
    X.flags.writeable = False
    orders = {}
    for key in wanted:
        began = time.process_time()
        orders[key] = ORDERS[key](X)
        print(
            f"{name}: {key} order of {len(X):,} records in {time.process_time() - began:.1f} CPU s",
            flush=True,
        )
    for (dataset, k, key), (imhm, imhmi) in printed().items():
        if dataset == name and key in orders:
            ours = integer_sse(X, k, orders[key])
            rows.append(
                {
                    "dataset": name,
                    "k": k,
                    "order": key,
                    "IMHM printed": imhm,
                    "measured": ours[0],
                    "IMHMI printed": imhmi,
                    "measured ": ours[1],
                    "difference %": round(100 * (ours[1] / imhmi - 1), 5),
                }
            )
    return rows


@kernel
def plain_sizes(X: Any, k: int) -> Any:
    """MHM as first published: the cost of each group from scratch."""
    n, d = X.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int32)
    for end in range(k, n + 1):
        for m in range(k, min(2 * k - 1, end) + 1):
            cost = best[end - m]
            for j in range(d):
                mean = 0.0
                for i in range(end - m, end):
                    mean += X[i, j] / m
                for i in range(end - m, end):
                    cost += (X[i, j] - mean) * (X[i, j] - mean)
            if cost < best[end]:
                best[end] = cost
                size[end] = m
    return size


def times(name: str, X: NDArray[np.float64]) -> list[dict[str, Any]]:
    """CPU seconds of the three searches, without the order."""
    V = half_away(100 * X)[pca_order(X)]
    real = V.astype(np.float64)
    searches = {"MHM": (plain_sizes, real), "IMHM": (cut, real), "IMHMI": (whole_sizes, V)}
    rows = []
    for k in (2, 3, 4, 5, 10, 20, 30, 40, 50):
        row: dict[str, Any] = {"dataset": name, "k": k}
        for key, (search, values) in searches.items():
            search(values[:1000], k)
            began = time.process_time()
            search(values, k)
            row[f"{key} s"] = round(time.process_time() - began, 2)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["tarragona", "census", "eia"])
    parser.add_argument("--orders", nargs="+", choices=list(ORDERS), default=list(ORDERS))
    parser.add_argument("--times", action="store_true", help="running times over k instead of the table")
    asked = parser.parse_args()
    rows = []
    for name in asked.datasets:
        X = load(DATA, name)
        rows += times(name, X) if asked.times else compare(name, X, asked.orders)
    print(header(), table(rows), sep="\n\n")
    print("\nwritten to", save("integer_table", rows))


if __name__ == "__main__":
    main()
