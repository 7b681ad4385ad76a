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
def _raise(ratio, many, power, base, part):
    """part = ratio^power for the first `many` ratios in (0, 1].

    Where two or three times the power is a whole number, as for m = 1.1 to 1.5, by products of a square or
    cube root: several numbers go side by side, in a third of the time that exp and log take one by one.
    """
    times = 2 if abs(2.0 * power - round(2.0 * power)) < 1e-9 else 3
    left = round(times * power)
    if abs(times * power - left) >= 1e-9:
        for t in range(many):
            part[t] = np.exp(power * np.log(ratio[t]))
        return
    for t in range(many):
        base[t] = np.sqrt(ratio[t])
        part[t] = 1.0
    if times == 3:
        for t in range(many):
            base[t] = 0.8 * np.sqrt(base[t])
        for _ in range(5):  # Halley's: each time the digits that are right are three times as many
            for t in range(many):
                cube = base[t] * base[t] * base[t]
                base[t] *= np.divide(cube + 2.0 * ratio[t], 2.0 * cube + ratio[t])  # / would look for zeros
    while left > 0:
        if left % 2:
            for t in range(many):
                part[t] *= base[t]
        left //= 2
        for t in range(many):
            base[t] *= base[t]


@kernel
def _share_out(X, centres, power, faint, labels, first):
    """Records from `first` on to their clusters: weighted sums, weights, and whether a label changed.

    Membership in g is (least / distance[g])^power, scaled so that all sum to one. To the power m, with
    power = 1/(m-1), it is itself times least / distance[g].
    """
    d, c = centres.shape
    sums = np.zeros((d, c))
    weights = np.zeros(c)
    distance, part, base = np.empty(c), np.empty(c), np.empty(c)
    ratio, near = np.empty(c + 1), np.empty(c + 1, np.int64)
    changed = False
    for i in range(first, min(first + CHUNK, len(X))):
        to_columns(centres, X[i], 0, c, distance)
        best = np.argmin(distance)
        changed = changed or best != labels[i]
        labels[i] = best
        least = distance[best]
        many = 0
        one = 1.0 if least == 0.0 else 0.0  # then only clusters that lie on the record count, all alike
        for g in range(c):
            near[many], ratio[many] = g, np.divide(least + one, distance[g] + one)
            many += (distance[g] == least) | (least > faint * distance[g])
        _raise(ratio, many, power, base, part)
        total = 0.0
        for t in range(many):
            total += part[t]
        scale = total ** -(1.0 + 1.0 / power)
        for t in range(many):
            part[t] = part[t] * ratio[t] * scale
            weights[near[t]] += part[t]
        if 3 * many < c:
            for j in range(d):
                for t in range(many):
                    sums[j, near[t]] += part[t] * X[i, j]
            continue
        for g in range(c):
            base[g] = 0.0
        for t in range(many):
            base[near[t]] = part[t]
        for j in range(d):
            value = X[i, j]
            for g in range(c):  # also those without a share: several go side by side
                sums[j, g] += base[g] * value
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
        centres = np.where(heavy, sums / np.where(heavy, weights, 1.0), centres)
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
