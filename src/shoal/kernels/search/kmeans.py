"""Lloyd's k-means from a k-means++ start."""

import numpy as np

from shoal.kernels.neighbours.distance import to_columns
from shoal.kernels.runtime.jit import kernel

#: Rounds at most. Most clusterings come to rest sooner, and a start need not be at rest.
ROUNDS = 100


@kernel
def _spread(X, uniform):
    """k-means++: each next centre a record, drawn by its squared distance to the centres so far."""
    n, d = X.shape
    T = X.T.copy()
    centres = np.empty((d, len(uniform)))
    nearest = np.full(n, np.inf)
    distance = np.empty(n)
    chosen = min(int(uniform[0] * n), n - 1)
    for c in range(len(uniform)):
        if c > 0:
            total = nearest.sum()
            chosen = min(int(uniform[c] * n), n - 1)  # stands if all records lie on centres
            mark = uniform[c] * total
            for i in range(n):
                if nearest[i] > 0.0:
                    chosen = i
                    mark -= nearest[i]
                    if mark < 0.0:
                        break
        centres[:, c] = X[chosen]
        to_columns(T, X[chosen], 0, n, distance)
        for i in range(n):
            nearest[i] = min(nearest[i], distance[i])
    return centres


@kernel
def kmeans(X, uniform):
    """Labels of a k-means clustering into len(uniform) clusters; `uniform` are the draws in [0, 1).

    Ends when no record changes its cluster, or after ROUNDS rounds. Some labels may stay unused.
    """
    n, d = X.shape
    c = len(uniform)
    centres = _spread(X, uniform)
    labels = np.full(n, -1)
    distance = np.empty(c)
    for _ in range(ROUNDS):
        sums = np.zeros((c, d))
        sizes = np.zeros(c)
        changed = False
        for i in range(n):
            to_columns(centres, X[i], 0, c, distance)
            best = 0
            for g in range(1, c):
                if distance[g] < distance[best]:
                    best = g
            if best != labels[i]:
                labels[i] = best
                changed = True
            sizes[best] += 1
            for j in range(d):
                sums[best, j] += X[i, j]
        if not changed:
            break
        for g in range(c):
            if sizes[g] > 0:
                for j in range(d):
                    centres[j, g] = sums[g, j] / sizes[g]
    return labels
