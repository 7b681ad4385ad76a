"""Groups made as MDAV makes them, whose confidential values are spread as those of the whole table."""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.closeness import arrange, distance


@kernel
def _farthest(P, free, left, centre):
    """Of the free records the one farthest from a point."""
    far, most = free[0], -1.0
    for i in range(left):
        away = 0.0
        for j in range(P.shape[1]):
            away += (P[free[i], j] - centre[j]) ** 2
        if away > most:
            far, most = free[i], away
    return far


@kernel
def _mean(P, free, left):
    centre = np.zeros(P.shape[1])
    for i in range(left):
        for j in range(P.shape[1]):
            centre[j] += P[free[i], j]
    return centre / left


@kernel
def _away(P, free, left, x):
    """Squared distances of the free records from a record, which is nearest to itself."""
    away = np.empty(left)
    for i in range(left):
        away[i] = -1.0 if free[i] == x else 0.0
        for j in range(P.shape[1]):
            away[i] += (P[free[i], j] - P[x, j]) ** 2
    return away


@kernel
def _still_free(free, left, labels):
    """Bring the free records, in row order, to the front; how many they are."""
    kept = 0
    for i in range(left):
        if labels[free[i]] < 0:
            free[kept] = free[i]
            kept += 1
    return kept


@kernel
def one_of_each(P, subset, count):
    """Labels of groups with one record of each of the subsets 0, 1, .., the nearest to an extreme record.

    A group begins with the free record farthest from the mean of the free ones, the next with the one
    farthest from that. The smallest subset has a record for each group; one that has more gives a second.
    """
    n = len(P)
    labels, free, left = np.full(n, -1), np.arange(n), n
    rest = np.bincount(subset, minlength=count)
    near, best, groups = np.empty(count, np.int64), np.empty(count), rest.min()
    seed = 0
    for g in range(groups):
        seed = seed if g % 2 else _farthest(P, free, left, _mean(P, free, left))
        away = _away(P, free, left, seed)
        best[:] = np.inf
        for i in range(left):
            if away[i] < best[subset[free[i]]]:
                best[subset[free[i]]], near[subset[free[i]]] = away[i], free[i]
        for s in range(count):
            labels[near[s]] = g
            rest[s] -= 1
        odd, least = np.argmax(rest), np.inf
        for i in range(left if rest[odd] > groups - g - 1 else 0):
            if subset[free[i]] == odd and labels[free[i]] < 0 and away[i] < least:
                near[odd], least = free[i], away[i]
        if least < np.inf:
            labels[near[odd]] = g
            rest[odd] -= 1
        most = -1.0
        for i in range(left):
            if away[i] > most and labels[free[i]] < 0:
                seed, most = free[i], away[i]
        left = _still_free(free, left, labels)
    return labels


@kernel
def swapped(P, k, confidential):
    """Labels of groups of k as MDAV makes them; the last has all that are left, which are fewer than 2k.

    While a group is farther than t from the whole table, the next nearest free record takes the place of the
    member whose leaving brings it closest.
    """
    n = len(P)
    codes, one, two, ordered, t = confidential
    labels, free, left = np.full(n, -1), np.arange(n), n
    group, trial = np.empty(k, np.int64), np.empty(k, np.int64)
    seed = g = 0
    while left >= 2 * k:
        seed = _farthest(P, free, left, P[seed] if g % 2 else _mean(P, free, left))
        order = np.argsort(_away(P, free, left, seed), kind="mergesort")
        for a in range(k):
            group[a] = free[order[a]]
        arrange(group, k, codes)
        far, following = distance(group, k, codes, one, two, ordered), k
        while far > t and following < left:
            out, least = -1, far
            for a in range(k):
                trial[:] = group
                trial[a] = free[order[following]]
                arrange(trial, k, codes)
                now = distance(trial, k, codes, one, two, ordered)
                if now < least - 1e-12:  # less is rounding: of equals the lowest code leaves
                    out, least = a, now
            if out >= 0:
                group[out] = free[order[following]]
                arrange(group, k, codes)
                far = least
            following += 1
        for a in range(k):
            labels[group[a]] = g
        g += 1
        left = _still_free(free, left, labels)
    for i in range(left):
        labels[free[i]] = g
    return labels
