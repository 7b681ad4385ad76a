"""The proof of prices on a table of any size: block by block, no group costs less than its prices.

Plain code on purpose. Nothing here is shared with the search.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.bounds.verify_groups import WORK, _below

#: Records of a block, at most. What is proven does not depend on it.
BLOCK = 200
#: Blocks whose proofs are under way before the first must be done.
AT_ONCE = 64
#: What rounding could take off a distance, as a share of it.
ROUNDING = 1e-12


def none_below(X: NDArray[np.float64], k: int, prices: NDArray[np.float64]) -> bool:
    """Is every group of k..2k-1 records worth at most what it costs?

    The dearest record of a group leads it. A group of s that i leads and that costs less than its prices has
    its other records near i: i and c pay d2(i, c) / s for one another, each pays half of the s - 2
    smallest of its other distances, and the s - 2 others pay half of their s - 1 smallest.
    """
    order = np.argsort(-prices, kind="stable")
    X, prices = np.ascontiguousarray(X[order]), prices[order]
    tree = cKDTree(X)
    distances, _ = tree.query(X, k=list(range(1, 2 * k)), workers=-1)
    near = np.cumsum(np.square(distances), axis=1)
    del distances
    steps = np.arange(0, len(X), max(1, len(X) // 1000))
    overpaid = _overpaid(prices, near, k, lambda values: np.maximum.reduceat(values, steps))
    overpaid = np.maximum.accumulate(overpaid[:, :, ::-1], axis=2)[:, :, ::-1]  # of all from each step on
    work = WORK

    def proven(rows: NDArray[np.int64]) -> bool:
        nonlocal work
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        own, own_near = prices[rows], near[rows]
        most = overpaid[:, :, np.searchsorted(steps, rows[0], side="right") - 1]
        some, before = rows, len(X) + 1
        for _ in range(4):
            reach = _reach(own, own_near, most, k) * (1 + ROUNDING)
            around = np.sqrt(np.square(high - low).sum()) / 2 + np.sqrt(reach)
            some = np.array(tree.query_ball_point((low + high) / 2, around * (1 + ROUNDING)), np.int64)
            some = np.sort(some[some >= rows[0]])
            beside = np.maximum(np.maximum(X[some] - high, low - X[some]), 0.0)
            some = some[np.square(beside).sum(axis=1) <= reach]
            if len(some) > 0.8 * before:
                break
            before = len(some)
            most = _overpaid(prices[some], near[some], k, np.max)
        work -= len(some) * len(rows)
        if work < 0:
            return False
        none = np.zeros(len(some) + 1, np.int64), *[np.empty(0, np.int64)] * 3, np.empty(0)
        at, records = np.searchsorted(some, rows), np.ascontiguousarray(X[some])
        nothing = np.empty((0, 2 * k - 1), np.int32)
        return _below(records, k, at, prices[some], near[some], none, 0.0, nothing, work) == 0

    with ThreadPoolExecutor() as pool:
        waiting: list[NDArray[np.int64]] = []
        for rows in _blocks(X):
            waiting.append(rows)
            if len(waiting) == AT_ONCE:
                if not all(pool.map(proven, waiting)):
                    return False
                waiting = []
        return all(pool.map(proven, waiting))


def _overpaid(prices, near, k: int, most: Callable) -> NDArray[np.float64]:
    """The most that a partner, and one of the others, can get beyond what they pay, for each size."""
    return np.array(
        [[most(prices - near[:, s - q] / (2 * s)) for s in range(k, 2 * k)] for q in (2, 1)], np.float64
    )


def _reach(own, own_near, overpaid, k: int) -> float:
    """The squared distance beyond which no record shares a group below its prices with one of these leads."""
    reach = 0.0
    for s in range(k, 2 * k):
        partner, other = overpaid[:, s - k]
        lead = (own - own_near[:, s - 2] / (2 * s)).max()
        reach = max(reach, s * float(lead + partner + (s - 2) * other))
    return reach


def _blocks(X: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    """Cut the records in two at the median of the widest column, again and again."""
    parts = [np.arange(len(X))]
    while parts:
        rows = parts.pop()
        if len(rows) <= BLOCK:
            yield np.sort(rows)
            continue
        column = np.argmax(np.ptp(X[rows], axis=0))
        rows = rows[np.argpartition(X[rows, column], len(rows) // 2)]
        parts += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
