"""Time of each phase of MST partitioning, over records (SIM_9..14) and attributes (SIM_15..20), k = 4.

python -m benchmarks.trees [--quick]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks._common import header, save, table
from benchmarks._published import standardised
from benchmarks.plain_trees import prim
from shoal.algorithms.trees import mst, mst_c, mst_d, preorder, spanning_tree
from shoal.datasets import sim
from shoal.kernels.neighbours.spanning_tree import cut_edges, form_clusters

K = 4
#: Seconds that the paper prints (Table 9: all phases; Table 10), Java on a Pentium 4 of 2.5 GHz.
PRINTED = {9: 668, 10: 3819, 11: 7505, 12: 14374, 13: 23785, 14: 33894,
           15: 123, 16: 129, 17: 130, 18: 165, 19: 157, 20: 207}  # fmt: skip


def phases(X: np.ndarray) -> tuple[dict[str, float], np.ndarray]:
    """Seconds for each phase, and the tree."""
    seconds = {}
    begin = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal begin
        now = time.perf_counter()
        seconds[name] = now - begin
        begin = now

    tree = spanning_tree(X)
    lap("tree")
    order, parent = preorder(tree)
    lap("preorder")
    root = cut_edges(tree, order, parent, K)
    lap("edge cutting")
    form_clusters(parent, root)
    lap("cluster formation")
    return seconds, tree


def measure(number: int) -> dict[str, Any]:
    X = standardised(sim(number)[0])
    seconds, tree = phases(X)
    row: dict[str, Any] = {"dataset": f"SIM_{number}", "records": X.shape[0], "attributes": X.shape[1]}
    row |= {name: f"{taken:.3f}" for name, taken in seconds.items()}
    row |= {"total": f"{sum(seconds.values()):.2f}", "paper, total": PRINTED[number]}
    begin = time.perf_counter()
    for k in (3, 4, 5, 10):
        mst(X, k, tree=tree)
    row["M for four k on one tree"] = f"{time.perf_counter() - begin:.3f}"
    for name, method in (("M-d", mst_d), ("M-c", mst_c)):
        begin = time.perf_counter()
        method(X, K, tree=tree)
        row[f"{name} on the tree"] = f"{time.perf_counter() - begin:.2f}"
    return row


def length(X: np.ndarray, tree: np.ndarray) -> float:
    return float(np.sqrt(np.square(X[tree[:, 0]] - X[tree[:, 1]]).sum(1)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="SIM_9, SIM_15 and SIM_16 only")
    numbers = (9, 15, 16) if parser.parse_args().quick else range(9, 21)
    print(header(), flush=True)
    mst_d(standardised(sim(21)[0]), K)  # compiles
    mst_c(standardised(sim(21)[0]), K)
    X = standardised(sim(9)[0][::4])
    lengths = {"records": len(X), "ours": length(X, spanning_tree(X)), "prim": length(X, prim(X))}
    print(f"length of the tree on {len(X)} records: {lengths['ours']!r}, Prim's {lengths['prim']!r}")
    rows = []
    for number in numbers:
        rows.append(measure(number))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    print("\nwritten to", save("trees", {"length": lengths, "rows": rows}))


if __name__ == "__main__":
    main()
