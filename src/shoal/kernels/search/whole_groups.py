"""Large tables as lists of groups: what a block of whole groups is made from, and what becomes of it."""

import numpy as np

from shoal.kernels.neighbours.kd_tree import select
from shoal.kernels.runtime.jit import kernel


@kernel
def halve(X, rows, multiple):
    """Put the halves of these rows along the column of widest variance apart; how many the first one has.

    That is a multiple of `multiple`.
    """
    n, d = len(rows), X.shape[1]
    sums, squares, values = np.zeros(d), np.zeros(d), np.empty(n)
    for row in rows:
        for j in range(d):
            value = X[row, j] - X[rows[0], j]
            sums[j] += value
            squares[j] += value * value
    widest = 0
    for j in range(d):
        squares[j] -= sums[j] * sums[j] / n
        if squares[j] > squares[widest]:
            widest = j
    for i in range(n):
        values[i] = X[rows[i], widest]
    half = max(1, n // 2 // multiple) * multiple
    select(values, rows, 0, n, half)
    return half


@kernel
def members(rows, begin, sizes, groups, place):
    """The records of these groups, group by group; `place` gets the place of each among them.

    Group g has the records rows[begin[g] : begin[g] + sizes[g]].
    """
    total = 0
    for g in groups:
        total += sizes[g]
    chosen = np.empty(total, np.int64)
    at = 0
    for g in groups:
        for i in range(begin[g], begin[g] + sizes[g]):
            chosen[at] = rows[i]
            place[rows[i]] = at
            at += 1
    return chosen


@kernel
def group_up(P, rows, labels, groups):
    """The records `rows` of P group by group; the size, the mean and the SSE of each group 0..groups-1."""
    d = P.shape[1]
    sizes, free = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    for g in labels:
        sizes[g] += 1
    for g in range(1, groups):
        free[g] = free[g - 1] + sizes[g - 1]
    order = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        order[free[labels[i]]] = rows[i]
        free[labels[i]] += 1
    means, sse = np.zeros((groups, d)), np.zeros(groups)
    begin = 0
    for g in range(groups):
        first = order[begin]
        for i in range(begin + 1, begin + sizes[g]):
            for j in range(d):
                means[g, j] += P[order[i], j] - P[first, j]
        for j in range(d):
            means[g, j] = P[first, j] + means[g, j] / sizes[g]
        for i in range(begin, begin + sizes[g]):
            for j in range(d):
                sse[g] += (P[order[i], j] - means[g, j]) ** 2
        begin += sizes[g]
    return order, sizes, means, sse
