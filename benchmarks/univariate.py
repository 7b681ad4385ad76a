"""The optimum in one dimension: speed and memory beside microagg1d and the plain algorithm.

    python -m benchmarks.univariate [records, by default 5,000,000]

End to end means from unsorted values to labels and published values. Each figure is the best of three.
Without microagg1d (pip install microagg1d) its columns stay empty.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import shoal
from benchmarks._common import header, save, table
from shoal.algorithms import univariate
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence import line
from shoal.kernels.sequence.sorting import sort

try:
    from microagg1d import univariate_microaggregation
except ImportError:
    univariate_microaggregation = None


def best(work: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the fastest run."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


@kernel
def plain_sizes(v, k):
    """Hansen and Mukherjee's shortest path as first published: each group's SSE from scratch, O(k^2 n)."""
    n = len(v)
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    size = np.zeros(n + 1, np.int32)
    for end in range(k, n + 1):
        for m in range(k, min(2 * k - 1, end) + 1):
            mean = 0.0
            for i in range(end - m, end):
                mean += v[i]
            mean /= m
            sse = 0.0
            for i in range(end - m, end):
                sse += (v[i] - mean) ** 2
            if cost[end - m] + sse < cost[end]:
                cost[end] = cost[end - m] + sse
                size[end] = m
    return size


def plain(x: np.ndarray, k: int) -> np.ndarray:
    """Labels by the plain algorithm, with numpy's sort."""
    order = np.argsort(x)
    size = plain_sizes(x[order], k)
    starts = line.borders(size, len(x), size[:1], len(x), k)
    labels = np.empty(len(x), np.int64)
    labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return labels


def protect(x: np.ndarray, k: int) -> Any:
    return shoal.microaggregate(x, k, method="univariate")


def protect_and_sort(x: np.ndarray, k: int, times: int = 3) -> tuple[float, float]:
    """Seconds of the fastest run, and how many of them it sorted."""
    runs, seconds = [], 0.0

    def timed(values: np.ndarray) -> Any:
        nonlocal seconds
        began = time.perf_counter()
        found = sort(values)
        seconds = time.perf_counter() - began
        return found

    univariate.sort = timed
    try:
        for _ in range(times):
            runs.append((best(lambda: protect(x, k), 1), seconds))
    finally:
        univariate.sort = sort
    return min(runs)


def beside_microagg1d(n: int) -> list[dict[str, Any]]:
    """End to end, the share of sorting, and microagg1d (which gives labels only)."""
    x = np.random.default_rng(0).normal(size=n)
    rows = []
    for k in (3, 10, 100, 1000):
        protect(x[:300_000], k)
        ours, sorting = protect_and_sort(x, k)
        row = {"n": n, "k": k, "shoal s": round(ours, 3), "of that sorting s": round(sorting, 3)}
        row["rest / sorting"] = round((ours - sorting) / sorting, 2)
        if univariate_microaggregation:
            univariate_microaggregation(x[:10_000], k)
            theirs = best(lambda k=k: univariate_microaggregation(x, k))
            row |= {"microagg1d s": round(theirs, 3), "times as fast": round(theirs / ours, 1)}
        rows.append(row)
        print(row, flush=True)
    return rows


