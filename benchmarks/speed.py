"""Speed on one machine: exact methods against plain fused loops, and millions of records in blocks.

python -m benchmarks.speed [--sizes 10000 20000 50000 100000] [--others 10000 20000]
python -m benchmarks.speed --blocks [--sizes 100000 1000000]
python -m benchmarks.speed --largest imhm=100000 fuzzy=20000
python -m benchmarks.speed --where 100000
python -m benchmarks.speed --reach [METHOD ...]

The third runs a method once on so many SIM records, after a small run that compiles. The fourth tells where
the processor seconds of `auto` go. The last doubles the records of each method until a run takes long enough
to tell what it handles in a minute. The first asserts that both give the very same partition. The second runs
every job in a process of its own,
after a small one that compiles, and tells loss, seconds and peak memory of the whole `shoal.microaggregate`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoal
from benchmarks._common import header, save, table
from benchmarks.plain_fused import FUSED
from shoal.datasets import survey
from shoal.grouping.partition import Partition
from shoal.grouping.registry import Confidential, MethodInfo, get_method
from shoal.grouping.runner import run_method

K = 5
SIZES = (10_000, 20_000, 50_000, 100_000)
OTHERS = (10_000, 20_000)
LARGE = (100_000, 1_000_000)
#: `--reach`: the first size, the last, the processor seconds of a run that is not doubled any more, and those
#: that count as within reach.
SMALLEST, MOST, LONG, MINUTE = 1000, 2_000_000, 3.0, 60.0
BLOCKS = 16_000  # `auto` and `optimise` work otherwise, and faster, above 10,000 records
LITERATURE = 1000  # records of a block where tables are cut up before MDAV


def clustered(n: int) -> NDArray[np.float64]:
    """The SIM generator's records: 200 clusters, sigma 0.1, ten attributes."""
    rng = np.random.default_rng(7)
    centres = rng.uniform(-1, 1, (200, 10))
    return rng.normal(centres[rng.integers(200, size=n)], 0.1)


def heavy_tailed(n: int) -> NDArray[np.float64]:
    """The six amounts of a business survey: log-normal sizes with long tails, correlated, by sector."""
    columns = survey(n, 7).drop_columns(["region", "sector"]).columns
    return np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)


TABLES: dict[str, Callable[[int], NDArray[np.float64]]] = {"sim": clustered, "survey": heavy_tailed}


