"""Groups with one record of each subset, as near to one another as can be."""

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def one_of_each(P, subset, count):
    """Labels of groups with a record of each of the subsets 0, 1, .. of equal size, as MDAV makes them.

    A group begins with the free record farthest from the mean of all, and takes of every other subset the
    free record that is nearest to it. Records that are left join the group of the nearest record.
    """
    n, d = P.shape
    labels, free = np.full(n, -1), np.arange(n)
    near, best = np.empty(count, np.int64), np.empty(count)
    rest = np.bincount(subset, minlength=count)
    away, groups, left = np.square(P).sum(axis=1), 0, n  # P is centred
    while rest.min() > 0:
        far = free[0]
        for i in range(left):
            if away[free[i]] > away[far]:
                far = free[i]
        best[:] = np.inf
        for i in range(left):
            x = free[i]
            gap = 0.0
            for j in range(d):
                gap += (P[x, j] - P[far, j]) ** 2
            if gap < best[subset[x]]:
                best[subset[x]], near[subset[x]] = gap, x
        near[subset[far]] = far
        for x in near:
            labels[x] = groups
        rest -= 1
        groups += 1
        kept = 0
        for i in range(left):
            if labels[free[i]] < 0:
                free[kept] = free[i]
                kept += 1
        left = kept
    for i in range(left):
        x, least = free[i], np.inf
        for y in range(n):
            gap = 0.0
            for j in range(d):
                gap += (P[x, j] - P[y, j]) ** 2
            if gap < least and labels[y] >= 0:
                least, labels[x] = gap, -2 - labels[y]  # nobody joins a record that is left
    for i in range(left):
        labels[free[i]] = -2 - labels[free[i]]
    return labels
