"""Each record's nearest records, exactly: for tables of a few records up to millions."""

import numpy as np

from shoal.kernels._jit import kernel
from shoal.kernels._threads import map_threads
from shoal.kernels.pool import lay_out, search

STEP = 5000


@kernel
def _query(X, free, first, last, ids, squares, slack):
    """Fill the rows of the records at the places first..last-1: neighbours by distance, ties by lowest index.

    One place after another: what a search touches is still in the cache for the next.
    """
    found = np.empty(ids.shape[1], np.int64)
    for place in range(first, last):
        record = free.ids[place]
        search(free, X[record], record, found, squares[record], slack)
        ids[record] = found


def nearest(
    X: np.ndarray, m: int, threads: int | None = None, slack: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The m nearest other records of each record (n x m, nearest first) and their squared distances."""
    n = len(X)
    m = min(m, n - 1)
    free = lay_out(X, np.arange(n))
    ids = np.empty((n, m), np.int32)
    squares = np.empty((n, m))
    map_threads(
        lambda first: _query(X, free, first, min(first + STEP, n), ids, squares, slack),
        range(0, n, STEP),
        threads,
    )
    return ids, squares
