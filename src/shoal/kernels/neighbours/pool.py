"""Nearest and farthest search among the records that are still free, in a k-d tree that shrinks with them.

The free records lie in the leaves of a balanced k-d tree. A leaf keeps its records' coordinates together,
one attribute after the other, so that a distance loop works on several records at a time. Every node
knows the box of its free records and how far the outermost of them lies from the centre; both are renewed
whenever a record leaves, so a search skips all that cannot matter now.

Searches find exactly what a full scan finds. The box's lower bound is summed in the order in which
distances are summed, and rounding is monotone, so the bound never passes a computed distance; the upper
bound has a margin. Equal distances: the record with the lowest row index.
"""

from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.kernels.neighbours.kd_tree import DEPTH, LEAF, box_to_box, build_tree, fill_leaf, leaf_distances
from shoal.kernels.runtime.jit import kernel

#: An upper bound on a distance is raised by this. Rounding is below 1e-12 of it.
MARGIN = 1 + 1e-9


class Free(NamedTuple):
    """The free records in a `kd_tree.Tree`. The first left[leaf] places of a leaf are taken."""

    start: Ints  # first place of each node
    end: Ints
    child: Ints
    low: Floats  # (nodes, attributes) least value of the free records
    high: Floats
    parent: Ints
    left: Ints  # free records of each node
    outmost: Floats  # the largest reach in each node
    columns: Floats  # coordinates, as `kd_tree.leaf_distances` reads them
    ids: Ints  # the record at each place
    reach: Floats  # its squared distance from the centre
    leaf: Ints  # of each record; -1 if it is free no more
    centre: Floats
    total: Floats  # (2, attributes) sum of the free records, and what rounding left over


@kernel
def _fill(X, free):
    """All that follows from the tree and the order of the records."""
    free.parent[0] = -1
    for node in range(len(free.child)):
        s, e = free.start[node], free.end[node]
        free.left[node] = e - s
        if free.child[node] >= 0:
            free.parent[free.child[node] : free.child[node] + 2] = node
            continue
        fill_leaf(X, free.ids, s, e, free.columns)
        for record in free.ids[s:e]:
            free.leaf[record] = node
            for j in range(X.shape[1]):
                _add(free.total, j, X[record, j])


@kernel
def recentre(free):
    """Let the centre be the centroid of the free records again: upper bounds are tightest around it."""
    mean = centroid(free)
    for j in range(len(mean)):
        free.centre[j] = mean[j]
    for node in range(len(free.child) - 1, -1, -1):  # children come after their parents
        if free.left[node] == 0:
            continue
        if free.child[node] >= 0:
            a = free.child[node]
            free.outmost[node] = max(free.outmost[a], free.outmost[a + 1])
            continue
        s, m = free.start[node], free.left[node]
        _distances(free, node, free.centre, free.reach[s : s + m])
        _, free.outmost[node] = _span(free.reach, s, s + m)


@kernel
def _add(total, j, value):
    """Add to a sum without losing what rounding cuts off (two-sum)."""
    before = total[0, j]
    after = before + value
    added = after - before
    total[0, j] = after
    total[1, j] += (before - (after - added)) + (value - added)


@kernel
def centroid(free):
    """Mean of the free records, as exact as if all were summed anew in twice the precision.

    A loop, as elsewhere here: numba takes three seconds to compile the sum of two whole arrays.
    """
    mean = np.empty(len(free.centre))
    for j in range(len(mean)):
        mean[j] = (free.total[0, j] + free.total[1, j]) / free.left[0]
    return mean


@kernel
def lay_out(X, records):
    """A tree of these rows of X."""
    n, d = len(records), X.shape[1]
    order, start, end, child, low, high = build_tree(X[records])
    nodes = len(start)
    free = Free(
        start,
        end,
        child,
        low,
        high,
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.full(nodes, -np.inf),
        np.empty(n * d),
        records[order],
        np.empty(n),
        np.full(len(X), -1),
        np.empty(d),
        np.zeros((2, d)),
    )
    _fill(X, free)
    recentre(free)
    return free


