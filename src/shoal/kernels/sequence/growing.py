"""Paths through many records, with the k-d tree of the free ones: the same as by comparing all with all."""

from heapq import heappop, heappush

import numpy as np

from shoal.kernels.neighbours.distance import between
from shoal.kernels.neighbours.kd_tree import DEPTH, LEAF, box_to_box, leaf_distances
from shoal.kernels.neighbours.pool import lay_out, nearest, remove, search
from shoal.kernels.runtime.jit import kernel

#: A lower bound on a detour is lowered by that share of the ways it is made of: more than rounding.
SLACK = 1e-9
#: How many times as far, squared, the next search for a free record goes that found none.
FARTHER = 4.0


@kernel
def walk(X, start):
    """Nearest point next: from record `start` always on to the nearest that is left."""
    free = lay_out(X, np.arange(len(X)))
    path = np.full(len(X), start)
    for i in range(1, len(X)):
        remove(free, path[i - 1 : i])
        path[i] = nearest(free, X[path[i - 1]], 1, -1)[0][0]
    return path


@kernel
def nearest_insertion(X, start, near):
    """A path from `start` to the record farthest from it. The record nearest to the path comes next into it,
    where it lengthens the path least; of equal edges the one whose left end came into the path first.

    A heap holds, for each record of the path, the nearest free one, or -1 with what its squared distance is
    at least: that is looked up when it comes first. An edge lies with its left end in a tree of all records.
    A node knows its longest edge: the detour over an edge is at least twice the way from its left end, less
    twice its length. `near` holds each record's nearest others, nearest first, as many as are known, and
    then -1: most are found there.
    """
    n = len(X)
    free, every = lay_out(X, np.arange(n)), lay_out(X, np.arange(n))
    longest = np.full(len(every.child), -1.0)
    length = np.full(n, -1.0)  # of the edge that begins at each record
    after = np.full(n, -1)
    arrival = np.zeros(n, np.int64)
    far, most = -1, -1.0
    for i in range(n):
        if i != start and np.sqrt(between(X, start, i)) > most:
            far, most = i, np.sqrt(between(X, start, i))
    heap = [(0.0, start, start)]
    heappop(heap)
    new = np.array([start, far])
    after[start], length[start], arrival[far] = far, most, 1
    _renew(longest, length, every, start)
    remove(free, new)
    for seen in range(2, n):
        for member in new:
            _offer(heap, free, X, member, near[member], 0.0)
        while heap[0][1] < 0 or free.leaf[heap[0][1]] < 0:
            square, record, member = heappop(heap)
            if record >= 0:
                _offer(heap, free, X, member, near[member], square)
            else:
                _search_on(heap, free, X, member, square)
        new = np.array([heap[0][1]])
        t = new[0]
        remove(free, new)
        left = _cheapest_edge(X, t, near[t], longest, length, after, arrival, every)
        after[t], after[left] = after[left], t
        length[left], length[t] = np.sqrt(between(X, left, t)), np.sqrt(between(X, t, after[t]))
        arrival[t] = seen
        _renew(longest, length, every, left)
        _renew(longest, length, every, t)
    path = np.full(n, start)
    for i in range(1, n):
        path[i] = after[path[i - 1]]
    return path


@kernel
def _offer(heap, free, X, member, near, square):
    """Put the free record nearest to a member of the path into the heap, or how far away it is at least.

    No other is nearer than that, squared.
    """
    for other in near:
        if other < 0:
            break
        least = between(X, member, other)
        if free.leaf[other] >= 0:
            heappush(heap, (least, other, member))
            return
        square = max(square, least)
    heappush(heap, (square, -1, member))


@kernel
def _search_on(heap, free, X, member, square):
    """Put it in if it is not much farther away than that, squared; else that it is farther."""
    ids, squares = np.empty(1, np.int64), np.full(1, FARTHER * square if square > 0.0 else np.inf)
    search(free, X[member], -1, ids, squares, 1.0)
    heappush(heap, (squares[0], ids[0], member))


@kernel
def _renew(longest, length, every, record):
    """Let the record's leaf and what is above it know their longest edge again."""
    node, most = every.leaf[record], -1.0
    for i in range(every.start[node], every.end[node]):
        most = max(most, length[every.ids[i]])
    while most != longest[node]:
        longest[node] = most
        node = every.parent[node]
        if node < 0:
            break
        most = max(longest[every.child[node]], longest[every.child[node] + 1])


@kernel
def _detour(X, t, q, away, length, after, arrival, best, edge):
    """The shortest detour over t, and its edge: this one, or that from q on, which is `away` from t."""
    cost = away + np.sqrt(between(X, after[q], t)) - length[q]
    if cost < best or (cost == best and arrival[q] < arrival[edge]):
        return cost, q
    return best, edge


@kernel
def _cheapest_edge(X, t, near, longest, length, after, arrival, every):
    """The left end of the edge whose detour over record t is shortest. Those near are looked at first."""
    child, low, high = every.child, every.low, every.high
    point = X[t]
    waiting = np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH)
    here = np.empty(LEAF)
    best, edge = np.inf, -1
    for q in near:
        if q >= 0 and length[q] >= 0.0:
            away = np.sqrt(between(X, q, t))
            best, edge = _detour(X, t, q, away, length, after, arrival, best, edge)
    waiting[0], bounds[0] = 0, -np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = waiting[depth]
        if bounds[depth] > best:
            continue
        if child[node] >= 0:
            a = child[node]
            for one in (a, a + 1):
                if longest[one] >= 0.0:
                    away = np.sqrt(box_to_box(point, point, low[one], high[one]))
                    waiting[depth] = one
                    bounds[depth] = 2.0 * (away - longest[one]) - SLACK * (away + longest[one])
                    depth += 1
            if depth > 1 and waiting[depth - 2] == a and bounds[depth - 2] < bounds[depth - 1]:
                waiting[depth - 2], waiting[depth - 1] = waiting[depth - 1], waiting[depth - 2]
                bounds[depth - 2], bounds[depth - 1] = bounds[depth - 1], bounds[depth - 2]
            continue
        s, size = every.start[node], every.end[node] - every.start[node]
        leaf_distances(every.columns, s, size, size, point, here)
        for i in range(size):
            q = every.ids[s + i]
            if length[q] < 0.0:
                continue
            away = np.sqrt(here[i])
            if 2.0 * (away - length[q]) - SLACK * (away + length[q]) > best:
                continue
            best, edge = _detour(X, t, q, away, length, after, arrival, best, edge)
    return edge
