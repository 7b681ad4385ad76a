"""MDAV: groups around the record farthest from the centroid, and around the record farthest from that one."""

import numpy as np

from shoal.kernels._jit import kernel
from shoal.method import method

PAPER = "Domingo-Ferrer and Torra 2005"


@kernel
def _distances(X, free, point, out):
    for i in range(len(free)):
        total = 0.0
        for j in range(X.shape[1]):
            difference = X[free[i], j] - point[j]
            total += difference * difference
        out[i] = total


@kernel
def _take_around(X, free, centre, k, labels, group):
    """Make a group of `centre` and the k-1 free records nearest to it; return the others."""
    distance = np.empty(len(free))
    _distances(X, free, X[centre], distance)
    for i in range(len(free)):
        if free[i] == centre:
            distance[i] = -1.0
    order = np.argsort(distance, kind="mergesort")
    for i in order[:k]:
        labels[free[i]] = group
    return free[np.sort(order[k:])]


@kernel
def _farthest(X, free, point):
    distance = np.empty(len(free))
    _distances(X, free, point, distance)
    return free[np.argmax(distance)]


@kernel
def _centroid(X, free):
    total = np.zeros(X.shape[1])
    for i in free:
        total += X[i]
    return total / len(free)


@kernel
def _mdav(X, k, pairs_until, tail):
    """`tail`: 0 classic (k..2k-1 left are a group), 1 generic (one more around the farthest), 2 MDAV-1."""
    n = len(X)
    labels = np.full(n, -1, np.int64)
    free = np.arange(n)
    groups = 0
    while len(free) >= pairs_until:
        r = _farthest(X, free, _centroid(X, free))
        s = _farthest(X, free, X[r])
        free = _take_around(X, free, r, k, labels, groups)
        groups += 1
        if labels[s] < 0:
            free = _take_around(X, free, s, k, labels, groups)
            groups += 1
    if tail == 1 and len(free) >= 2 * k:
        free = _take_around(X, free, _farthest(X, free, _centroid(X, free)), k, labels, groups)
        groups += 1
    if tail == 2 and len(free) >= k:
        free = _take_around(X, free, _farthest(X, free, _centroid(X, free)), k, labels, groups)
        groups += 1
    if len(free) >= k:
        labels[free] = groups
        groups += 1
        free = free[:0]
    centroids = np.empty((groups, X.shape[1]))
    for g in range(groups):
        centroids[g] = _centroid(X, np.flatnonzero(labels == g))
    everyone = np.arange(groups)
    distance = np.empty(groups)
    for i in free:
        _distances(centroids, everyone, X[i], distance)
        labels[i] = np.argmin(distance)
    return labels


@method(title="MDAV", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def mdav(X, k):
    """The classic form: pairs of groups while 2k remain; then k to 2k-1 form a group, fewer join theirs."""
    return _mdav(X, k, 2 * k, 0)


@method(title="MDAV-generic", paper=PAPER, sizes="k..2k-1", cost="n^2/k", mixed=True)
def mdav_generic(X, k):
    """Pairs of groups while 3k remain; then one around the farthest record and one of the rest."""
    return _mdav(X, k, 3 * k, 1)


@method(title="MDAV-1", paper="compared in Multi-DSort's tables", sizes="k..2k-1", cost="n^2/k")
def mdav1(X, k):
    """Pairs while 2k remain, then one group around the farthest; the fewer than k left join theirs."""
    return _mdav(X, k, 2 * k, 2)
