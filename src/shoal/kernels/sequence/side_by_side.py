"""The near search of `line` for the SSE and for whole centroids, for several ends at a time.

The best groups that end at one of k neighbouring ends do not depend on one another. So four ends go
together: four numbers side by side that are added, multiplied and compared alike are one instruction to the
processor. The operations on each number, and so the outcome, are those of `line`.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence.cut import whole_cost
from shoal.kernels.sequence.far import WHOLE

ZERO = (0.0, 0.0, 0.0, 0.0)
WORST = (np.inf, np.inf, np.inf, np.inf)


@kernel
def several_ends(v, k, kind, inverse, best, size):
    """From the end 2k - 1 on: the least cost of the values up to each end, and the size of the last group.

    k is the length of a tuple, at least 2: so the compiler knows how long the loops are. Below k = 4 the last
    ends of a round depend on its first ones: they are searched again in the next round.
    """
    least, most = len(k), 2 * len(k) - 1
    for begin in range(most, len(v) + 1, min(4, least)):
        end = min(begin, len(v) - 3)  # at last, some ends come twice
        values, path = v[end - most : end + 3], best[end - most : end + 4 - least]
        last, total, squares = _four(values, most - 1), ZERO, ZERO
        cost, where = WORST, ZERO
        for start in range(most - 2, least - 1, -1):
            total, squares = _grow(total, squares, last, _four(values, start))
        for start in range(least - 1, -1, -1):
            total, squares = _grow(total, squares, last, _four(values, start))
            m = most - start
            before = _four(path, start)
            cost, where = _compare(kind, total, squares, inverse[m], before, float(m), cost, where)
        best[end], best[end + 1], best[end + 2], best[end + 3] = cost
        size[end], size[end + 1], size[end + 2], size[end + 3] = where[0], where[1], where[2], where[3]


@kernel
def _four(a, i):
    return a[i], a[i + 1], a[i + 2], a[i + 3]


@kernel
def _grow(total, squares, last, values):
    """Sums of distances from the last value, and of their squares, with one value more."""
    a, b, c, d = last[0] - values[0], last[1] - values[1], last[2] - values[2], last[3] - values[3]
    return (
        (total[0] + a, total[1] + b, total[2] + c, total[3] + d),
        (squares[0] + a * a, squares[1] + b * b, squares[2] + c * c, squares[3] + d * d),
    )


@kernel
def _cost(kind, total, squares, inverse, size):
    if len(kind) == WHOLE:
        return whole_cost(total, squares, size, inverse)
    return squares - total * total * inverse


@kernel
def _compare(kind, total, squares, inverse, path, size, cost, where):
    """The least cost so far and its group's size, once groups of this size are considered too."""
    a = _cost(kind, total[0], squares[0], inverse, size) + path[0]
    b = _cost(kind, total[1], squares[1], inverse, size) + path[1]
    c = _cost(kind, total[2], squares[2], inverse, size) + path[2]
    d = _cost(kind, total[3], squares[3], inverse, size) + path[3]
    where = (
        size if a < cost[0] else where[0],
        size if b < cost[1] else where[1],
        size if c < cost[2] else where[2],
        size if d < cost[3] else where[3],
    )
    cost = (
        a if a < cost[0] else cost[0],
        b if b < cost[1] else cost[1],
        c if c < cost[2] else cost[2],
        d if d < cost[3] else cost[3],
    )
    return cost, where
