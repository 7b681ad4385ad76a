"""Optimal partition of a sequence into contiguous groups of k..2k-1 records, in any number of columns.

The shortest path of Hansen and Mukherjee (2003), found in O(kn) steps of O(d). For each end of a group
the start moves backwards; the group's sums are taken as differences from its last record, so they hold
only what the group's own spread makes, and an offset or a far-away neighbour costs no digits.

Early termination: a group that grows costs ever more. As soon as its own cost, plus the least cost of
any path that could still precede it, reaches the best path so far, no longer group can win.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel


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
def _sizes(X, k):
    n, d = X.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int32)
    total = np.empty(d)
    squares = np.empty(d)
    for end in range(k, n + 1):
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
                    cost += max(squares[j] - total[j] * total[j] / m, 0.0)
                if best[start] + cost < best[end]:
                    best[end] = best[start] + cost
                    size[end] = m
                if least + cost >= best[end]:
                    break
    return size


@kernel
def cut(X, k):
    """Labels 0, 0, .., 1, 1, .. of the rows of X (n x d, in sequence order) with the least SSE."""
    return labels_of(_sizes(X, k))


def _whole_cost(total, squares, m):
    """Least sum of squared distances of m whole numbers to a whole number, from their sum and squares.

    With q = floor(total / m) the centroid is q or q + 1. Which of two equally near ones is published
    (half away from zero) changes nothing here.
    """
    q = total // m
    rest = total - q * m
    return squares - q * (total + rest) - max(0, 2 * rest - m)


whole_cost = kernel(_whole_cost)


def whole_sizes_of_any_magnitude(matrix: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """`_sizes` for groups that publish whole centroids (IMHMI), in Python's integers: no sum is too large."""
    X = matrix.tolist()
    n, d = len(X), len(X[0])
    best: list[int] = [0] * (n + 1)
    size = np.zeros(n + 1, np.int32)
    reachable = [end == 0 or end >= k for end in range(n + 1)]
    for end in range(k, n + 1):
        last, total, squares = X[end - 1], [0] * d, [0] * d
        starts = range(end - k, max(end - 2 * k, -1), -1)
        least = min(best[start] for start in starts if reachable[start])
        least_cost = -1
        for m in range(2, min(2 * k - 1, end) + 1):
            start = end - m
            for j in range(d):
                difference = last[j] - X[start][j]
                total[j] += difference
                squares[j] += difference * difference
            if m >= k and reachable[start]:
                cost = sum(_whole_cost(total[j], squares[j], m) for j in range(d))
                if least_cost < 0 or best[start] + cost < least_cost:
                    least_cost = best[start] + cost
                    size[end] = m
                if least + cost >= least_cost:
                    break
        best[end] = least_cost
    return size