def standardised(X: NDArray) -> NDArray[np.float64]:
    return np.ascontiguousarray((X - X.mean(0)) / X.std(0, ddof=1))


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of this process on all its cores, seconds on the wall, and the outcome."""
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = function()
    return time.process_time() - cpu, time.perf_counter() - wall, outcome


def beside_plain(key: str, name: str, n: int) -> dict[str, Any]:
    """One row: a method against the plain loop on one table, with one thread and with two."""
    X = standardised(TABLES[name](n))
    walls = []
    for threads in ("1", "2"):
        os.environ["SHOAL_THREADS"] = threads
        ours, wall, partition = timed(lambda: run_method(get_method(key), X, K))
        walls.append(wall)
    plain, plain_wall, labels = timed(lambda: FUSED[key](X, K))
    assert np.array_equal(Partition(labels).labels, partition.labels), f"{key} differs on {name}, {n} records"
    return {
        "method": key,
        "table": name,
        "records": n,
        "plain CPU s": round(plain, 3),
        "ours CPU s": round(ours, 3),
        "times faster": round(plain / ours, 1),
        "plain s": round(plain_wall, 3),
        "1 thread s": round(walls[0], 3),
        "2 threads s": round(walls[1], 3),
        "same partition": "yes",
    }


def growth(rows: list[dict[str, Any]]) -> list[str]:
    """The exponents with which plain loop and method grow, from the smallest to the largest size."""
    lines = []
    for key, name in dict.fromkeys((row["method"], row["table"]) for row in rows):
        own = [row for row in rows if (row["method"], row["table"]) == (key, name)]
        if len(own) > 1:
            ratio = math.log(own[-1]["records"] / own[0]["records"])
            plain, ours = (math.log(own[-1][c] / own[0][c]) / ratio for c in ("plain CPU s", "ours CPU s"))
            lines.append(f"{key} on {name}: plain n^{plain:.2f}, ours n^{ours:.2f}")
    return lines


def methods(sizes: list[int], others: list[int]) -> None:
    print(f"k = {K}; CPU seconds count both cores; load at the start {os.getloadavg()[0]:.1f}\n")
    rows = []
    for key in FUSED:
        warm = standardised(clustered(1500))
        run_method(get_method(key), warm, K)
        FUSED[key](warm, K)
        for name in TABLES:
            for n in sizes if key == "mdav" else others:
                rows.append(beside_plain(key, name, n))
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows) + "\n\n" + "\n".join(growth(rows)))
    print("written to", save("speed", {"k": K, "rows": rows, "growth": growth(rows)}))


def child(job: str, n: int, limit: float) -> None:
    """One job, told as JSON."""
    X = clustered(n)
    if job == "mdav in blocks":
        Z = standardised(X)
        cpu, wall, labels = timed(lambda: in_blocks(Z))
        loss = 100 * Partition(labels).sse(Z) / (Z.shape[1] * (n - 1))
        checked = int(np.bincount(labels).min()) >= K
    else:
        options = {"method": job, "time_limit": limit or None}
        shoal.microaggregate(X[:12_000], K, **options)  # compiles
        cpu, wall, release = timed(lambda: shoal.microaggregate(X, K, **options))
        loss = release.information_loss
        checked = int(release.group_sizes.min()) >= K
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"cpu": cpu, "wall": wall, "loss": loss, "peak": peak, "checked": checked}))


def in_blocks(Z: NDArray[np.float64]) -> NDArray[np.int64]:
    """MDAV inside blocks of 1,000: what pre-partitioning gives."""
    from shoal.algorithms.mdav import mdav
    from shoal.optimise.blocks import split

    labels, groups = np.empty(len(Z), np.int64), 0
    for part in split(Z, LITERATURE, K):
        labels[part] = mdav(Z[part], K) + groups
        groups = int(labels[part].max()) + 1
    return labels


def blocks(sizes: list[int]) -> None:
    print(f"k = {K}, SIM records; load at the start {os.getloadavg()[0]:.1f}\n")
    rows: list[dict[str, Any]] = []
    for n in sizes:
        jobs = [("mdav in blocks", 0.0), ("auto", 0.0), ("auto", 2e-5 * n), ("auto", 5e-5 * n)]
        for job, limit in [("mdav", 0.0), *jobs] if n <= 200_000 else jobs:
            words = [sys.executable, "-m", "benchmarks.speed", "--child", job, str(n), str(limit)]
            run = subprocess.run(words, capture_output=True, text=True, check=True)
            got = json.loads(run.stdout)
            row = {
                "records": n,
                "method": job,
                "time limit s": limit or "-",
                "loss %": round(got["loss"], 4),
                "s": round(got["wall"], 1),
                "CPU s": round(got["cpu"], 1),
                "peak GiB": round(got["peak"], 2),
                "every group >= k": got["checked"],
            }
            for other in ("mdav", "mdav in blocks"):
                beside = [r for r in rows if (r["records"], r["method"]) == (n, other)]
                row[f"below {other}"] = (
                    f"{100 * (1 - row['loss %'] / beside[0]['loss %']):.1f} %" if beside else "-"
                )
            rows.append(row)
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    free = [row for row in rows if (row["method"], row["time limit s"]) == ("auto", "-")]
    if len(free) > 1:
        print(
            f"\nauto, {free[0]['records']:,} to {free[-1]['records']:,} records: "
            f"{free[-1]['s'] / free[0]['s']:.1f} times the seconds, "
            f"{free[-1]['CPU s'] / free[0]['CPU s']:.1f} times the CPU seconds"
        )
    print("written to", save("speed_blocks", {"k": K, "rows": rows}))


def largest(jobs: list[str]) -> None:
    """Each method once, on the size that is stated for it."""
    rows = []
    for job in jobs:
        key, _, size = job.partition("=")
        X = standardised(clustered(int(size)))
        parameters = {"starts": 5} if key == "repordmic" else {}
        run_method(get_method(key), X[:3000], K, parameters=parameters)
        cpu, wall, partition = timed(partial(run_method, get_method(key), X, K, parameters=parameters))
        loss = 100 * partition.sse(X) / (X.shape[1] * (len(X) - 1))
        words = " ".join([key, *(f"{name}={value}" for name, value in parameters.items())])
        rows.append({"method": words, "records": int(size), "loss %": round(loss, 4)})
        rows[-1] |= {"CPU s": round(cpu, 1), "s": round(wall, 1)}
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    print("written to", save("largest", {"k": K, "rows": rows}))


def one_run(info: MethodInfo, n: int) -> float:
    """Processor seconds of a method on so many records, with a column of four levels where it needs one."""
    X = standardised(clustered(n))
    X = X if info.columns == "any" else X[:, :1].copy()
    X = np.rint(1e6 * X).astype(np.int64) if info.input == "raw" and info.whole else X
    codes = np.arange(n) % 4
    shares = np.bincount(codes) / n
    column = Confidential(codes, shares, shares, False, 0.2) if info.needs else None
    parameters = {"starts": 5} if info.key == "repordmic" else {}
    return timed(partial(run_method, info, X, K, parameters=parameters, confidential=column))[0]


def reach(keys: list[str]) -> None:
    """For each method the records that it groups within a minute of processor time, by how its time grows.

    The last run was measured; what a minute allows follows from the growth between the last two, rounded down
    to one digit. `exact` proves an optimum and has a limit of time instead of a size.
    """
    rows: list[dict[str, Any]] = []
    for key in keys or [key for key in shoal.methods() if key != "exact"]:
        info, n, before = get_method(key), BLOCKS if key in ("auto", "optimise") else SMALLEST, 0.0
        one_run(info, n)  # compiles
        took = one_run(info, n)
        while took < LONG and 2 * n <= MOST:
            n, before, took = 2 * n, took, one_run(info, 2 * n)
        power = max(1.0, math.log2(took / before)) if before else 1.0
        within = min(n * (MINUTE / took) ** (1 / power), 10 * MOST)  # more were never tried
        digit = 10 ** int(math.log10(within))
        rows.append({"method": key, "records": n, "CPU s": round(took, 1), "grows as n^": round(power, 1)})
        rows[-1]["in a minute about"] = f"{int(within / digit) * digit:,}"
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    print("written to", save("reach", {"k": K, "rows": rows}))


def where(n: int) -> None:
    """Processor seconds of `auto` in all, and of its parts."""
    from shoal.optimise import blocks

    parts = {
        "neighbour lists": (blocks, "nearest"),
        "start, by MDAV": (blocks, "mdav"),
        "blocks cut anew": (blocks.Table, "blocks"),
        "lists of a block": (blocks, "inside"),
        "annealing": (blocks, "cool"),
        "comparing partitions": (blocks, "combine"),
    }
    spent = dict.fromkeys(parts, 0.0)

    def watch(name: str, function: Callable[..., Any], clock: Callable[[], float]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            began = clock()
            answer = function(*given, **named)
            spent[name] += clock() - began
            return answer

        return watched

    shoal.microaggregate(clustered(12_000), K)  # compiles
    for name, (room, function) in parts.items():
        clock = time.process_time if function == "nearest" else time.thread_time
        setattr(room, function, watch(name, getattr(room, function), clock))
    cpu, _, release = timed(lambda: shoal.microaggregate(clustered(n), K))
    spent["all else: reading, publishing, checking"] = cpu - sum(spent.values())
    rows = [
        {"part": name, "CPU s": round(s, 2), "share %": round(100 * s / cpu)} for name, s in spent.items()
    ]
    print(f"{n:,} records, {cpu:.1f} CPU s, loss {release.information_loss:.4f} %\n\n{table(rows)}")
    print("written to", save("where", {"records": n, "rows": rows}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, help="records (mdav, or --blocks)")
    parser.add_argument("--others", nargs="+", type=int, default=OTHERS, help="records for other methods")
    parser.add_argument("--blocks", action="store_true", help="measure `auto` on large tables instead")
    parser.add_argument(
        "--largest", nargs="+", metavar="METHOD=RECORDS", help="methods at their largest sizes"
    )
    parser.add_argument("--where", type=int, metavar="RECORDS", help="where the time of `auto` goes")
    parser.add_argument("--reach", nargs="*", metavar="METHOD", help="what each handles within a minute")
    parser.add_argument("--child", nargs=3, metavar=("JOB", "N", "LIMIT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], int(options.child[1]), float(options.child[2]))
        return
    print(header())
    if options.where:
        where(options.where)
    elif options.reach is not None:
        reach(options.reach)
    elif options.largest:
        largest(options.largest)
    elif options.blocks:
        blocks(options.sizes or list(LARGE))
    else:
        methods(options.sizes or list(SIZES), options.others)


if __name__ == "__main__":
    main()
