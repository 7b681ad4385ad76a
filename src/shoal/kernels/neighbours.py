"""Each record's nearest records, exactly, through a k-d tree: for tables of a few records up to millions."""

import numpy as np

from shoal.kernels._jit import kernel
from shoal.kernels._threads import map_threads

LEAF = 24


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
def build(X, leaf, order, start, end, child, low, high):
    """Halve the records along the widest side of their box until `leaf` or fewer are together.

    Fills in the order of the records, and for each node its range in that order, its first child (the
    second follows it; a leaf has none: -1) and its box. Returns the number of nodes.
    """
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
        if e - s > leaf:
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
def box_distance(point, low, high):
    """Squared distance of a point to a box."""
    total = 0.0
    for j in range(len(point)):
        gap = max(low[j] - point[j], point[j] - high[j], 0.0)
        total += gap * gap
    return total


@kernel
def _query(X, order, start, end, child, low, high, first, last, ids, squares):
    """Fill the rows order[first:last] of ids and squares: neighbours by distance, ties by lowest index."""
    d = X.shape[1]
    m = ids.shape[1]
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    for t in range(first, last):
        i = order[t]
        found = 0
        worst = np.inf
        stack[0] = 0
        bounds[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if bounds[depth] > worst:
                continue
            if child[node] >= 0:
                left = child[node]
                near = box_distance(X[i], low[left], high[left])
                far = box_distance(X[i], low[left + 1], high[left + 1])
                swap = near > far or (near == far and t >= start[left + 1])
                if swap:
                    near, far = far, near
                if far <= worst:
                    stack[depth] = left if swap else left + 1
                    bounds[depth] = far
                    depth += 1
                stack[depth] = left + 1 if swap else left
                bounds[depth] = near
                depth += 1
                continue
            for q in range(start[node], end[node]):
                y = order[q]
                if y == i:
                    continue
                total = 0.0
                for j in range(d):
                    difference = X[i, j] - X[y, j]
                    total += difference * difference
                if found == m and (total > worst or (total == worst and y > ids[i, m - 1])):
                    continue
                place = min(found, m - 1)
                while place > 0 and (
                    squares[i, place - 1] > total
                    or (squares[i, place - 1] == total and ids[i, place - 1] > y)
                ):
                    squares[i, place] = squares[i, place - 1]
                    ids[i, place] = ids[i, place - 1]
                    place -= 1
                squares[i, place] = total
                ids[i, place] = y
                found = min(found + 1, m)
                if found == m:
                    worst = squares[i, m - 1]


def nearest(X: np.ndarray, m: int, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The m nearest other records of each record (n x m, nearest first) and their squared distances."""
    n, d = X.shape
    m = min(m, n - 1)
    most = 4 * (n // LEAF + 1)
    ranges = [np.empty(most, np.int64) for _ in range(3)]
    tree = (np.arange(n), *ranges, np.empty((most, d)), np.empty((most, d)))
    build(X, LEAF, *tree)
    ids = np.empty((n, m), np.int32)
    squares = np.empty((n, m))
    step = 5000
    map_threads(
        lambda first: _query(X, *tree, first, min(first + step, n), ids, squares), range(0, n, step), threads
    )
    return ids, squares
