"""Microaggregation by fuzzy c-means, with fewer and fuzzier clusters until none is short."""

import numpy as np

from shoal.algorithms._split import divide
from shoal.algorithms.mdav import mdav
from shoal.grouping.registry import method
from shoal.kernels.neighbours.distance import to_columns
from shoal.kernels.runtime.jit import kernel

FIRST_M = 1.1  # the exponent of the first attempt: nearly crisp
STEP_M = 0.1  # what each further attempt adds
ITERATIONS = 30  # of fuzzy c-means, at most: a cluster that is not at rest by then will do
FAINT = 1e-9  # memberships below that share of the largest are left out


@kernel
def fuzzy_c_means(X, seeds, m):
    """Fuzzy c-means from the records `seeds` as first centres; each record's cluster of largest membership.

    Ends when no record's cluster changes any more, or after ITERATIONS.
    """
    n, d = X.shape
    c = len(seeds)
    centres = X[seeds].T.copy()
    labels = np.full(n, -1)
    distance = np.empty(c)
    share = np.empty(c)
    power = 1.0 / (m - 1.0)
    faint = FAINT ** (m - 1.0)
    for _ in range(ITERATIONS):
        sums = np.zeros((c, d))
        weights = np.zeros(c)
        changed = False
        for i in range(n):
            to_columns(centres, X[i], 0, c, distance)
            best = np.argmin(distance)
            changed = changed or best != labels[i]
            labels[i] = best
            # Membership in g is (least / distance[g])^(1/(m-1)), scaled so that all sum to one.
            least = distance[best]
            total = 0.0
            for g in range(c):
                if distance[g] == least:
                    share[g] = 1.0
                elif least > faint * distance[g]:
                    share[g] = (least / distance[g]) ** power
                else:
                    share[g] = 0.0
                total += share[g]
            for g in range(c):
                if share[g] > 0.0:
                    weight = (share[g] / total) ** m
                    weights[g] += weight
                    for j in range(d):
                        sums[g, j] += weight * X[i, j]
        if not changed:
            break
        for g in range(c):
            if weights[g] > 0.0:
                for j in range(d):
                    centres[j, g] = sums[g, j] / weights[g]
    return labels


def _clusters(X, k, rng):
    """Labels of two or more clusters of at least k records each; MDAV's groups where even two fail."""
    c, m = len(X) // k, FIRST_M
    while c >= 2:
        seeds = np.sort(rng.choice(len(X), c, replace=False))
        labels = np.unique(fuzzy_c_means(X, seeds, m), return_inverse=True)[1]
        sizes = np.bincount(labels)
        if len(sizes) > 1 and sizes.min() >= k:
            return labels
        c, m = c // 2, m + STEP_M
    return mdav(X, k)


@method(title="Fuzzy c-means", paper="Domingo-Ferrer and Torra 2003", sizes="k..2k-1", cost="n^2/k")
def fuzzy(X, k, *, rng):
    """Run fuzzy c-means, put each record where its membership is largest; fewer clusters until none is short.

    Begins with n/k clusters and m = 1.1; while a cluster has fewer than k records, c is halved and m
    raised by 0.1. Clusters of 2k or more are divided in the same way. The steps, the first centres (records
    drawn at random) and the end are ours: where even two clusters fail, MDAV divides the part.
    """
    return divide(X, k, lambda part, k: _clusters(part, k, rng))
