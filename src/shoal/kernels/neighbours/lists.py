"""Each record's nearest records, exactly: for tables of a few records up to millions."""

import numpy as np

from shoal.kernels.neighbours.pool import lay_out, search
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import map_threads

STEP = 5000
FEW = 500  # records up to which all distances are sorted: quicker than to load or compile kernels


@kernel
def _query(X, free, first, last, ids, squares, slack):
    """Fill the rows of the records at the places first..last-1: neighbours by distance, ties by lowest index.

    One place after another: what a search touches is still in the cache for the next.
    """
    found = np.empty(ids.shape[1], np.int64)
    for at in range(first, last):
        record = free.ids[at]
        search(free, X[record], record, found, squares[record], slack)
        for place in range(len(found)):  # to assign an array would take seconds to compile
            ids[record, place] = found[place]


def nearest(
    X: np.ndarray, m: int, threads: int | None = None, slack: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The m nearest other records of each record (n x m, nearest first) and their squared distances."""
    n = len(X)
    m = min(m, n - 1)
    if n <= FEW:
        return _sorted(X, m)
    free = lay_out(X, np.arange(n))
    ids = np.empty((n, m), np.int32)
    squares = np.empty((n, m))
    map_threads(
        lambda first: _query(X, free, first, min(first + STEP, n), ids, squares, slack),
        range(0, n, STEP),
        threads,
    )
    return ids, squares


def _sorted(X: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for few records, to the last digit: squares are summed attribute by attribute."""
    squares = np.zeros((len(X), len(X)))
    for column in X.T:
        squares += np.square(column[:, None] - column)
    np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")[:, :m]
    return order.astype(np.int32), np.take_along_axis(squares, order, axis=1)
