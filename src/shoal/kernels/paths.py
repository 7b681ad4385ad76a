"""Paths through records: nearest neighbours, nearest point next, and groups visited one after another.

Distances from one record to many are summed attribute by attribute over a transposed table: the compiler
turns that into vector instructions without reordering any sum. Ties go to the lowest row throughout.
"""

import numpy as np

from shoal.kernels._jit import kernel

WALK, NEAREST, CHEAPEST = 0, 1, 2  # how `group_path` goes through one group


@kernel
def squared_distances(T, point, first, last, out):
    """out[i] = squared distance of `point` to column i of T (d x n), for i in first..last-1."""
    out[first:last] = 0.0
    for j in range(T.shape[0]):
        row, value = T[j], point[j]
        for i in range(first, last):
            difference = row[i] - value
            out[i] += difference * difference


@kernel
def farthest_from_centroid(X):
    """The record farthest from the centroid of all."""
    n, d = X.shape
    centre = np.zeros(d)
    for i in range(n):
        for j in range(d):
            centre[j] += (X[i, j] - X[0, j]) / n
    best, chosen = -1.0, 0
    for i in range(n):
        total = 0.0
        for j in range(d):
            difference = X[i, j] - X[0, j] - centre[j]
            total += difference * difference
        if total > best:
            best, chosen = total, i
    return chosen


@kernel
def nearest_neighbours(X, m):
    """The m nearest other records of each record, nearest first (n x m)."""
    n = len(X)
    T = np.ascontiguousarray(X.T)
    near = np.empty((n, m), np.int64)
    distance = np.empty(n)
    kept = np.empty(m)
    for i in range(n):
        squared_distances(T, X[i], 0, n, distance)
        count = 0
        for other in range(n):
            value = distance[other]
            if other == i or (count == m and value >= kept[m - 1]):
                continue
            if count < m:
                count += 1
            place = count - 1
            while place > 0 and kept[place - 1] > value:
                kept[place] = kept[place - 1]
                near[i, place] = near[i, place - 1]
                place -= 1
            kept[place] = value
            near[i, place] = other
    return near


@kernel
def nearest_point_next(X, start):
    """From `start` always on to the nearest record not yet visited."""
    n, d = X.shape
    T = np.ascontiguousarray(X.T)  # columns of the unvisited records stand at 0..left-1
    record = np.arange(n)
    path = np.empty(n, np.int64)
    distance = np.empty(n)
    here = start
    for left in range(n - 1, -1, -1):
        path[n - 1 - left] = record[here]
        point = T[:, here].copy()
        for j in range(d):
            T[j, here] = T[j, left]
        record[here] = record[left]
        squared_distances(T, point, 0, left, distance)
        here = 0
        for i in range(1, left):
            if distance[i] < distance[here] or (distance[i] == distance[here] and record[i] < record[here]):
                here = i
    return path


