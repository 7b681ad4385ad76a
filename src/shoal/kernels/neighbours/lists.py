"""Each record's nearest records, exactly: for tables of a few records up to millions."""

import numpy as np

from shoal.kernels.neighbours.distance import all_squares
from shoal.kernels.neighbours.pool import lay_out, search
from shoal.kernels.runtime.jit import WORTH_COMPILING, kernel
from shoal.kernels.runtime.threads import map_threads

#: Records that one thread looks up before it takes the next ones: many enough that handing them out costs
#: nothing, few enough that the threads end together.
STEP = 5000


@kernel
def _query(X, free, first, last, ids, squares, slack):
    """Fill the rows of the records at the places first..last-1: neighbours by distance, ties by lowest index.

    Neighbouring places share leaves: what one search reads is still in the cache for the next.
    """
    row = np.empty(ids.shape[1], np.int64)
    for at in range(first, last):
        record = free.ids[at]
        search(free, X[record], record, row, squares[record], slack)
        for place in range(len(row)):  # to assign an array would take seconds to compile
            ids[record, place] = row[place]


def nearest(
    X: np.ndarray, m: int, threads: int | None = None, slack: float = 1.0, few: int = WORTH_COMPILING
) -> tuple[np.ndarray, np.ndarray]:
    """The m nearest other records of each record (n x m, nearest first) and their squared distances.

    Of up to `few` records all distances are sorted; the outcome is the same.
    """
    n = len(X)
    m = min(m, n - 1)
    if n <= few:
        squares = all_squares(X, X)
        np.fill_diagonal(squares, np.inf)
        order = np.argsort(squares, axis=1, kind="stable")[:, :m]
        return order.astype(np.int32), np.take_along_axis(squares, order, axis=1)
    free = lay_out(X, np.arange(n))
    ids = np.empty((n, m), np.int32)
    squares = np.empty((n, m))
    map_threads(
        lambda first: _query(X, free, first, min(first + STEP, n), ids, squares, slack),
        range(0, n, STEP),
        threads,
    )
    return ids, squares
