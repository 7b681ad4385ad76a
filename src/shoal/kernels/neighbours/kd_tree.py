"""A k-d tree: records halved along the widest side of their box, again and again."""

from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import map_threads

#: Records in a leaf, at most. Smaller leaves mean more boxes to compare, larger ones more distances.
LEAF = 32
#: Places for nodes that wait in a search: every level leaves one, and no table in memory has 64 levels.
DEPTH = 64
#: Subtrees that are built at the same time, a power of two. It does not depend on the number of threads.
TOGETHER = 16


class Tree(NamedTuple):
    """Nodes come after their parents. A node's second child follows its first; -1: the node is a leaf."""

    order: Ints  # the rows, leaf by leaf
    start: Ints  # each node's first place in that order
    end: Ints
    child: Ints
    low: Floats  # (nodes, attributes) least value of the node's records
    high: Floats


@kernel
def select(values, order, start, end, middle):
    """Reorder values and `order` alike, from start to end-1: those left of `middle` are the smaller ones."""
    while end - start > 1:
        pivot = values[(start + end) // 2]
        i, j = start, end - 1
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
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
def divide(X, order, start, end, values, low, high):
    """Fill in the box of the records order[start:end]; put its halves apart if it is more than a leaf."""
    d = X.shape[1]
    for j in range(d):
        low[j] = high[j] = X[order[start], j]
    for t in range(start + 1, end):
        for j in range(d):
            value = X[order[t], j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    if end - start > LEAF:
        widest = 0
        for j in range(1, d):
            if high[j] - low[j] > high[widest] - low[widest]:
                widest = j
        for t in range(start, end):
            values[t] = X[order[t], widest]
        select(values, order, start, end, (start + end) // 2)


@kernel
def subtree(X, order, values, first, last):
    """The tree of the records order[first:last], which it puts into the order of the leaves."""
    most = 4 * ((last - first) // LEAF + 1)
    start, end, child = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    low, high = np.empty((most, X.shape[1])), np.empty((most, X.shape[1]))
    start[0], end[0] = first, last
    nodes = 1
    node = 0
    while node < nodes:
        s, e = start[node], end[node]
        child[node] = -1
        divide(X, order, s, e, values, low[node], high[node])
        if e - s > LEAF:
            child[node] = nodes
            start[nodes], end[nodes] = s, (s + e) // 2
            start[nodes + 1], end[nodes + 1] = (s + e) // 2, e
            nodes += 2
        node += 1
    return Tree(order, start[:nodes], end[:nodes], child[:nodes], low[:nodes], high[:nodes])


@kernel
def build_tree(X):
    """A tree of the rows of X."""
    return subtree(X, np.arange(len(X)), np.empty(len(X)), 0, len(X))


def build_at_once(X: Floats) -> Tree:
    """The tree of many rows, by several threads; its nodes come in another order than in `build_tree`."""
    order, values = np.arange(len(X)), np.empty(len(X))
    start, end = np.zeros((2, 2 * TOGETHER - 1), np.int64)
    end[0] = len(X)
    low, high = np.empty((2, TOGETHER - 1, X.shape[1]))

    def halve(i: int) -> None:
        divide(X, order, start[i], end[i], values, low[i], high[i])
        middle = (start[i] + end[i]) // 2
        start[2 * i + 1 : 2 * i + 3] = start[i], middle
        end[2 * i + 1 : 2 * i + 3] = middle, end[i]

    first = 0
    while first < TOGETHER - 1:  # the nodes of a level at the same time
        map_threads(halve, range(first, 2 * first + 1))
        first = 2 * first + 1
    below = map_threads(lambda i: subtree(X, order, values, start[i], end[i]), range(first, len(start)))
    # The root of a subtree is a node already; its other nodes come after all that is there.
    more = np.cumsum([len(start) - 1] + [len(tree.child) - 1 for tree in below])
    child = [np.where(tree.child < 0, -1, tree.child + before) for tree, before in zip(below, more)]

    def joined(upper: np.ndarray, lower: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([upper, [part[0] for part in lower], *(part[1:] for part in lower)])

    return Tree(
        order,
        joined(start[:first], [tree.start for tree in below]),
        joined(end[:first], [tree.end for tree in below]),
        joined(2 * np.arange(first) + 1, child),
        joined(low, [tree.low for tree in below]),
        joined(high, [tree.high for tree in below]),
    )


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


@kernel
def fill_leaves(X, tree, columns, first, last):
    """`fill_leaf` for those of the nodes first..last-1 that are leaves."""
    for node in range(first, last):
        if tree.child[node] < 0:
            fill_leaf(X, tree.order, tree.start[node], tree.end[node], columns)


@kernel
def within_reach(X, tree, low, high, reach, first):
    """The rows from `first` on whose squared distance to the box is at most `reach`, in rising order."""
    found = np.empty(len(X), np.int64)
    count = 0
    waiting = np.empty(DEPTH, np.int64)
    waiting[0] = 0
    left = 1
    while left:
        left -= 1
        node = waiting[left]
        if box_to_box(tree.low[node], tree.high[node], low, high) > reach:
            continue
        if tree.child[node] >= 0:
            waiting[left] = tree.child[node]
            waiting[left + 1] = tree.child[node] + 1
            left += 2
            continue
        for t in range(tree.start[node], tree.end[node]):
            row = tree.order[t]
            if row >= first and box_to_box(X[row], X[row], low, high) <= reach:
                found[count] = row
                count += 1
    return np.sort(found[:count])
