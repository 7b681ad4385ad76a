"""The optimum of the papers' tables and of small ones: what is found, what is proven, in what time.

python -m benchmarks.optimum [table:k ...] [--seconds 600] [--small]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import shoal
from benchmarks._common import header, save, table
from benchmarks.bounds import read

CELLS = ("census:3", "tarragona:3", "tarragona:4", "census:4", "tarragona:5", "census:5", "eia:3")
CELLS += ("tarragona:10", "census:10", "eia:10")


def small_tables() -> dict[str, tuple[np.ndarray, int]]:
    """Ten random tables of 60 to 100 records, and five cut from real ones."""
    cells = {}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(60, 101)), 1 + seed % 5, 2 + seed % 4
        X = rng.normal(size=(n, d)) + (5 * rng.integers(0, 3, size=(n, 1)) if seed % 2 else 0)
        cells[f"random {seed}, {n} x {d}"] = X, k
    for number, name in enumerate(("tarragona", "census", "eia", "tarragona", "census")):
        rows = np.random.default_rng(number).choice(800, 80, replace=False)
        d, k = 3 + number % 3, 2 + number % 4
        cells[f"{name} {number}, 80 x {d}"] = read(name)[rows, 1 : d + 1], k
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=CELLS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--small", action="store_true", help="fifteen small tables instead")
    options = parser.parse_args()
    shoal.optimum(np.random.default_rng(80).normal(size=(80, 3)), 3).verify()  # compiles the kernels
    cells = small_tables()
    if not options.small:
        cells = {cell: (read(cell.split(":")[0]), int(cell.split(":")[1])) for cell in options.cells}
    rows = []
    for name, (data, k) in cells.items():
        cpu, began = time.process_time(), time.perf_counter()
        found = shoal.optimum(data, k, time_limit=options.seconds)
        spent = time.perf_counter() - began, time.process_time() - cpu
        cpu, began = time.process_time(), time.perf_counter()
        verified = found.verify()
        row = {
            "table": name,
            "k": k,
            "lost %": round(found.information_loss, 8),
            "bound %": round(found.bound, 8),
            "gap %": round(100 * found.gap, 5),
            "proven": found.proven,
            "s": round(spent[0], 1),
            "processor s": round(spent[1], 1),
            "nodes": len(found.certificate.arrays.get("pairs", ())),
            "verified": verified,
            "verified in s": round(time.perf_counter() - began, 1),
            "processor s of it": round(time.process_time() - cpu, 1),
        }
        rows.append(row)
        print(row, flush=True)
    print(header())
    print(table(rows))
    print(save("optimum", rows))


if __name__ == "__main__":
    main()
