"""Passes over a partition that move records to other groups where that lowers the SSE.

Each group has a centroid, a size and an SSE, which follow every record that comes or goes. An increase
b/(b+1) |x - c|^2 is exact and needs no difference of large numbers.
"""

import numpy as np

from shoal.kernels.neighbours.distance import to_columns
from shoal.kernels.runtime.jit import kernel

#: A change must be at least this part of what it replaces, so that rounding never decides.
MARGIN = 1 - 1e-12


@kernel
def _groups(X, labels):
    """Centroids (attributes x groups), sizes and SSEs."""
    n, d = X.shape
    count = 0
    for label in labels:
        count = max(count, label + 1)
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
def dissolve(X, labels, order, limit):
    """Visit each group once, in the order given; dissolve it if the SSE falls when its members leave.

    Each member, in row order, goes to the nearest other group that has fewer than `limit` records, by the
    centroids as they stood before this group was touched. New labels; those of dissolved groups occur
    no more.
    """
    labels = labels.copy()
    centre, size, sse = _groups(X, labels)
    distance = np.empty(len(size))
    coming = np.zeros(len(size), np.int64)
    for a in order:
        members = np.flatnonzero(labels == a)
        target = np.full(len(members), -1)
        for t in range(len(members)):
            to_columns(centre, X[members[t]], 0, len(size), distance)
            for g in range(len(size)):
                nearer = target[t] < 0 or distance[g] < distance[target[t]]
                if nearer and g != a and size[g] > 0 and size[g] + coming[g] < limit:
                    target[t] = g
            if target[t] < 0:
                break
            coming[target[t]] += 1
        coming[:] = 0
        if target[-1] < 0:  # no group has room
            continue
        before = centre[:, target]
        growth = np.empty(len(members))
        total = 0.0
        for t in range(len(members)):
            growth[t] = _enter(X[members[t]], target[t], centre, size)
            total += growth[t]
        if total < sse[a] * MARGIN:
            size[a] = 0
            for t in range(len(members)):
                labels[members[t]] = target[t]
                sse[target[t]] += growth[t]
        else:
            for t in range(len(members)):
                size[target[t]] -= 1
                for j in range(X.shape[1]):
                    centre[j, target[t]] = before[j, t]
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
                to_columns(centre, X[i], 0, len(size), distance)
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