@kernel
def _span(values, first, last):
    """The least and the greatest of values[first:last]."""
    least = most = values[first]
    for i in range(first + 1, last):
        least = min(least, values[i])
        most = max(most, values[i])
    return least, most


@kernel
def _distances(free, leaf, point, out):
    """Squared distances of a leaf's free records to the point."""
    start = free.start[leaf]
    leaf_distances(free.columns, start, free.end[leaf] - start, free.left[leaf], point, out)


@kernel
def search(free, point, but, ids, distance, slack):
    """Fill in the free records nearest to the point, without record `but`, and their squared distances.

    `distance` comes with what they must be below, all alike. Nearest first. Where fewer records are there,
    the rest is -1. With a slack above 1 a node is skipped unless a record could be nearer by that factor:
    nearly the nearest, in a fraction of the time.
    """
    ids[:] = -1
    last = len(ids) - 1
    waiting = np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH)
    here = np.empty(LEAF)
    waiting[0] = 0
    bounds[0] = 0.0
    depth = 1 if last >= 0 else 0
    while depth > 0:
        depth -= 1
        node = waiting[depth]
        if slack * bounds[depth] > distance[last] or free.left[node] == 0:
            continue
        if free.child[node] >= 0:
            near = free.child[node]
            far = near + 1
            least = box_to_box(point, point, free.low[near], free.high[near])
            other = box_to_box(point, point, free.low[far], free.high[far])
            if other < least:
                near, far = far, near
                least, other = other, least
            waiting[depth], waiting[depth + 1] = far, near
            bounds[depth], bounds[depth + 1] = other, least
            depth += 2
            continue
        _distances(free, node, point, here)
        worst = distance[last]
        for i in range(free.left[node]):
            square = here[i]
            if square > worst:
                continue
            record = free.ids[free.start[node] + i]
            if record == but or (square == worst and record > ids[last]):
                continue
            place = last
            while place > 0 and (
                distance[place - 1] > square or (distance[place - 1] == square and ids[place - 1] > record)
            ):
                distance[place] = distance[place - 1]
                ids[place] = ids[place - 1]
                place -= 1
            distance[place] = square
            ids[place] = record
            worst = distance[last]


@kernel
def nearest(free, point, count, but):
    """The `count` free records nearest to the point, and their squared distances, as `search` finds them."""
    ids = np.empty(count, np.int64)
    distance = np.full(count, np.inf)
    search(free, point, but, ids, distance, 1.0)
    return ids, distance


@kernel
def _most(free, node, away, square):
    """No record of the node is farther, in squared distance, from the point that is `away` from the centre.

    |x - p|^2 = |x|^2 + |p|^2 - 2 p.x, seen from the centre: the outermost record, and the box's worst corner.
    """
    inner = 0.0
    for j in range(len(away)):
        low = away[j] * (free.low[node, j] - free.centre[j])
        high = away[j] * (free.high[node, j] - free.centre[j])
        inner += min(low, high)
    return (free.outmost[node] + square) * MARGIN - 2.0 * inner


@kernel
def farthest(free, point):
    """The free record farthest from the point, and its squared distance."""
    away = np.empty(len(point))
    square = 0.0
    for j in range(len(point)):
        away[j] = point[j] - free.centre[j]
        square += away[j] * away[j]
    waiting = np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH)
    here = np.empty(LEAF)
    best = -1.0
    record = -1
    waiting[0] = 0
    bounds[0] = np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = waiting[depth]
        if bounds[depth] < best or free.left[node] == 0:
            continue
        if free.child[node] >= 0:
            near = free.child[node]
            far = near + 1
            most = _most(free, near, away, square)
            other = _most(free, far, away, square)
            if other > most:
                near, far = far, near
                most, other = other, most
            waiting[depth], waiting[depth + 1] = far, near
            bounds[depth], bounds[depth + 1] = other, most
            depth += 2
            continue
        _distances(free, node, point, here)
        for i in range(free.left[node]):
            if here[i] >= best:
                candidate = free.ids[free.start[node] + i]
                if here[i] > best or candidate < record:
                    best = here[i]
                    record = candidate
    return record, best


