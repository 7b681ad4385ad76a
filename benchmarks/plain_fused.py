"""The plain algorithms as fused loops: what a careful programmer writes in an afternoon, and nothing pruned.

Free records are kept together in memory. One pass over them finds the record farthest from a point and the
nearest ones at the same time, so that MDAV makes three passes for two groups; the centroid is kept by
subtraction and summed anew every 64 groups. `benchmarks.speed` measures the methods against these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain import finish
from shoal.kernels.runtime.jit import kernel


@kernel
def scan(rows, ids, m, point, but, found, squares):
    """One pass over the m free records: the farthest from the point, and the nearest but one into `found`.

    Both answers are places among the free records; ties go to the lowest row, for rows stay in order.
    """
    count = len(found)
    squares[:] = np.inf
    found[:] = -1
    most = -1.0
    far = -1
    for i in range(m):
        total = 0.0
        for j in range(len(point)):
            difference = rows[i, j] - point[j]
            total += difference * difference
        if total > most:
            most = total
            far = i
        if count > 0 and total < squares[count - 1] and ids[i] != but:
            place = count - 1
            while place > 0 and squares[place - 1] > total:
                squares[place] = squares[place - 1]
                found[place] = found[place - 1]
                place -= 1
            squares[place] = total
            found[place] = i
    return far


@kernel
def drop(rows, ids, m, total, places, labels, label):
    """Make the places a group and close the gaps; returns how many records are left."""
    for i in places:
        labels[ids[i]] = label
        total -= rows[i]
    kept = places.min()
    for i in range(kept, m):
        if labels[ids[i]] < 0:
            if kept < i:
                rows[kept] = rows[i]
                ids[kept] = ids[i]
            kept += 1
    return kept


@kernel
def around(rows, ids, m, total, r, k, labels, label):
    """The group of record r and its k-1 nearest; how many records are left, and the farthest one's row."""
    place = np.searchsorted(ids[:m], r)
    group = np.empty(k, np.int64)
    far = scan(rows, ids, m, rows[place].copy(), r, group[1:], np.empty(k - 1))
    group[0] = place
    farthest = ids[far]
    return drop(rows, ids, m, total, group, labels, label), farthest


@kernel
def peel(X, k, least, pairs):
    """Groups around the record farthest from the centroid, and if `pairs` around the one farthest from that.

    Returns the labels (-1: left over, fewer than `least`) and the number of groups.
    """
    rows = X.copy()
    ids = np.arange(len(X))
    labels = np.full(len(X), -1)
    total = np.zeros(X.shape[1])
    none = np.empty(0, np.int64)
    m = len(X)
    groups = 0
    fresh = 0
    while m >= least:
        if groups >= fresh:
            total[:] = 0.0
            for i in range(m):
                total += rows[i]
            fresh = groups + 64
        r = ids[scan(rows, ids, m, total / m, -1, none, np.empty(0))]
        m, s = around(rows, ids, m, total, r, k, labels, groups)
        groups += 1
        if pairs and labels[s] < 0:
            m, _ = around(rows, ids, m, total, s, k, labels, groups)
            groups += 1
    return labels, groups


@kernel
def grow(X, k, outward, gamma):
    """V-MDAV: groups around the records in this order, grown up to 2k-1 while a free record lies close by."""
    n, d = X.shape
    rows = X.copy()
    ids = np.arange(n)
    labels = np.full(n, -1)
    total = np.zeros(d)
    m = n
    groups = 0
    one = np.empty(1, np.int64)
    square = np.empty(1)
    for e in outward:
        if m < k:
            break
        if labels[e] >= 0:
            continue
        m, _ = around(rows, ids, m, total, e, k, labels, groups)
        members = np.flatnonzero(labels == groups)
        size = k
        while size < 2 * k - 1 and m > 0:
            best = -1
            least = np.inf
            for i in range(m):
                nearest = np.inf
                for member in members:
                    t = 0.0
                    for j in range(d):
                        difference = rows[i, j] - X[member, j]
                        t += difference * difference
                    nearest = min(nearest, t)
                if nearest < least:
                    least = nearest
                    best = i
            x = ids[best]
            scan(rows, ids, m, X[x], x, one, square)
            if not least < gamma * gamma * square[0]:
                break
            one[0] = best
            m = drop(rows, ids, m, total, one, labels, groups)
            members = np.append(members, x)
            size += 1
        groups += 1
    return labels, groups


def _closed(X: NDArray, labels: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """What is left over joins the group of the nearest centroid."""
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels + 1))[:-1])
    left, found = (members[0], members[1:]) if len(members) > groups else (np.arange(0), members)
    return finish(X, [group.tolist() for group in found], left)


def mdav(X: NDArray, k: int) -> NDArray[np.int64]:
    labels, groups = peel(X, k, 2 * k, True)
    left = labels < 0
    if left.sum() >= k:
        labels[left] = groups
        groups += 1
    return _closed(X, labels, groups)


def mdav1(X: NDArray, k: int) -> NDArray[np.int64]:
    labels, groups = peel(X, k, 2 * k, True)
    left = np.flatnonzero(labels < 0)
    if len(left) >= k:
        own, _ = peel(X[left], k, k, False)
        labels[left[own == 0]] = groups
        groups += 1
    return _closed(X, labels, groups)


def mdav_generic(X: NDArray, k: int) -> NDArray[np.int64]:
    labels, groups = peel(X, k, 3 * k, True)
    left = np.flatnonzero(labels < 0)
    if len(left) >= 2 * k:
        own, _ = peel(X[left], k, 2 * k, False)
        labels[left[own == 0]] = groups
        groups += 1
    labels[labels < 0] = groups
    return _closed(X, labels, groups + 1)


def cbfs(X: NDArray, k: int) -> NDArray[np.int64]:
    return _closed(X, *peel(X, k, k, False))


def vmdav(X: NDArray, k: int) -> NDArray[np.int64]:
    outward = np.argsort(-np.square(X - X.mean(0)).sum(1), kind="stable")
    return _closed(X, *grow(X, k, outward, 0.2))


FUSED: dict[str, Callable[[NDArray, int], NDArray[np.int64]]] = {
    "mdav": mdav,
    "mdav1": mdav1,
    "mdav_generic": mdav_generic,
    "cbfs": cbfs,
    "vmdav": vmdav,
}
