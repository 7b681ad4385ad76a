"""P-S and Multi-DSort: groups from both ends of a sorted table, inwards."""

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.grouping.registry import method


def _pairwise(pool, k, ends):
    """Steps 2 to 9 of the P-S algorithm; `ends()` gives the first and the last free record.

    The member chosen next is the one whose inclusion adds least SSE, s/(s+1) |x - c|^2: the record
    nearest to the group's centroid. Ours: the first record's group is complete before the last one's
    begins, and should it swallow the last record, that group waits for the next sorting.
    """
    while len(pool) >= 3 * k:
        first, last = ends()
        pool.gather(first, k)
        if last in pool:
            pool.gather(last, k)
    if len(pool) >= 2 * k:
        first, _ = ends()
        pool.gather(first, k)
    pool.take_rest()
    return pool.finish()


@method(title="Pairwise-Systematic (P-S)", paper="Kabir, Wang and Zhang 2010", sizes="k..2k-1", cost="n^2")
def pairwise_systematic(X, k, *, progress=None):
    """Sort by the sum of deviations from the attributes' means; make groups from both ends inwards.

    Taking the means away shifts all sums alike, now and when records have left: so the plain sums are
    sorted, once.
    """
    order = np.argsort(X.sum(1), kind="stable").tolist()
    pool = Pool(X, progress)
    firsts, lasts = pool.still_free(order), pool.still_free(order[::-1])
    return _pairwise(pool, k, lambda: (next(firsts), next(lasts)))


def rank_sums(orders, free):
    """For each free record the sum of its ranks among the free ones, 0 for the others; and their orders.

    `orders` are the records that were free before by rising value, equal values in row order, one row for
    each attribute.
    """
    left = orders[free[orders]].reshape(len(orders), -1)
    ranks = np.tile(np.arange(1, left.shape[1] + 1), len(left))
    return np.bincount(left.ravel(), ranks, len(free)), left


@method(title="Multi-DSort", paper="Mahmood, Kabir and Mustafa 2014", sizes="k..2k-1", cost="n^2")
def multi_dsort(X, k, *, progress=None):
    """P-S on another sorting: by the sum of the ranks in each attribute, ranked anew for each pair of groups.

    Ours: equal values are ranked, and equal sums sorted, in row order. The figures printed for Tarragona
    (k = 3, 4, 5) and Census lie below proven lower bounds; the algorithm as printed does not reach them.
    """
    orders = np.argsort(X, axis=0, kind="stable").T
    pool = Pool(X, progress)

    def ends():
        nonlocal orders
        free = pool.labels < 0
        sums, orders = rank_sums(orders, free)
        first = np.argmin(np.where(free, sums, sums.max() + 1))
        last = len(sums) - 1 - np.argmax(sums[::-1])
        return int(first), int(last)

    return _pairwise(pool, k, ends)
