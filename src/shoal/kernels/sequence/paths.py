"""Paths through records: groups visited one after another, each from its nearest point on.

Distances from one record to many are taken over a transposed table. Ties go to the lowest row throughout.
"""

import numpy as np

from shoal.kernels.neighbours.distance import all_squares, to_columns
from shoal.kernels.neighbours.pool import lay_out, nearest, remove
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence.growing import nearest_insertion, walk

WALK, NEAREST, CHEAPEST = 0, 1, 2  # how `group_path` goes through one group
#: Records of a group from which the tree is faster. The outcome is the same.
LARGE = 2000


def farthest_from_centroid(X):
    """The record farthest from the centroid of all."""
    apart = X - X[0]
    return int(np.argmax(all_squares(apart, (apart / len(X)).sum(0)[None])))


@kernel
def _swap(T, record, a, b):
    record[a], record[b] = record[b], record[a]
    for j in range(len(T)):
        T[j, a], T[j, b] = T[j, b], T[j, a]


@kernel
def _lowest(worth, record, first):
    best = first
    for i in range(first + 1, len(record)):
        if worth[i] < worth[best] or (worth[i] == worth[best] and record[i] < record[best]):
            best = i
    return best


@kernel
def _distances(T, column, first, last, out):
    """Distances of that column to columns first..last-1."""
    point = np.empty(len(T))
    for j in range(len(T)):
        point[j] = T[j, column]
    to_columns(T, point, first, last, out)
    for i in range(first, last):
        out[i] = np.sqrt(out[i])


@kernel
def _walk(T, record):
    """Nearest point next from column 0: reorders `record` (and the columns) in place."""
    distance = np.empty(len(record))
    for here in range(len(record) - 1):
        left = len(record) - here - 1  # counted from 0, so that the compiler takes several columns at once
        to_columns(T[:, here + 1 :], T[:, here], 0, left, distance[here + 1 :])
        _swap(T, record, here + 1, _lowest(distance, record, here + 1))


@kernel
def _cheapest_edge(distance, after, length, seen):
    """The edge whose detour over a record is shortest, given the record's distances to the path.

    An edge is named by its left end. Of equal edges the one whose left end came into the path first.
    """
    best, edge = np.inf, 0
    for q in range(seen):
        if after[q] >= 0:
            cost = distance[q] + distance[after[q]] - length[q]
            if cost < best:
                best, edge = cost, q
    return best, edge


@kernel
def _insertion(T, record, rule):
    """A path from column 0 to the record farthest from it, into which all others are inserted.

    Reorders `record` in place. Columns 0..seen-1 are in the path, in order of arrival; `after` links them.
    `worth` is what the next record is chosen by: its distance to the nearest member of the path
    (NEAREST), or the length that its best place adds to the path (CHEAPEST). `place` is that edge; where
    the edge is gone, -1, and worth only a bound from below, made good when the record would be next.
    """
    s = len(record)
    distance, to_left, to_right = np.empty(s), np.empty(s), np.empty(s)
    after = np.full(s, -1)
    length = np.zeros(s)
    place = np.zeros(s, np.int64)
    worth = np.empty(s)
    _distances(T, 0, 1, s, distance)
    for i in range(1, s):
        worth[i] = -distance[i]
    for seen in range(1, s):
        t = _lowest(worth, record, seen)
        while place[t] < 0:
            _distances(T, t, 0, seen, distance)
            worth[t], place[t] = _cheapest_edge(distance, after, length, seen)
            t = _lowest(worth, record, seen)
        _swap(T, record, seen, t)
        left = place[t]
        worth[t], place[t] = worth[seen], place[seen]
        t = seen
        _distances(T, t, 0, s, distance)
        if rule == NEAREST and seen > 1:
            left = _cheapest_edge(distance, after, length, seen)[1]
        right = after[left]
        after[left], length[left] = t, distance[left]
        if seen == 1:  # the first edge: from column 0 to the farthest record
            _distances(T, 0, 0, s, to_left)
            for i in range(2, s):
                worth[i] = min(to_left[i], distance[i])
                if rule == CHEAPEST:
                    worth[i] = to_left[i] + distance[i] - length[0]
            continue
        after[t], length[t] = right, distance[right]
        if rule == NEAREST:
            for i in range(seen + 1, s):
                worth[i] = min(worth[i], distance[i])
            continue
        _distances(T, left, seen + 1, s, to_left)
        _distances(T, right, seen + 1, s, to_right)
        for i in range(seen + 1, s):
            if place[i] == left:
                place[i] = -1
            first = to_left[i] + distance[i] - length[left]
            second = distance[i] + to_right[i] - length[t]
            if first < worth[i] or (first == worth[i] and left < place[i]):
                worth[i], place[i] = first, left
            if second < worth[i]:
                worth[i], place[i] = second, t
    joined = record.copy()
    here = 0
    for i in range(s):
        record[i] = joined[here]
        here = after[here]


@kernel
def _inside(near, record):
    """Of each record of a group its neighbours in it, by their places there; then -1."""
    place = np.full(len(near), -1)
    place[record] = np.arange(len(record))
    inside = np.full((len(record), near.shape[1]), -1)
    for i in range(len(record)):
        count = 0
        for other in near[record[i]]:
            if place[other] >= 0:
                inside[i, count] = place[other]
                count += 1
    return inside


@kernel
def _through(X, record, near, here, rule, large):
    """The records of one group (rows in order) as a path from `here` on."""
    if len(record) >= large and rule != CHEAPEST:
        first = np.searchsorted(record, here)
        if rule == WALK:
            return record[walk(X[record], first)]
        return record[nearest_insertion(X[record], first, _inside(near, record))]
    record[np.searchsorted(record, here)] = record[0]
    record[0] = here
    T = X[record].T.copy()
    if rule == WALK:
        _walk(T, record)
    else:
        _insertion(T, record, rule)
    return record


@kernel
def group_path(X, labels, near, start, rule, large):
    """Visit all records group by group (labels 0..g-1), beginning with `start` and its group.

    After a group is done, the nearest record not yet visited, of those in any other group, is next. `near`
    holds each record's nearest neighbours (any number of them, nearest first): only where all of these
    are visited is the tree of the others searched.
    """
    n = len(X)
    begin = np.zeros(labels.max() + 2, np.int64)  # where each group's members begin
    for label in labels:
        begin[label + 1] += 1
    begin = np.cumsum(begin)
    members, place = np.empty(n, np.int64), begin.copy()
    for i in range(n):
        members[place[labels[i]]] = i
        place[labels[i]] += 1
    path = np.empty(n, np.int64)
    visited = np.zeros(n, np.bool_)
    free = lay_out(X, path[:1] * 0)  # made anew when it is first needed
    gone = 0  # so many records of the path are not in `free`
    done = 0
    here = start
    while True:
        g = labels[here]
        for record in _through(X, members[begin[g] : begin[g + 1]].copy(), near, here, rule, large):
            visited[record] = True
            path[done] = record
            done += 1
        if done == n:
            return path
        last = path[done - 1]
        here = -1
        for other in near[last]:
            if not visited[other]:
                here = other
                break
        if here < 0:
            if gone == 0:
                free = lay_out(X, np.flatnonzero(~visited))
            else:
                remove(free, path[gone:done])
            gone = done
            here = nearest(free, X[last], 1, -1)[0][0]
