"""Microaggregation by fuzzy c-means, with fewer and fuzzier clusters until none is short."""

from functools import partial

import numpy as np

from shoal.algorithms._split import divide
from shoal.algorithms.mdav import mdav
from shoal.grouping.registry import method
from shoal.kernels.neighbours.distance import to_columns
from shoal.kernels.neighbours.kd_tree import DEPTH, LEAF, box_to_box, leaf_distances
from shoal.kernels.neighbours.lists import NOTHING, look_up
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import map_threads

FIRST_M = 1.1  # the exponent of the first attempt: nearly crisp
STEP_M = 0.1  # what each further attempt adds
#: Of fuzzy c-means, at most: a cluster that is not at rest by then will do. With 30 it takes 1.6 times as
#: long and loses as much (medians of seven seeds on three tables: 2.64, 0.187, 6.14 % instead of 2.58, 0.187,
#: 6.12 %).
ITERATIONS = 20
FAINT = 1e-9  # memberships below that share of the largest are left out
#: Clusters, and the share of them that a record belongs to on average: with so many clusters, and a smaller
#: share, a tree finds those that matter in less time than a look at all of them.
LEAST, FEW = 500, 0.1


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
def _within(tree, point, most, faint, near, distance):
    """The clusters with a share of the point, ascending, and their squared distances; how many they are.

    One of them is no farther than `most`. A node is passed over if its box is too far for a share. Rounding
    is monotone, and boxes and centres are summed alike: a look at all clusters finds the very same.
    """
    waiting, bounds, here = np.empty(DEPTH, np.int64), np.empty(DEPTH), np.empty(LEAF)
    waiting[0], bounds[0] = 0, 0.0
    depth, found = 1, 0
    least = most
    while depth > 0:
        depth -= 1
        node, bound = waiting[depth], bounds[depth]
        if bound > least and least <= faint * bound:
            continue
        if tree.child[node] >= 0:
            first, far = tree.child[node], tree.child[node] + 1
            bound = box_to_box(point, point, tree.low[first], tree.high[first])
            other = box_to_box(point, point, tree.low[far], tree.high[far])
            if other < bound:
                first, far, bound, other = far, first, other, bound
            waiting[depth], waiting[depth + 1] = far, first
            bounds[depth], bounds[depth + 1] = other, bound
            depth += 2
            continue
        start, count = tree.start[node], tree.left[node]
        leaf_distances(tree.columns, start, count, count, point, here)
        for i in range(count):
            if here[i] <= least or least > faint * here[i]:
                near[found] = tree.ids[start + i]
                distance[near[found]] = here[i]
                least = min(least, here[i])
                found += 1
    many = 0
    for t in range(found):  # the nearest may have been found late
        g = near[t]
        if distance[g] == least or least > faint * distance[g]:
            near[many] = g
            many += 1
    near[:many].sort()
    return many


@kernel
def _share_out(X, centres, power, faint, labels, tree, first):
    """Records from `first` on to their clusters: weighted sums, weights, changed labels, and all shares.

    Membership in g is (least / distance[g])^power, scaled so that all sum to one. To the power m, with
    power = 1/(m-1), it is itself times least / distance[g]. Clusters are looked for in the tree of their
    centres, unless it is empty.
    """
    d, c = centres.shape
    sums = np.zeros((d, c))
    weights = np.zeros(c)
    distance, part, base = np.empty(c), np.empty(c), np.empty(c)
    ratio, near = np.empty(c), np.empty(c + 1, np.int64)
    held, rows, among = 0, np.empty((4, d)), np.empty((4, c))
    changed = shares = 0
    for i in range(first, min(first + CHUNK, len(X))):
        many = c
        if len(tree.child) > 0:
            most = np.inf
            if labels[i] >= 0:
                to_columns(centres, X[i], labels[i], labels[i] + 1, distance)
                most = distance[labels[i]]
            many = _within(tree, X[i], most, faint, near, distance)
        if 3 * many < c:
            best = near[0]
            for t in range(1, many):
                if distance[near[t]] < distance[best]:
                    best = near[t]
            least = distance[best]
        else:
            to_columns(centres, X[i], 0, c, distance)
            best = np.argmin(distance)
            least = distance[best]
            many = 0
            for g in range(c):
                many += (distance[g] == least) | (least > faint * distance[g])
            if 3 * many < c:
                many = 0
                for g in range(c):
                    near[many] = g
                    many += (distance[g] == least) | (least > faint * distance[g])
        changed += best != labels[i]
        labels[i] = best
        shares += many
        one = 1.0 if least == 0.0 else 0.0  # then only clusters that lie on the record count, all alike
        if 3 * many >= c:
            for g in range(c):  # also those without a share: several go side by side
                ratio[g] = np.divide(least + one, distance[g] + one)
                ratio[g] *= (distance[g] == least) | (least > faint * distance[g])
            _share(ratio, c, power, base, among[held])
        else:
            for t in range(many):
                ratio[t] = np.divide(least + one, distance[near[t]] + one)
            _share(ratio, many, power, base, part)
            _add(sums, weights, rows, among, held)
            held = 0
            for t in range(many):
                weights[near[t]] += part[t]
            for j in range(d):
                for t in range(many):
                    sums[j, near[t]] += part[t] * X[i, j]
            continue
        rows[held] = X[i]
        held += 1
        if held == 4:
            _add(sums, weights, rows, among, held)
            held = 0
    _add(sums, weights, rows, among, held)
    return sums, weights, changed, shares


@kernel
def _add(sums, weights, rows, among, held):
    """Add the records held to all clusters, one after the other; of four, each sum is fetched only once."""
    d, c = sums.shape
    if held == 4:
        a0, a1, a2, a3 = among[0], among[1], among[2], among[3]
        for g in range(c):
            weights[g] = (((weights[g] + a0[g]) + a1[g]) + a2[g]) + a3[g]
        for j in range(d):
            r0, r1, r2, r3 = rows[0, j], rows[1, j], rows[2, j], rows[3, j]
            for g in range(c):
                sums[j, g] = (((sums[j, g] + a0[g] * r0) + a1[g] * r1) + a2[g] * r2) + a3[g] * r3
        return
    for t in range(held):
        for g in range(c):
            weights[g] += among[t, g]
        for j in range(d):
            value = rows[t, j]
            for g in range(c):
                sums[j, g] += among[t, g] * value


def fuzzy_c_means(X, seeds, m, least=LEAST):
    """Fuzzy c-means from the records `seeds` as first centres; each record's cluster of largest membership.

    Ends when no record's cluster changes any more, or after ITERATIONS.
    """
    centres = X[seeds].T.copy()
    labels = np.full(len(X), -1)
    power, faint = 1.0 / (m - 1.0), FAINT ** (m - 1.0)
    shares = 0 if m == FIRST_M else len(X) * len(seeds)
    for _ in range(ITERATIONS):
        sparse = len(seeds) >= least and shares < FEW * len(X) * len(seeds)
        tree = look_up(centres.T.copy()) if sparse else NOTHING
        share_out = partial(_share_out, X, centres, power, faint, labels, tree)
        parts = map_threads(share_out, range(0, len(X), CHUNK))
        sums, weights, changed, shares = (sum(part) for part in zip(*parts))
        if not changed:
            break
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
