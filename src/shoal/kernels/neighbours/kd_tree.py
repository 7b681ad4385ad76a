"""A k-d tree: records halved along the widest side of their box, again and again."""

import numpy as np

from shoal.kernels.runtime.jit import kernel


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
