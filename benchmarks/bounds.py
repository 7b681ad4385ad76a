"""Lower bounds on the papers' tables: what is proven, in what time, and how fast it is proven again.

python -m benchmarks.bounds [table:k ...] [--seconds 110]
python -m benchmarks.bounds --sim 100000 [--seconds 600]   SIM records, k = 5: neighbours, raised prices, auto
python -m benchmarks.bounds --files 2000000   in a Parquet file: released on disk, `shoal bound`, its proof
"""

from __future__ import annotations

import argparse
import csv
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from benchmarks._common import DATA, header, save, table
from benchmarks.speed import clustered
from benchmarks.streams import run
from shoal.bounds import Bound, lower_bound, standardised
from shoal.bounds.neighbours import near_sums, neighbour_prices

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


def large(n: int, seconds: float) -> dict[str, object]:
    """The neighbours' bound and the best one of n SIM records, against the loss of `auto`."""
    data = clustered(n)
    lost = shoal.microaggregate(data, 5).information_loss
    cpu = time.process_time()
    bound = lower_bound(data, 5, time_limit=seconds)
    cpu = time.process_time() - cpu
    print(f"{n:,} records: {bound.information_loss:.4f} % by {bound.method}, {cpu:.1f} CPU s", flush=True)
    X = standardised(data)
    total = np.square(X - X.mean(axis=0)).sum()
    near = 100 * neighbour_prices(near_sums(X, 5), 5).sum() / total
    again = time.process_time()
    verified = bound.verify()
    return {
        "records": n,
        "neighbours %": round(near, 4),
        "bound %": round(bound.information_loss, 4),
        "auto %": round(lost, 4),
        "gap of neighbours %": round(100 * (lost / near - 1), 1),
        "gap %": round(100 * bound.gap(lost), 1),
        "method": bound.method,
        "found in s": round(bound.seconds, 1),
        "processor s": round(cpu, 1),
        "verified": verified,
        "verified in processor s": round(time.process_time() - again, 1),
        "peak MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def released(n: int, file: Path, method: dict[str, object]) -> float:
    """Write n SIM records into a file; what a release of it loses."""
    pq.write_table(pa.table({f"x{j}": column for j, column in enumerate(clustered(n).T)}), file)
    return shoal.protect_files(file, file.with_name("out"), 5, **method).information_loss


def in_files(n: int, seconds: float, method: dict[str, object]) -> dict[str, object]:
    """What a release of a file of n SIM records loses, its bound, and what the commands take."""
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(1, get_context("spawn")) as apart:
        file, saved = Path(name) / "sim.parquet", str(Path(name) / "bound.npz")
        lost = apart.submit(released, n, file, method).result()  # a child starts with its parent's peak
        words = [str(file), "-k5", "-c" + ",".join(f"x{j}" for j in range(10))]
        row: dict[str, object] = {"records": n, "lost %": round(lost, 4)}
        for what in ("save", "verify"):
            began = time.perf_counter()
            took = run(file.parent, "bound", *words, f"--{what}", saved, f"--time-limit={seconds}")
            wall = time.perf_counter() - began
            row |= {f"{what}: s": round(wall), f"{what}: processor s": round(took["processor_seconds"])}
            row |= {f"{what}: peak MiB": round(took["peak_mib"])}
        proven = Bound.load(saved)
    row |= {"bound %": round(proven.information_loss, 4), "method": proven.method}
    return row | {"gap %": round(100 * proven.gap(lost), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=CELLS)
    parser.add_argument("--seconds", type=float, default=110)
    parser.add_argument("--sim", type=int, nargs="+", metavar="RECORDS")
    parser.add_argument("--files", type=int, nargs="+", metavar="RECORDS")
    parser.add_argument("--effort", type=float, help="of `optimise`, for --files; default: `auto`")
    options = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(40, 2))
    lower_bound(warm, 3, time_limit=60).verify()  # compiles the kernels
    if options.files:
        auto, optimise = {"method": "auto"}, {"method": "optimise", "effort": options.effort}
        method = optimise if options.effort else auto
        rows = [in_files(n, options.seconds, method) for n in options.files]
        print(table(rows))
        print(save("bounds_files", rows))
        return
    if options.sim:
        rows = [large(n, options.seconds) for n in options.sim]
        print(table(rows))
        print(save("bounds_sim", rows))
        return
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