def by_k(n: int) -> list[dict[str, Any]]:
    """k from 2 to 50, beside the plain algorithm, as in Figures 1 and 2 of the IMHMI paper."""
    x = np.random.default_rng(1).normal(size=n)
    whole = np.random.default_rng(1).integers(-n // 2, n // 2, n)
    rows = []
    for k in (2, 3, 4, 5, 10, 15, 20, 30, 40, 50):
        for warm in (x[:1000], whole[:1000]):
            protect(warm, k)
        plain(x[:1000], k)
        rows.append(
            {
                "n": n,
                "k": k,
                "univariate s": round(best(lambda k=k: protect(x, k)), 3),
                "univariate_integer s": round(
                    best(lambda k=k: shoal.microaggregate(whole, k, method="univariate_integer")), 3
                ),
                "plain O(k^2 n), labels only s": round(best(lambda k=k: plain(x, k), 1), 3),
            }
        )
    return rows


def whole(largest: int) -> list[dict[str, Any]]:
    """Whole numbers beside real ones, by turns in one run: CPU seconds, the best of three.

    They are the same values, in millionths. (Where the extremes are nines and repeat, a note that they may be
    codes for gaps takes a sort more.)
    """
    rows = []
    for n in (largest // 4, largest):
        real = np.random.default_rng(1).normal(size=n)
        tables = {"univariate": real, "univariate_integer": np.rint(1e6 * real).astype(np.int64)}
        for k in (2, 3, 5, 10):
            seconds = dict.fromkeys(tables, np.inf)
            for key, x in [*((key, x[:300_000]) for key, x in tables.items()), *3 * list(tables.items())]:
                began = time.process_time()
                shoal.microaggregate(x, k, method=key)
                if len(x) == n:
                    seconds[key] = min(seconds[key], time.process_time() - began)
            ratio = seconds["univariate_integer"] / seconds["univariate"]
            row = {f"{key} CPU s": round(value, 3) for key, value in seconds.items()}
            rows.append({"n": n, "k": k, **row, "ratio": round(ratio, 2)})
            print(rows[-1], flush=True)
    return rows


def crossover(n: int) -> list[dict[str, Any]]:
    """Nanoseconds for each value of the near search (side by side) and of the far one; equal costs."""
    v = np.sort(np.random.default_rng(2).normal(size=n))
    rows = []
    for k in (2, 5, 10, 15, 20, 30, 50, 64, 80, 100, 1000, 10_000):
        inverse = line.inverses(k)
        row: dict[str, Any] = {"k": k}
        least = []
        for name, far in (("near", False), ("far", True)):
            if far or k <= 1000:
                row[name + " ns"] = round(
                    best(lambda a=(v, k, line.SSE, inverse, far): line.search(*a)) / n * 1e9, 1
                )
                least.append(line.search(v, k, line.SSE, inverse, far)[0][-1])
        row["largest difference of cost"] = f"{max(least) / min(least) - 1:.0e}"
        rows.append(row)
    return rows


def growth(largest: int) -> list[dict[str, Any]]:
    """From a twentieth of the largest size on: at most linear times the sort."""
    rows = []
    for n in (largest // 20, largest // 10, largest // 4, largest // 2, largest):
        x = np.random.default_rng(3).normal(size=n)
        ours, sorting = protect_and_sort(x, 10)
        rows.append(
            {
                "n": n,
                "k": 10,
                "shoal s": round(ours, 3),
                "ns for each value": round(ours / n * 1e9),
                "of that sorting ns": round(sorting / n * 1e9),
            }
        )
    return rows


MEMORY = """
import numpy as np, sys
import shoal

def kilobytes(what):  # of this process alone: getrusage would count its parent's peak too
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))

n, k, method = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
x = rng.normal(size=n) if method == "univariate" else rng.integers(0, n, n)
shoal.microaggregate(x[:300_000], k, method=method)
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = kilobytes("VmRSS")
release = shoal.microaggregate(x, k, method=method)
print((kilobytes("VmHWM") - before) * 1024 / (8 * n))
"""


def memory(n: int) -> list[dict[str, Any]]:
    """Peak beyond the input, in arrays of n doubles, each in a process of its own."""
    rows = []
    for method, k in [("univariate_integer", 3), *(("univariate", k) for k in (3, 10, 100, 1000))]:
        command = [sys.executable, "-c", MEMORY, str(n), str(k), method]
        beyond = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        rows.append({"method": method, "n": n, "k": k, "with the input": round(beyond + 1, 2)})
    return rows


@kernel
def exact_of_three(v):
    """60 times the least SSE of groups of 3, 4 and 5 ascending whole numbers, without any rounding."""
    least = np.full(len(v) + 1, 2**62, np.int64)
    least[0] = 0
    for end in range(3, len(v) + 1):
        for size in range(3, min(5, end) + 1):
            total = 0
            squares = 0
            for i in range(end - size, end):
                distance = v[i] - v[end - size]
                total += distance
                squares += distance * distance
            cost = 60 * squares - 60 // size * total * total
            least[end] = min(least[end], least[end - size] + cost)
    return least[-1]


def digits(n: int) -> list[dict[str, Any]]:
    """Values near 1e9 with spread near 1: the loss against an exact reference in whole numbers."""
    steps = np.random.default_rng(4).integers(0, 2**23, n)
    loss = protect(1e9 + steps * 2.0**-23, 3).information_loss
    squares = sum(int(np.square(part).sum()) for part in np.array_split(steps, 4096))
    exact = Fraction(int(exact_of_three(np.sort(steps))), 60)
    sst = squares - Fraction(int(steps.sum()) ** 2, n)
    return [{"n": n, "k": 3, "relative error of the cost": f"{abs(loss / float(100 * exact / sst) - 1):.1e}"}]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    print(header())
    outcome = {}
    for title, work in {
        "beside microagg1d": lambda: beside_microagg1d(n),
        "peak memory, in arrays of n doubles": lambda: memory(n),
        "growth": lambda: growth(4 * n),
        "whole numbers": lambda: whole(4 * n),
        "k from 2 to 50": lambda: by_k(n // 10),
        "crossover of the two searches": lambda: crossover(n // 10),
        "digits": lambda: digits(4 * n),
    }.items():
        outcome[title] = work()
        print(f"\n## {title}\n\n{table(outcome[title])}", flush=True)
    print(f"\nwritten to {save('univariate', outcome)}")


if __name__ == "__main__":
    main()
