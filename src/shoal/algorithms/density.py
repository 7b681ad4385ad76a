"""DBA: the densest neighbourhood becomes a group, again and again. And MDAV-2, with the same second phase."""

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.algorithms._split import by_falling_sse, split_large
from shoal.algorithms.mdav import mdav1
from shoal.grouping.registry import method
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.dissolve import dissolve

PAPER = "Lin, Wen, Hsieh and Chang 2010"


@kernel
def _spread(X, record, others):
    """SSE of a record and its neighbours; from differences to the record: equal rows give exactly 0."""
    size = len(others) + 1
    total = 0.0
    for j in range(X.shape[1]):
        mean = 0.0
        for other in others:
            mean += X[other, j] - X[record, j]
        mean /= size
        sse = mean * mean
        for other in others:
            difference = X[other, j] - X[record, j] - mean
            sse += difference * difference
        total += sse
    return total


@kernel
def _strike(X, free, near, sse, least):
    """Strike records that are free no more from the neighbour lists, and renew the SSE where one went.

    A neighbourhood is the first `least` of a list, the others are in reserve. The records whose list
    has become too short are returned.
    """
    short = np.empty(len(X), np.int64)
    many = 0
    for i in range(len(X)):
        if not free[i]:
            continue
        gone = False
        for t in range(least):
            gone |= not free[near[i, t]]
        if not gone:
            continue
        left = 0
        for other in near[i]:
            if other >= 0 and free[other]:
                near[i, left] = other
                left += 1
        near[i, left:] = -1
        if left < least:
            short[many] = i
            many += 1
        else:
            sse[i] = _spread(X, i, near[i, :least])
    return short[:many]


@method(title="DBA-1", paper=PAPER, sizes="k..2k-1", cost="n^2")
def dba1(X, k, *, progress=None):
    """Repeatedly make a group of the free record with the densest neighbourhood, and that neighbourhood.

    The neighbourhood is the record and its k-1 nearest free records, its density 1 / SSE. The fewer
    than k left join their nearest groups.
    """
    pool = Pool(X, progress)
    free = np.ones(len(X), np.bool_)
    near = np.full((len(X), min(4 * k, len(X) - 1)), -1)  # more than k-1, so that few lists run short
    sse = np.full(len(X), np.inf)
    short = pool.records()
    while len(pool) >= k:
        for i in short:
            others = pool.nearest(i, near.shape[1])
            near[i, : len(others)] = others
            sse[i] = _spread(X, i, near[i, : k - 1])
        densest = int(np.argmin(sse))
        group = [densest, *near[densest, : k - 1]]
        pool.take(group)
        free[group] = False
        sse[group] = np.inf
        if len(pool) >= k:
            short = _strike(X, free, near, sse, k - 1)
    return pool.finish()


@method(title="DBA-2", paper=PAPER, sizes="k..2k-1", cost="n^2")
def dba2(X, k, *, progress=None):
    """DBA-1, then dissolve groups, the last one made first; those of 2k or more are split by MDAV-1."""
    labels = dba1(X, k, progress=progress)
    labels = dissolve(X, labels, np.arange(labels.max(), -1, -1), len(X))
    return split_large(X, labels, k, mdav1)


@method(title="MDAV-2", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def mdav2(X, k, *, progress=None):
    """MDAV-1, then dissolve groups by falling SSE; those of 2k or more are split by MDAV-1."""
    labels = mdav1(X, k, progress=progress)
    labels = dissolve(X, labels, by_falling_sse(X, labels), len(X))
    return split_large(X, labels, k, mdav1)
