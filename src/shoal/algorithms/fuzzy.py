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
    """part = ratio^power for the first `many` ratios in [0, 1].

    Where the power, twice or three times of it is a whole number, as for m = 1.1 to 1.5, by products of the
    ratio or its root: several numbers go side by side, in a third of the time that exp and log take.
    """
    times = 1
    while times < 4 and abs(times * power - round(times * power)) >= 1e-9:
        times += 1
    left = round(times * power)
    if times == 4 or (times == 3 and power < 1.6):
        for t in range(many):
            part[t] = np.exp(power * np.log(ratio[t]))
        return
    for t in range(many):
        base[t] = ratio[t]
        part[t] = 1.0
    if times > 1:
        for t in range(many):
            base[t] = np.sqrt(ratio[t])
    if times == 3:
        for t in range(many):  # the cube root to a tenth; with such powers no ratio is below 4e-6
            root = np.sqrt(base[t])
            base[t] = (root * (68.0 + 61.0 * root) - 1.0) / 128.0
        for _ in range(3):  # Halley's: each time the digits that are right are three times as many
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
def _share(ratio, many, power, base, part):
    """part = the memberships, to the power m, of one record in clusters with such ratios of distance."""
    _raise(ratio, many, power, base, part)
    s0 = s1 = s2 = s3 = 0.0  # one sum would wait for each of its terms
    for t in range(0, many - 3, 4):
        s0 += part[t]
        s1 += part[t + 1]
        s2 += part[t + 2]
        s3 += part[t + 3]
    for t in range(many - many % 4, many):
        s0 += part[t]
    scale = ((s0 + s1) + (s2 + s3)) ** -(1.0 + 1.0 / power)
    for t in range(many):
        part[t] = part[t] * ratio[t] * scale


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
    ratio, near = np.empty(c), np.empty(c + 1, np.int64)
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
            many += (distance[g] == least) | (least > faint * distance[g])
        if 3 * many < c:
            many = 0
            for g in range(c):
                near[many] = g
                many += (distance[g] == least) | (least > faint * distance[g])
            for t in range(many):
                ratio[t] = np.divide(least + one, distance[near[t]] + one)
            _share(ratio, many, power, base, part)
            for t in range(many):
                weights[near[t]] += part[t]
            for j in range(d):
                for t in range(many):
                    sums[j, near[t]] += part[t] * X[i, j]
            continue
        for g in range(c):  # also those without a share: several go side by side
            ratio[g] = np.divide(least + one, distance[g] + one)
            ratio[g] *= (distance[g] == least) | (least > faint * distance[g])
        _share(ratio, c, power, base, part)
        for g in range(c):
            weights[g] += part[g]
        for j in range(d):
            value = X[i, j]
            for g in range(c):
                sums[j, g] += part[g] * value
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
