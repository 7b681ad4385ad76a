"""Optimal partition of a sequence into contiguous groups of k..2k-1 records, in any number of columns.

The shortest path of Hansen and Mukherjee (2003), found in O(kn) steps of O(d). For each end of a group
the start moves backwards; the group's sums are taken as differences from its last record, so they hold
only what the group's own spread makes, and an offset or a far-away neighbour costs no digits.

Early termination: a group that grows costs ever more. As soon as its own cost, plus the least cost of
any path that could still precede it, reaches the best path so far, no longer group can win.
"""

import math

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.kernels.runtime.jit import kernel

#: Added and taken away again, it leaves of a double below 2**51 the nearest whole number: two instructions.
ROUNDING = 1.5 * 2.0**52
#: Ends that `whole_sizes` searches in one go: of fewer records more have exact sums in doubles.
STRETCH = 1024


@kernel
def labels_of(size):
    """Labels of the sequence, if size[end] is the size of the best last group of the first `end` records."""
    end = len(size) - 1
    labels = np.empty(end, np.int64)
    groups = 0
    while end > 0:
        start = end - size[end]
        labels[start:end] = groups
        groups += 1
        end = start
    for i in range(len(labels)):
        labels[i] = groups - 1 - labels[i]
    return labels


@kernel
def whole_cost(total, squares, m, inverse):
    """Least sum of squared distances of m whole numbers to a whole number, from their sum and squares.

    The centroid is the whole number nearest to total / m. Which of two equally near ones is published (half
    away from zero) changes nothing here. Doubles are exact while no sum of squares passes 2**53.
    """
    centroid = (total * inverse + ROUNDING) - ROUNDING
    return squares - centroid * (2.0 * total - m * centroid)


@kernel
def _last_groups(X, k, whole, known, best, size):
    """The least cost of the first `end` records and the size of the last group, for each end from `known` on.

    `whole` is a tuple, empty or not, so that each cost has loops of its own.
    """
    n, d = X.shape
    total = np.empty(d)
    squares = np.empty(d)
    for end in range(max(known, k), n + 1):
        least = np.inf
        for start in range(max(end - 2 * k + 1, 0), end - k + 1):
            least = min(least, best[start])
        total[:] = 0.0
        squares[:] = 0.0
        for m in range(2, min(2 * k - 1, end) + 1):
            start = end - m
            for j in range(d):
                difference = X[end - 1, j] - X[start, j]
                total[j] += difference
                squares[j] += difference * difference
            if m >= k:
                cost = 0.0
                for j in range(d):
                    if len(whole) > 0:
                        cost += whole_cost(total[j], squares[j], m, 1.0 / m)
                    else:
                        cost += max(squares[j] - total[j] * total[j] / m, 0.0)
                if best[start] + cost < best[end]:
                    best[end] = best[start] + cost
                    size[end] = m
                if least + cost >= best[end]:
                    break


@kernel
def cut(X, k):
    """Labels 0, 0, .., 1, 1, .. of the rows of X (n x d, in sequence order) with the least SSE."""
    best = np.full(len(X) + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(len(X) + 1, np.int32)
    _last_groups(X, k, (), 1, best, size)
    return labels_of(size)


def whole_sizes(matrix: Ints, k: int, stretch: int = STRETCH) -> NDArray[np.int32]:
    """The size of the best last group of the first 0, 1, .. records, for whole centroids (IMHMI).

    One stretch of ends after another, with costs counted from the least before it: in doubles where these
    are exact, in Python's integers where a sum might pass 2**53. k = 1 too.
    """
    n, most = len(matrix), 2 * k - 1
    size = np.zeros(n + 1, np.int32)
    costs: list[float] = [0]  # of the ends before the stretch; infinite where no path leads
    for begin in range(0, n, stretch):
        first = max(begin - most + 1, 0)
        rows, sizes = matrix[first : begin + stretch], size[first:]
        ranges = [int(high) - int(low) for low, high in zip(rows.min(0), rows.max(0))]
        largest = (len(rows) + 2 * k) * sum(r * r for r in ranges) + max(c for c in costs if c < math.inf)
        if largest < 2**53:
            best = np.full(len(rows) + 1, np.inf)
            best[: len(costs)] = costs
            offsets = rows.view(np.uint64) - rows.min(0).view(np.uint64)
            _last_groups(offsets.astype(np.float64), k, (0,), len(costs), best, sizes)
            costs = best[-most:].tolist()
        else:
            costs = _of_any_magnitude(rows.tolist(), k, costs, sizes)[-most:]
        least = min(costs)
        costs = [c if c == math.inf else int(c - least) for c in costs]
    return size


def _of_any_magnitude(X: list[list[int]], k: int, costs: list[float], size: NDArray[np.int32]) -> list[float]:
    """`_last_groups` for whole centroids in Python's integers: no sum is too large."""
    best = list(costs)
    for end in range(len(best), len(X) + 1):
        last, total, squares = X[end - 1], [0] * len(X[0]), [0] * len(X[0])
        best.append(math.inf)
        for m in range(2, min(2 * k - 1, end) + 1):
            row = X[end - m]
            for j, value in enumerate(row):
                difference = last[j] - value
                total[j] += difference
                squares[j] += difference * difference
            if m >= k and best[end - m] < math.inf:
                cost = best[end - m]
                for t, s in zip(total, squares):
                    centroid = (2 * t + m) // (2 * m)
                    cost += s - centroid * (2 * t - m * centroid)
                if cost < best[end]:
                    best[end], size[end] = cost, m
    return best
