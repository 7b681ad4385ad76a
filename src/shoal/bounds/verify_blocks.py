"""The proof of prices on a table of any size: block by block, no group costs less than its prices.

Plain code on purpose. Nothing here is shared with the search.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.bounds.verify_groups import WORK, _below
from shoal.kernels.runtime.jit import kernel

#: Records that are halved by place down to this many, then by price down to that. What is proven does not
#: depend on it.
BLOCK, PIECE = 200, 50
#: Parts of the table whose proofs run side by side.
PARTS = 64
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
    distances, _ = cKDTree(X).query(X, k=list(range(1, 2 * k)), workers=-1)
    near = np.cumsum(np.square(distances), axis=1)
    del distances
    every, work = np.arange(len(X)), WORK

    def proven(rows: NDArray[np.int64], some: NDArray[np.int64]) -> bool:
        """Does none of these records lead such a group? All others of such groups are among `some`."""
        nonlocal work
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        before = np.inf
        while len(some) < 0.8 * before:
            before = len(some)
            reach = _reach(prices[rows], near[rows], prices[some], near[some], k) * (1 + ROUNDING)
            some = _beside(X, some, rows[0], low, high, reach)
        if len(rows) > PIECE:
            return all(proven(half, some) for half in _halves(X, rows))
        work -= len(some) * len(rows)
        if work < 0:
            return False
        none = np.zeros(len(some) + 1, np.int64), *[np.empty(0, np.int64)] * 3, np.empty(0)
        at, records = np.searchsorted(some, rows), np.ascontiguousarray(X[some])
        nothing = np.empty((0, 2 * k - 1), np.int32)
        return _below(records, k, at, prices[some], near[some], none, 0.0, nothing, work) == 0

    parts = [every]
    while len(parts) < PARTS:
        parts = [half for rows in parts for half in (_halves(X, rows) if len(rows) > BLOCK else [rows])]
        if max(map(len, parts)) <= BLOCK:
            break
    with ThreadPoolExecutor() as pool:
        return all(pool.map(lambda rows: proven(rows, every), parts))


def _reach(own, own_near, prices, near, k: int) -> float:
    """The squared distance beyond which no record shares a group below its prices with one of these leads."""
    reach = 0.0
    for s in range(k, 2 * k):
        lead = (own - own_near[:, s - 2] / (2 * s)).max()
        partner, other = (float((prices - near[:, s - q] / (2 * s)).max()) for q in (2, 1))
        reach = max(reach, s * float(lead + partner + (s - 2) * other))
    return reach


@kernel
def _beside(X, some, first, low, high, reach):
    """Those of `some`, from record `first` on, whose squared distance to the box is at most the reach."""
    kept = np.empty(len(some), np.int64)
    count = 0
    for c in some:
        total = 0.0
        if c >= first:
            for j in range(X.shape[1]):
                total += max(X[c, j] - high[j], low[j] - X[c, j], 0.0) ** 2
            if total <= reach:
                kept[count] = c
                count += 1
    return kept[:count].copy()


def _halves(X: NDArray[np.float64], rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut the records in two: at the median of the widest column, or few ones by their price."""
    middle = len(rows) // 2
    if len(rows) > BLOCK:
        column = np.argmax(np.ptp(X[rows], axis=0))
        rows = rows[np.argpartition(X[rows, column], middle)]
    return [np.sort(rows[:middle]), np.sort(rows[middle:])]
