"""k-Ward: Ward's hierarchical clustering, stopped where every group has k records."""

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.algorithms._split import divide
from shoal.algorithms.fixed_size import farthest_pairs
from shoal.arrays import Floats, Ints
from shoal.grouping.registry import method
from shoal.kernels.neighbours.distance import between
from shoal.kernels.runtime.jit import kernel


@kernel
def _nearest(mean, size, alive, i):
    """The group whose union with group i adds least SSE (the first of equals), and that SSE."""
    best = np.inf
    nearest = -1
    for j in alive:
        if j == i or size[j] == 0:
            continue
        cost = between(mean, i, j) * (size[i] * size[j] / (size[i] + size[j]))
        if cost < best:
            best = cost
            nearest = j
    return nearest, best


@kernel
def _merge(X, k, labels):
    """Unite the two groups that add least SSE, never two of k or more, until no group is short of k.

    The labels come in as each group's first record. Each short group remembers its nearest group. Uniting
    others can only take it farther away (Ward's cost is reducible), so it is sought anew only when the
    remembered one is gone or changed, and only at the head of all.
    """
    n, d = X.shape
    size = np.zeros(n, np.int64)
    mean = np.zeros((n, d))
    for i in range(n):
        size[labels[i]] += 1
        mean[labels[i]] += (X[i] - mean[labels[i]]) / size[labels[i]]
    joined = np.arange(n)  # the group that swallowed this one
    changes = np.zeros(n, np.int64)
    near = np.zeros(n, np.int64)
    seen = np.zeros(n, np.int64)  # changes of the near group when it was found
    cost = np.full(n, np.inf)
    alive = np.flatnonzero(size > 0)
    gone = 0
    for i in alive:
        if size[i] < k:
            near[i], cost[i] = _nearest(mean, size, alive, i)
    while True:
        i = alive[0]
        for j in alive:
            if cost[j] < cost[i]:
                i = j
        if cost[i] == np.inf:
            break
        j = near[i]
        if size[j] == 0 or changes[j] != seen[i]:
            near[i], cost[i] = _nearest(mean, size, alive, i)
            seen[i] = changes[near[i]]
            continue
        a, b = min(i, j), max(i, j)
        total = size[a] + size[b]
        mean[a] += (mean[b] - mean[a]) * (size[b] / total)
        size[a] = total
        size[b] = 0
        cost[a] = cost[b] = np.inf
        changes[a] += 1
        joined[b] = a
        gone += 1
        if 2 * gone > len(alive):
            alive = alive[size[alive] > 0]
            gone = 0
        if size[a] < k:
            near[a], cost[a] = _nearest(mean, size, alive, a)
            seen[a] = changes[near[a]]
    for i in range(n):  # the lower number survives, so it is final when we come to the higher
        joined[i] = joined[joined[i]]
        labels[i] = joined[labels[i]]


def _one_level(X: Floats, k: int) -> Ints:
    """The two records farthest apart, each with its k-1 nearest; all others alone; then unite."""
    pool = Pool(X)
    a, b = next(farthest_pairs(pool))
    if a == b:  # all records are equal: any other will do
        b = a + 1
    labels = np.arange(len(X))
    around_a = pool.nearest(a, k)
    group = np.append(around_a[around_a != b][: k - 1], a)
    labels[group] = group.min()
    pool.take(group)
    group = np.append(pool.nearest(b, k - 1), b)
    labels[group] = group.min()
    _merge(X, k, labels)
    return labels


@method(title="k-Ward", paper="Domingo-Ferrer and Mateo-Sanz 2002", sizes="k..2k-1", cost="n^2 (up to n^3)")
def k_ward(X, k):
    """Start from the two farthest records with their nearest; unite groups at least cost until all have k.

    Groups of 2k or more are treated likewise on their own records. Recalled, not read: the paper is not at
    hand. Ours: the first extreme's group leaves the other extreme out.
    """
    return divide(X, k, _one_level)
