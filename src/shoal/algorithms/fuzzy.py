"""Microaggregation by fuzzy c-means, with fewer and fuzzier clusters until none is short."""

from functools import partial

import numpy as np

from shoal.algorithms._split import divide
from shoal.algorithms.mdav import mdav
from shoal.grouping.registry import method
from shoal.kernels.neighbours.distance import to_columns
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import map_threads

FIRST_M = 1.1  # the exponent of the first attempt: nearly crisp
STEP_M = 0.1  # what each further attempt adds
ITERATIONS = 30  # of fuzzy c-means, at most: a cluster that is not at rest by then will do
FAINT = 1e-9  # memberships below that share of the largest are left out


#: Records whose shares one thread sums up: the sums do not depend on the number of threads.
CHUNK = 2500


@kernel
def _share_out(X, centres, power, faint, labels, first):
    """Records from `first` on to their clusters: weighted sums, weights, and whether a label changed.

    Membership in g is (least / distance[g])^power, scaled so that all sum to one. To the power m, with
    power = 1/(m-1), it is itself times least / distance[g].
    """
    d, c = centres.shape
    sums = np.zeros((c, d))
    weights = np.zeros(c)
    distance = np.empty(c)
    share = np.empty(c)
    near = np.empty(c, np.int64)
    changed = False
    for i in range(first, min(first + CHUNK, len(X))):
        to_columns(centres, X[i], 0, c, distance)
        best = np.argmin(distance)
        changed = changed or best != labels[i]
        labels[i] = best
        least = distance[best]
        total = 0.0
        many = 0
        for g in range(c):
            if distance[g] == least or least > faint * distance[g]:
                ratio = 1.0 if distance[g] == least else least / distance[g]
                part = np.exp(power * np.log(ratio))
                total += part
                share[many], near[many] = part * ratio, g
                many += 1
        scale = total ** -(1.0 + 1.0 / power)
        for t in range(many):
            g = near[t]
            weight = share[t] * scale
            weights[g] += weight
            for j in range(d):
                sums[g, j] += weight * X[i, j]
    return sums, weights, changed


def fuzzy_c_means(X, seeds, m):
    """Fuzzy c-means from the records `seeds` as first centres; each record's cluster of largest membership.

    Ends when no record's cluster changes any more, or after ITERATIONS.
    """
    centres = X[seeds].T.copy()
    labels = np.full(len(X), -1)
    power, faint = 1.0 / (m - 1.0), FAINT ** (m - 1.0)
    for _ in range(ITERATIONS):
        share_out = partial(_share_out, X, centres, power, faint, labels)
        parts = map_threads(share_out, range(0, len(X), CHUNK))
        if not any(changed for _, _, changed in parts):
            break
        sums, weights = (sum(part) for part in list(zip(*parts))[:2])
        heavy = weights > 0.0
        centres = np.where(heavy, sums.T / np.where(heavy, weights, 1.0), centres)
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
