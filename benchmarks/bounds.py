"""Lower bounds on the papers' tables: what is proven, in what time, and how fast it is proven again.

python -m benchmarks.bounds [table:k ...] [--seconds 110]
"""

from __future__ import annotations

import argparse
import csv
import time

import numpy as np

from benchmarks._common import DATA, header, save, table
from shoal.bounds import lower_bound

CELLS = [f"{name}:{k}" for name in ("tarragona", "census", "eia") for k in (3, 4, 5, 10)]
#: Least losses that any partition in our notes has reached (IL %).
REACHED = {
    "tarragona": {3: 14.4674, 4: 17.0894, 5: 20.1523, 10: 30.1162},
    "census": {3: 4.6680, 4: 6.0297, 5: 7.259, 10: 11.3596},
    "eia": {3: 0.3489, 4: 0.4830, 5: 0.7294, 10: 1.9317},
}


def read(name: str) -> np.ndarray:
    """The papers' columns: all of Tarragona and Census, UTILITYID, REVENUE and SALES of EIA."""
    with open(DATA / f"{name}.csv") as file:
        rows = list(csv.reader(file))
    keep = [
        c
        for c, title in enumerate(rows[0])
        if name != "eia" or title == "UTILITYID" or title.endswith(("REVENUE", "SALES"))
    ]
    return np.array([[float(row[c]) for c in keep] for row in rows[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=CELLS)
    parser.add_argument("--seconds", type=float, default=110)
    options = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(40, 2))
    lower_bound(warm, 3, time_limit=60).verify()  # compiles the kernels
    rows = []
    for cell in options.cells:
        name, k = cell.split(":")
        data = read(name)
        cpu = time.process_time()
        bound = lower_bound(data, int(k), time_limit=options.seconds)
        cpu = time.process_time() - cpu
        began = time.perf_counter()
        verified = bound.verify()
        row = {
            "table": name,
            "k": k,
            "bound %": round(bound.information_loss, 5),
            "best known %": REACHED[name][int(k)],
            "gap %": round(100 * bound.gap(REACHED[name][int(k)]), 2),
            "method": bound.method,
            "found in s": round(bound.seconds, 1),
            "processor s": round(cpu, 1),
            "verified": verified,
            "verified in s": round(time.perf_counter() - began, 1),
        }
        rows.append(row)
        print(row, flush=True)
    print(header())
    print(table(rows))
    print(save("bounds", rows))


if __name__ == "__main__":
    main()
