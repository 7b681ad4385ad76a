"""A k-d tree: records halved along the widest side of their box, again and again."""

from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.jit import kernel

#: Records in a leaf, at most. Smaller leaves mean more boxes to compare, larger ones more distances.
LEAF = 32
#: Places for nodes that wait in a search: every level leaves one, and no table in memory has 64 levels.
DEPTH = 64


class Tree(NamedTuple):
    """Nodes come after their parents. A node's second child follows its first; -1: the node is a leaf."""

    order: Ints  # the rows, leaf by leaf
    start: Ints  # each node's first place in that order
    end: Ints
    child: Ints
    low: Floats  # (nodes, attributes) least value of the node's records
    high: Floats


@kernel
def _select(values, order, start, end, middle):
    """Reorder order[start:end] so that no value left of `middle` is greater than one right of it."""
    while end - start > 1:
        pivot = values[order[(start + end) // 2]]
        i, j = start, end - 1
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j + 1
        elif middle >= i:
            start = i
        else:
            return


@kernel
def _build(X, order, start, end, child, low, high):
    """Fill in the order of the records and all nodes; return the number of nodes."""
    n, d = X.shape
    values = np.empty(n)
    start[0] = 0
    end[0] = n
    nodes = 1
    node = 0
    while node < nodes:
        s, e = start[node], end[node]
        child[node] = -1
        widest = 0
        for j in range(d):
            low[node, j] = high[node, j] = X[order[s], j]
            for t in range(s + 1, e):
                low[node, j] = min(low[node, j], X[order[t], j])
                high[node, j] = max(high[node, j], X[order[t], j])
            if high[node, j] - low[node, j] > high[node, widest] - low[node, widest]:
                widest = j
        if e - s > LEAF:
            for t in range(s, e):
                values[order[t]] = X[order[t], widest]
            middle = (s + e) // 2
            _select(values, order, s, e, middle)
            child[node] = nodes
            start[nodes], end[nodes] = s, middle
            start[nodes + 1], end[nodes + 1] = middle, e
            nodes += 2
        node += 1
    return nodes


@kernel
def build_tree(X):
    """A tree of the rows of X."""
    n, d = X.shape
    most = 4 * (n // LEAF + 1)
    order = np.arange(n)
    start, end, child = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    low, high = np.empty((most, d)), np.empty((most, d))
    nodes = _build(X, order, start, end, child, low, high)
    return Tree(order, start[:nodes], end[:nodes], child[:nodes], low[:nodes], high[:nodes])


@kernel
def box_to_box(low, high, other_low, other_high):
    """Squared distance of two boxes; a point is a box whose `low` and `high` are the same.

    It is summed as `leaf_distances` sums and rounding is monotone, so no record inside seems nearer.
    """
    total = 0.0
    for j in range(len(low)):
        gap = max(low[j] - other_high[j], other_low[j] - high[j], 0.0)
        total += gap * gap
    return total


@kernel
def leaf_distances(columns, start, room, count, point, out):
    """Squared distances of the point to the first `count` records of a leaf that has places for `room`.

    `columns` holds the coordinates leaf by leaf, and within a leaf attribute by attribute. Not
    `to_columns`: that needs a matrix, and this hottest of all loops should not make one for each leaf.
    """
    d = len(point)
    out[:count] = 0.0
    for j in range(d):
        value = point[j]
        begin = start * d + j * room
        column = columns[begin : begin + count]
        for i in range(count):
            difference = column[i] - value
            out[i] += difference * difference


@kernel
def fill_leaf(X, rows, start, end, columns):
    """Put the coordinates of the records at the places start..end-1 where `leaf_distances` expects them."""
    d = X.shape[1]
    for t in range(start, end):
        for j in range(d):
            columns[start * d + j * (end - start) + t - start] = X[rows[t], j]