@kernel
def _members(labels):
    """The records sorted by label, and where each label's records begin."""
    groups = labels.max() + 1
    begin = np.zeros(groups + 1, np.int64)
    for label in labels:
        begin[label + 1] += 1
    for g in range(groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    members = np.empty(len(labels), np.int64)
    for i in range(len(labels)):
        members[place[labels[i]]] = i
        place[labels[i]] += 1
    return members, begin


@kernel
def _swap(T, record, a, b):
    record[a], record[b] = record[b], record[a]
    for j in range(len(T)):
        T[j, a], T[j, b] = T[j, b], T[j, a]


@kernel
def _walk(T, record):
    """Nearest point next from column 0; columns are reordered in place."""
    s = len(record)
    distance = np.empty(s)
    for here in range(s - 1):
        squared_distances(T, T[:, here].copy(), here + 1, s, distance)
        best = here + 1
        for i in range(here + 2, s):
            if distance[i] < distance[best] or (distance[i] == distance[best] and record[i] < record[best]):
                best = i
        _swap(T, record, here + 1, best)


@kernel
def _roots(T, i, s, out):
    squared_distances(T, T[:, i].copy(), 0, s, out)
    for q in range(s):
        out[q] = np.sqrt(out[q])


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

    Columns 0..seen-1 are in the path, in order of arrival; `after` links them. `worth` is what the next
    record is chosen by: its distance to the nearest member of the path (NEAREST), or the length that its
    best place adds to the path (CHEAPEST, where `place` is that edge). Returns the columns in path order.
    """
    s = len(record)
    distance = np.empty(s)
    after = np.full(s, -1)
    length = np.zeros(s)
    place = np.zeros(s, np.int64)
    _roots(T, 0, s, distance)
    far = 1
    for i in range(2, s):
        if distance[i] > distance[far] or (distance[i] == distance[far] and record[i] < record[far]):
            far = i
    _swap(T, record, 1, far)
    distance[1], distance[far] = distance[far], distance[1]
    after[0] = 1
    length[0] = distance[1]
    worth = distance.copy()
    _roots(T, 1, s, distance)
    for i in range(2, s):
        if rule == NEAREST:
            worth[i] = min(worth[i], distance[i])
        else:
            worth[i] = worth[i] + distance[i] - length[0]
    other = np.empty(s)
    for seen in range(2, s):
        t = seen
        for i in range(seen + 1, s):
            if worth[i] < worth[t] or (worth[i] == worth[t] and record[i] < record[t]):
                t = i
        _swap(T, record, seen, t)
        worth[t] = worth[seen]
        edge = place[t]
        place[t] = place[seen]
        t = seen
        _roots(T, t, s, distance)
        if rule == NEAREST:
            edge = _cheapest_edge(distance, after, length, seen)[1]
        left, right = edge, after[edge]
        after[left], after[t] = t, right
        length[left], length[t] = distance[left], distance[right]
        for i in range(seen + 1, s):
            if rule == NEAREST:
                worth[i] = min(worth[i], distance[i])
            elif place[i] == edge:
                _roots(T, i, seen + 1, other)
                worth[i], place[i] = _cheapest_edge(other, after, length, seen + 1)
            else:
                to_left, to_right = 0.0, 0.0
                for j in range(len(T)):
                    to_left += (T[j, i] - T[j, left]) ** 2
                    to_right += (T[j, i] - T[j, right]) ** 2
                first = np.sqrt(to_left) + distance[i] - length[left]
                second = distance[i] + np.sqrt(to_right) - length[t]
                if first < worth[i] or (first == worth[i] and left < place[i]):
                    worth[i], place[i] = first, left
                if second < worth[i]:
                    worth[i], place[i] = second, t
    path = np.empty(s, np.int64)
    here = 0
    for i in range(s):
        path[i] = record[here]
        here = after[here]
    return path


@kernel
def group_path(X, labels, near, start, rule):
    """Visit all records group by group (labels 0..g-1), beginning with `start` and its group.

    After a group is done, the nearest record not yet visited, of those in any other group, is next. `near`
    holds each record's nearest neighbours (any number of them, nearest first): only where all of these
    are visited are the others searched.
    """
    n, d = X.shape
    members, begin = _members(labels)
    path = np.empty(n, np.int64)
    visited = np.zeros(n, np.bool_)
    waiting = np.arange(n)
    many = n
    done = 0
    here = start
    while True:
        g = labels[here]
        record = members[begin[g] : begin[g + 1]].copy()
        s = len(record)
        for i in range(s):
            if record[i] == here:
                record[i] = record[0]
                record[0] = here
        T = np.empty((d, s))
        for i in range(s):
            visited[record[i]] = True
            for j in range(d):
                T[j, i] = X[record[i], j]
        if s == 1:
            path[done] = here
        elif rule == WALK:
            _walk(T, record)
            path[done : done + s] = record
        else:
            path[done : done + s] = _insertion(T, record, rule)
        done += s
        if done == n:
            return path
        last = path[done - 1]
        here = -1
        for other in near[last]:
            if not visited[other]:
                here = other
                break
        if here < 0:
            best = np.inf
            left = 0
            for i in range(many):
                other = waiting[i]
                if visited[other]:
                    continue
                waiting[left] = other
                left += 1
                total = 0.0
                for j in range(d):
                    difference = X[other, j] - X[last, j]
                    total += difference * difference
                    if total >= best:
                        break
                if total < best:
                    best, here = total, other
            many = left
