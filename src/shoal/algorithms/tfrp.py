"""TFRP: groups around the records farthest from two fixed reference points."""

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.algorithms._split import by_falling_sse, split_large
from shoal.grouping.registry import method
from shoal.kernels.search.dissolve import dissolve

PAPER = "Chang, Li and Huang 2007"


@method(title="TFRP-1", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def tfrp1(X, k, *, progress=None):
    """In turn the records farthest from two fixed corners of the table, each with its k-1 nearest.

    One corner has the least value of the whole table in every attribute, the other the largest; the
    fewer than k records left join their nearest groups.
    """
    pool = Pool(X, progress)
    farthest = [
        pool.still_free(np.argsort(-np.square(X - corner).sum(1), kind="stable").tolist())
        for corner in (X.min(), X.max())
    ]
    while len(pool) >= k:
        pool.take_around(next(farthest[pool.groups % 2]), k)
    return pool.finish()


@method(title="TFRP-2", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def tfrp2(X, k, *, progress=None):
    """TFRP-1, then dissolve every group whose records lose less elsewhere; no group grows past 4k-1.

    Groups are visited by falling SSE. Those that have 2k or more records at the end are split by TFRP-1
    on their own records.
    """
    labels = tfrp1(X, k, progress=progress)
    labels = dissolve(X, labels, by_falling_sse(X, labels), 4 * k - 1)
    return split_large(X, labels, k, tfrp1)
