"""Every running time that the papers print on data we have, beside ours on one core in this run.

    python -m benchmarks.paper_times [--records 20] [--part univariate repordmic mst fixed]

printed / ours above 1: ours is faster. Ours are CPU seconds of one thread, compiled before. The papers'
machines are of 2005 (a Pentium 4 at 2.5 GHz, Java) and of 2020 (a G3220 at 3 GHz, C++). `--records` is the
largest table in one dimension, in millions. There, ours are shown twice: from unsorted values to labels and
means of the records, and the search alone, on sorted values, which is what the paper's algorithm describes.
Tables that we do not have (Creta, vlCensus) are left out, and times that survive only as a picture.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ["SHOAL_THREADS"] = "1"

import numpy as np

from benchmarks._common import DATA, header, save, table
from benchmarks._published import load, standardised
from shoal.algorithms.repordmic import kmeans_starts, repeated_ordering
from shoal.datasets import sim
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.sequence.line import SSE, WHOLE, cut_sorted

#: IMHMI paper, Table 1: (k, millions of values) -> seconds of MHM, IMHM, IMHMI
TABLE_1 = {
    (2, 0.5): (0.04, 0.04, 0.04), (2, 2): (0.16, 0.15, 0.18), (2, 5): (0.45, 0.37, 0.43),
    (2, 10): (0.89, 0.73, 0.84), (2, 20): (2.00, 1.47, 1.60),
    (3, 0.5): (0.03, 0.03, 0.03), (3, 2): (0.13, 0.10, 0.14), (3, 5): (0.37, 0.25, 0.33),
    (3, 10): (0.74, 0.50, 0.65), (3, 20): (1.28, 1.02, 1.29),
    (4, 0.5): (0.04, 0.03, 0.04), (4, 2): (0.17, 0.11, 0.15), (4, 5): (0.44, 0.28, 0.38),
    (4, 10): (0.79, 0.53, 0.76), (4, 20): (1.52, 1.15, 1.51),
    (5, 0.5): (0.05, 0.03, 0.04), (5, 2): (0.24, 0.12, 0.18), (5, 5): (0.48, 0.30, 0.43),
    (5, 10): (0.97, 0.58, 0.88), (5, 20): (1.95, 1.19, 1.70),
    (10, 0.5): (0.13, 0.05, 0.07), (10, 2): (0.47, 0.18, 0.27), (10, 5): (1.16, 0.44, 0.66),
    (10, 10): (2.24, 0.86, 1.32), (10, 20): (4.53, 1.80, 2.62),
}  # fmt: skip
#: RepOrdMic paper, Table 3: (dataset, k) -> seconds for 200 starts
REPORDMIC = {
    ("tarragona", 3): 5.4, ("tarragona", 5): 4.6, ("tarragona", 10): 5.0, ("census", 3): 7.3,
    ("census", 5): 6.6, ("census", 10): 5.7, ("eia", 3): 51.3, ("eia", 5): 36.8, ("eia", 10): 25.9,
}  # fmt: skip
#: MST paper, Tables 9 and 10, k = 4: number of the simulated table -> seconds
MST = dict(zip(range(9, 21), (668, 3819, 7505, 14374, 23785, 33894, 123, 129, 130, 165, 157, 207)))
#: MST paper, section 4: "under" so many seconds on Tarragona and Census; minutes on SIM_1
SMALL = {"diameter": 3.0, "centroid": 1.0, "mst": 2.0, "mst_d": 2.0, "mst_c": 2.0}
SIM_1 = {
    ("centroid", 3): 60.0, ("mst", 3): 252.0, ("mst_d", 3): 270.0, ("mst_c", 3): 270.0,
    ("diameter", 3): 9180.0, ("diameter", 10): 2640.0,
}  # fmt: skip

Row = dict[str, Any]


def seconds(work: Callable[..., Any], *arguments: Any) -> float:
    began = time.process_time()
    work(*arguments)
    return time.process_time() - began


def beside(source: str, what: str, printed: float, ours: float, alone: float | None = None) -> Row:
    """One line; `alone` are our seconds of the search on sorted values."""
    made = {"source": source, "what": what, "printed s": printed, "ours s": f"{ours:.3g}"}
    made |= {"printed / ours": f"{printed / ours:.2f}", "search alone s": "", "printed / search alone": ""}
    if alone is not None:
        made |= {"search alone s": f"{alone:.3g}", "printed / search alone": f"{printed / alone:.2f}"}
    return made


def row(source: str, what: str, printed: float, work: Callable[..., Any], *arguments: Any) -> Row:
    return beside(source, what, printed, seconds(work, *arguments))


def group(source: str, what: str, printed: float, key: str, X: np.ndarray, k: int, warm: int = 2100) -> Row:
    """A method's run; a part of the table is grouped before, so that its kernels are compiled."""
    info = get_method(key)
    run_method(info, X[:warm], k)
    return row(source, what, printed, run_method, info, X, k)


