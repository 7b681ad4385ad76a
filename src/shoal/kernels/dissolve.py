"""Passes over a partition that move records to other groups where that lowers the SSE.

Groups are kept as centroid, size and SSE, all brought up to date with each record that comes or goes;
an increase b/(b+1) |x - c|^2 is exact and needs no difference of large numbers.
"""

import numpy as np

from shoal.kernels._jit import kernel

#: A change must be at least this part of what it replaces, so that rounding never decides.
MARGIN = 1 - 1e-12


@kernel
def _groups(X, labels):
    """Centroids (attributes x groups), sizes and SSEs."""
    n, d = X.shape
    count = labels.max() + 1
    centre = np.zeros((d, count))
    size = np.zeros(count, np.int64)
    sse = np.zeros(count)
    for i in range(n):
        sse[labels[i]] += _enter(X[i], labels[i], centre, size)
    return centre, size, sse


@kernel
def _enter(x, g, centre, size):
    """Put x into group g; by how much the group's SSE grows."""
    grown = 0.0
    size[g] += 1
    for j in range(len(x)):
        difference = x[j] - centre[j, g]
        centre[j, g] += difference / size[g]
        grown += difference * (x[j] - centre[j, g])
    return grown


@kernel
def _distances(x, centre, out):
    """Squared distances of x to all centroids."""
    out[:] = 0.0
    for j in range(len(x)):
        for g in range(len(out)):
            difference = centre[j, g] - x[j]
            out[g] += difference * difference


@kernel
def dissolve(X, labels, order, limit):
    """Visit each group once, in the order given; dissolve it if the SSE falls when its members leave.

    Each member goes to the nearest other group that has fewer than `limit` records, by the centroids
    as they stood before this group was touched. New labels; those of dissolved groups occur no more.
    """
    n, d = X.shape
    labels = labels.copy()
    centre, size, sse = _groups(X, labels)
    count = len(size)
    head = np.full(count, -1)
    after = np.full(n, -1)
    for i in range(n - 1, -1, -1):
        after[i] = head[labels[i]]
        head[labels[i]] = i
    distance = np.empty(count)
    coming = np.zeros(count, np.int64)
    member = np.empty(n, np.int64)
    target = np.empty(n, np.int64)
    growth = np.empty(n)
    before = np.empty((n, d))
    for a in order:
        many = 0
        i = head[a]
        while i >= 0:
            _distances(X[i], centre, distance)
            best = -1
            for g in range(count):
                if (best < 0 or distance[g] < distance[best]) and g != a:
                    if 0 < size[g] and size[g] + coming[g] < limit:
                        best = g
            if best < 0:
                break
            member[many] = i
            target[many] = best
            before[many] = centre[:, best]
            coming[best] += 1
            many += 1
            i = after[i]
        for t in range(many):
            coming[target[t]] = 0
        if i >= 0:  # no group can take this record
            continue
        for t in range(many):
            growth[t] = _enter(X[member[t]], target[t], centre, size)
        if growth[:many].sum() < sse[a] * MARGIN:
            size[a] = 0
            head[a] = -1
            for t in range(many):
                g = target[t]
                sse[g] += growth[t]
                labels[member[t]] = g
                after[member[t]] = head[g]
                head[g] = member[t]
        else:
            for t in range(many):
                size[target[t]] -= 1
                centre[:, target[t]] = before[t]
    return labels


@kernel
def shrink(X, labels, k):
    """From each group above k, move out the record whose move lowers the SSE most, until none does.

    It goes where it adds least. Groups are visited once, in the order of their labels.
    """
    labels = labels.copy()
    centre, size, _ = _groups(X, labels)
    distance = np.empty(len(size))
    for a in range(len(size)):
        while size[a] > k:
            best = 0.0
            leaver = -1
            goal = -1
            for i in np.flatnonzero(labels == a):
                _distances(X[i], centre, distance)
                gain = distance[a] * size[a] / (size[a] - 1) * MARGIN
                for g in range(len(size)):
                    change = distance[g] * size[g] / (size[g] + 1) - gain
                    if change < best and g != a and size[g] > 0:
                        best = change
                        leaver = i
                        goal = g
            if leaver < 0:
                break
            size[a] -= 1
            for j in range(X.shape[1]):
                centre[j, a] += (centre[j, a] - X[leaver, j]) / size[a]
            _enter(X[leaver], goal, centre, size)
            labels[leaver] = goal
    return labels
