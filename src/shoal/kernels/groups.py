"""What a partition costs and publishes, in one pass over the records each."""

import numpy as np

from shoal.kernels._jit import kernel


@kernel
def relabel(given, low, span):
    """Labels renamed 0, 1, .. in order of first appearance, and how often each occurs.

    `given` holds whole numbers in low..low+span-1.
    """
    name = np.full(span, -1, np.int32)
    labels = np.empty(len(given), np.int64)
    sizes = np.zeros(span, np.int64)
    groups = 0
    for i in range(len(given)):
        old = given[i] - low
        new = name[old]
        if new < 0:
            new = groups
            name[old] = new
            groups += 1
        labels[i] = new
        sizes[new] += 1
    return labels, sizes[:groups].copy()


@kernel
def pivot_and_shift(X, labels, sizes):
    """Each group's first member, and its mean's distance from that member.

    Their sum is the mean. Kept apart, a large offset of all values costs no digits. `labels` must be
    in order of first appearance.
    """
    d = X.shape[1]
    pivot = np.empty((len(sizes), d))
    shift = np.zeros((len(sizes), d))
    seen = 0
    for i in range(len(labels)):
        g = labels[i]
        if g == seen:
            pivot[g] = X[i]
            seen += 1
        else:
            for j in range(d):
                shift[g, j] += X[i, j] - pivot[g, j]
    for g in range(len(sizes)):
        for j in range(d):
            shift[g, j] /= sizes[g]
    return pivot, shift


@kernel
def squared_errors(X, labels, pivot, shift):
    """Sum of squared distances to pivot + shift of one's group, summed by stretches against rounding."""
    n, d = X.shape
    total = 0.0
    for start in range(0, n, 1024):
        part = 0.0
        for i in range(start, min(start + 1024, n)):
            g = labels[i]
            for j in range(d):
                difference = X[i, j] - pivot[g, j] - shift[g, j]
                part += difference * difference
        total += part
    return total
