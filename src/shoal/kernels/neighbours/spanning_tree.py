"""The exact Euclidean minimum spanning tree, by Boruvka's rounds over a k-d tree; and the cutting of trees.

Edges are compared by (squared length, lower row, higher row). That order is total, so there is one minimum
spanning tree, whatever the shape of the k-d tree and the number of threads.

Points are numbered in the order of the leaves of the k-d tree; `tree.order` are their rows.
"""

import numpy as np

from shoal.kernels.neighbours.kd_tree import DEPTH, LEAF, box_to_box, leaf_distances
from shoal.kernels.runtime.jit import kernel


@kernel
def nearest_outside(X, columns, tree, colour, component, bound, near, length, leaves):
    """For the points of these leaves find the nearest point of another component. X is in the tree's order.

    `length[p]` is a lower bound on the way out of p; `near[p]` the point there, or -1 if not known. A search
    gives up beyond `bound` of p's component, which it lowers in turn: only the component's best way counts.
    """
    rows, start, end, low, high = tree.order, tree.start, tree.end, tree.low, tree.high
    stack = np.empty(DEPTH, np.int64)
    away = np.empty(DEPTH)
    distance = np.empty(LEAF)
    active = np.empty(LEAF, np.int64)
    for leaf in leaves:
        count = 0
        for p in range(start[leaf], end[leaf]):
            mine = component[p]
            if length[p] <= bound[mine] and (near[p] < 0 or component[near[p]] == mine):
                active[count] = p
                near[p] = -1
                count += 1
        if count == 0:
            continue
        stack[0] = 0
        away[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            limit = 0.0
            for i in range(count):
                limit = max(limit, bound[component[active[i]]])
            if away[top] > limit:
                continue
            if tree.child[node] >= 0:
                a = tree.child[node]
                b = a + 1
                to_a = box_to_box(low[leaf], high[leaf], low[a], high[a])
                to_b = box_to_box(low[leaf], high[leaf], low[b], high[b])
                if to_a < to_b or (to_a == to_b and start[a] <= start[leaf] < end[a]):
                    a, b = b, a
                    to_a, to_b = to_b, to_a
                if to_a <= limit and (colour[a] < 0 or colour[a] != colour[leaf]):
                    stack[top] = a
                    away[top] = to_a
                    top += 1
                if to_b <= limit and (colour[b] < 0 or colour[b] != colour[leaf]):
                    stack[top] = b
                    away[top] = to_b
                    top += 1
                continue
            for i in range(count):
                p = active[i]
                mine, point = component[p], X[p]
                if colour[node] == mine or box_to_box(point, point, low[node], high[node]) > bound[mine]:
                    continue
                size = end[node] - start[node]
                leaf_distances(columns, start[node], size, size, point, distance)
                for q in range(start[node], end[node]):
                    t = distance[q - start[node]]
                    if t > bound[mine] or component[q] == mine:
                        continue
                    if near[p] < 0 or t < length[p] or (t == length[p] and rows[q] < rows[near[p]]):
                        near[p] = q
                        length[p] = t
                        bound[mine] = t
        for i in range(count):
            p = active[i]
            if near[p] < 0 or length[p] > bound[component[p]]:
                near[p] = -1
                length[p] = bound[component[p]]


@kernel
def cut_edges(edges, order, parent, k):
    """Visit the edges in the order given; remove each that leaves k or more records on either side.

    `order` are the records, parents first. Returns for each record whether it is the root of a tree of the
    forest that remains. As in the paper, the way from an edge goes up to its root: that takes less than a
    second for a million random numbers.
    """
    below = np.ones(len(parent), np.int64)  # records of each one's subtree, as far as it is not cut off
    for i in range(len(order) - 1, 0, -1):
        below[parent[order[i]]] += below[order[i]]
    root = np.zeros(len(parent), np.bool_)
    root[order[0]] = True
    for a, b in edges:
        child = a if parent[a] == b else b
        count = below[child]
        if count < k:
            continue
        top = parent[child]
        while not root[top]:
            top = parent[top]
        if below[top] - count < k:
            continue
        root[child] = True
        v = child
        while v != top:
            v = parent[v]
            below[v] -= count
    return root


@kernel
def form_clusters(parent, root):
    """Labels, and the sequence in which records are classified: each after its parent, up to its tree's root.

    This is the paper's classifyPoint, without its recursion. Where D must tell the two most distant records
    of a group apart, the earlier classified is its first. The paper does not say so: of the orders we tried,
    this one gives all eight printed M-d figures (row order gives six).
    """
    n = len(parent)
    labels = np.full(n, -1, np.int64)
    sequence = np.empty(n, np.int64)
    done = 0
    groups = 0
    for p in range(n):
        v = p
        length = 0
        while labels[v] < 0 and not root[v]:
            length += 1
            v = parent[v]
        if labels[v] < 0:
            labels[v] = groups
            groups += 1
            sequence[done] = v
            done += 1
        v = p
        for i in range(done + length - 1, done - 1, -1):
            sequence[i] = v
            v = parent[v]
        for i in range(done, done + length):
            labels[sequence[i]] = labels[v]
        done += length
    return labels, sequence