@kernel
def remove(free, records):
    """Take the records out: the last record of a leaf fills the gap, and boxes shrink up to the root."""
    d = free.low.shape[1]
    for record in records:
        leaf = free.leaf[record]
        free.leaf[record] = -1
        s = free.start[leaf]
        room = free.end[leaf] - s
        last = free.left[leaf] - 1
        gap = 0
        while free.ids[s + gap] != record:
            gap += 1
        free.ids[s + gap] = free.ids[s + last]
        free.reach[s + gap] = free.reach[s + last]
        for j in range(d):
            place = s * d + j * room
            _add(free.total, j, -free.columns[place + gap])
            free.columns[place + gap] = free.columns[place + last]
        node = leaf
        while node >= 0:
            free.left[node] -= 1
            node = free.parent[node]
        _shrink(free, leaf)


@kernel
def _shrink(free, leaf):
    """Renew box and outermost distance of a leaf, and of what is above it as far as they change."""
    d = free.low.shape[1]
    m = free.left[leaf]
    s = free.start[leaf]
    free.outmost[leaf] = -np.inf
    if m > 0:
        _, free.outmost[leaf] = _span(free.reach, s, s + m)
        for j in range(d):
            begin = s * d + j * (free.end[leaf] - s)
            free.low[leaf, j], free.high[leaf, j] = _span(free.columns, begin, begin + m)
    node = free.parent[leaf]
    while node >= 0 and free.left[node] > 0:
        a = free.child[node]
        b = a + 1
        if free.left[a] == 0:
            a = b
        if free.left[b] == 0:
            b = a
        outmost = max(free.outmost[a], free.outmost[b])
        changed = outmost < free.outmost[node]
        free.outmost[node] = outmost
        for j in range(d):
            low = min(free.low[a, j], free.low[b, j])
            high = max(free.high[a, j], free.high[b, j])
            changed |= low > free.low[node, j] or high < free.high[node, j]
            free.low[node, j] = low
            free.high[node, j] = high
        if not changed:
            break
        node = free.parent[node]


@kernel
def around(free, X, record, k):
    """Take out a record and the k-1 nearest to it, and say who they are."""
    group = np.empty(k, np.int64)
    group[0] = record
    search(free, X[record], record, group[1:], np.full(k - 1, np.inf), 1.0)
    remove(free, group)
    return group


@kernel
def gather(free, X, start, k):
    """Take out `start` and, one by one, the k-1 records nearest to the centroid of those taken so far."""
    taken = np.full(k, start)
    together = np.zeros(X.shape[1])
    mean = np.empty(X.shape[1])
    for t in range(k):
        if t > 0:
            for j in range(len(mean)):
                mean[j] = together[j] / t
            search(free, mean, -1, taken[t : t + 1], np.full(1, np.inf), 1.0)
        for j in range(len(mean)):
            together[j] += X[taken[t], j]
        remove(free, taken[t : t + 1])
    return taken


@kernel
def peel(free, X, k, least, pairs, until, labels, groups):
    """Groups around the record farthest from the centroid; if `pairs`, around the one farthest from it too.

    Goes on while `least` or more records are free, until `until` or fewer are. Returns the number of groups.
    """
    while free.left[0] >= least and free.left[0] > until:
        r, _ = farthest(free, centroid(free))
        s = farthest(free, X[r])[0] if pairs else r
        for start in (r, s):
            if free.leaf[start] >= 0:
                for record in around(free, X, start, k):
                    labels[record] = groups
                groups += 1
    return groups
