"""MDAV: groups around the record farthest from the centroid, and around the record farthest from that one."""

import math

import numpy as np

from shoal.algorithms._pool import Pool, join_nearest
from shoal.grouping.registry import method
from shoal.kernels.neighbours.distance import all_squares
from shoal.kernels.runtime.jit import WORTH_COMPILING

PAPER = "Domingo-Ferrer and Torra 2005"


def _pairs(X, k, least, progress):
    """Two groups at a time while `least` or more records are free; the pool that is left then."""
    pool = Pool(X, progress)
    pool.peel(k, least, pairs=True)
    return pool


@method(title="MDAV", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def mdav(X, k, *, progress=None):
    """The classic form: pairs of groups while 2k remain; then k to 2k-1 form a group, fewer join theirs."""
    if len(X) <= WORTH_COMPILING:
        return few(X, k)
    pool = _pairs(X, k, 2 * k, progress)
    if len(pool) >= k:
        pool.take_rest()
    return pool.finish()


@method(title="MDAV-1", paper="Lin, Wen, Hsieh and Chang 2010", sizes="k..2k-1", cost="n^2/k")
def mdav1(X, k, *, progress=None):
    """Pairs while 2k remain, then one group around the farthest; the fewer than k left join theirs."""
    pool = _pairs(X, k, 2 * k, progress)
    if len(pool) >= k:
        pool.take_around(pool.farthest_from_centroid(), k)
    return pool.finish()


@method(title="MDAV-generic", paper=PAPER, sizes="k..2k-1", cost="n^2/k", mixed=True)
def mdav_generic(X, k, *, progress=None):
    """Pairs of groups while 3k remain; then one around the farthest record and one of the rest."""
    pool = _pairs(X, k, 3 * k, progress)
    if len(pool) >= 2 * k:
        pool.take_around(pool.farthest_from_centroid(), k)
    pool.take_rest()
    return pool.finish()


def few(X, k):
    """`mdav` by plain scans: the groups that the tree finds, with no kernel to load or compile."""
    labels = np.full(len(X), -1)
    free, groups = np.arange(len(X)), 0
    while len(free) >= 2 * k:
        centroid = np.array([math.fsum(column) / len(free) for column in X[free].T])
        far = free[np.argmax(_squares(X[free], centroid))]
        opposite = free[np.argmax(_squares(X[free], X[far]))]
        for record in (far, opposite):
            if labels[record] < 0:
                square = _squares(X[free], X[record])
                square[free == record] = -1.0
                labels[free[np.argsort(square, kind="stable")[:k]]] = groups
                free = free[labels[free] < 0]
                groups += 1
    if len(free) >= k:
        labels[free] = groups
    join_nearest(X, labels)
    return labels


def _squares(X, point):
    return all_squares(X, point[None])[:, 0]