def univariate(most: float) -> Iterator[Row]:
    """The same whole numbers as doubles (IMHM) and as they are (IMHMI), the best of two runs."""
    for (k, millions), printed in TABLE_1.items():
        if millions <= most:
            n = int(millions * 1e6)
            whole = np.random.default_rng(0).integers(-n // 2, n // 2, n, endpoint=True)[:, None]
            real = whole.astype(np.float64)
            in_order = np.sort(real[:, 0])
            ours = {}
            for key, X, kind in (("univariate", real, SSE), ("univariate_integer", whole, WHOLE)):
                run_method(get_method(key), X[:300_000], k)
                ours[key] = (
                    min(seconds(run_method, get_method(key), X, k) for _ in range(2)),
                    min(seconds(cut_sorted, in_order, k, kind) for _ in range(2)),
                )
            keys = ("univariate", "univariate", "univariate_integer")
            for title, key, value in zip(("MHM", "IMHM", "IMHMI"), keys, printed):
                yield beside("IMHMI Table 1", f"{millions} million, k = {k}: {title}", value, *ours[key])


def repordmic(most: float) -> Iterator[Row]:
    for (name, k), printed in REPORDMIC.items():
        X = load(DATA, name)
        X.flags.writeable = False
        starts = kmeans_starts(X, 200, np.random.default_rng(0))
        repeated_ordering(X, k, starts[-1:])
        what = f"{name}, k = {k}, 200 starts"
        yield row("RepOrdMic Table 3", what, printed, repeated_ordering, X, k, starts)


def mst(most: float) -> Iterator[Row]:
    for number, printed in MST.items():
        X = standardised(sim(number)[0])
        what = f"SIM_{number}, {len(X):,} x {X.shape[1]}, k = 4"
        yield group("MST Table 9" if number < 15 else "MST Table 10", what, printed, "mst", X, 4)


def fixed(most: float) -> Iterator[Row]:
    for name in ("tarragona", "census"):
        for key, printed in SMALL.items():
            what = f"{key}, {name}, k = 3"
            yield group("MST section 4, under", what, printed, key, load(DATA, name), 3)
    for (key, k), printed in SIM_1.items():
        X = standardised(sim(1)[0])
        yield group("MST section 4", f"{key}, SIM_1, k = {k}", printed, key, X, k)


PARTS = {"univariate": univariate, "repordmic": repordmic, "mst": mst, "fixed": fixed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=float, default=20, help="millions of values, at most")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    asked = parser.parse_args()
    print(header(), flush=True)
    rows = []
    for part in asked.part:
        for one in PARTS[part](asked.records):
            rows.append(one)
            print(*one.values(), sep="  ", flush=True)
    print("", table(rows), f"written to {save('paper_times', rows)}", sep="\n\n")


if __name__ == "__main__":
    main()
