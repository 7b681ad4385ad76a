"""What a partition costs and publishes, in one pass over the records each."""

import numpy as np

from shoal.kernels.runtime.jit import WORTH_COMPILING, kernel

#: Groups, or records, whose sums are added up before they join the sum of all. This is against rounding: its
#: error grows with the length of a stretch and with the number of stretches.
STRETCH, RECORDS = 256, 1024
#: Sums of small tables are numpy's; what is too large becomes infinite without a word, as in a kernel.
_silent = np.errstate(over="ignore", invalid="ignore")


def relabel(given, low, span):
    """Labels renamed 0, 1, .. in order of first appearance, and how often each occurs.

    `given` holds whole numbers in low..low+span-1.
    """
    if len(given) > WORTH_COMPILING:
        return _relabel(given, low, span)
    _, first, old, sizes = np.unique(given, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    return np.argsort(order)[old], sizes[order]


@kernel
def _relabel(given, low, span):
    renamed = np.zeros((span, 2), np.int32)  # new name and count, side by side in memory
    labels = np.empty(len(given), np.int64)
    groups = 0
    for i in range(len(given)):
        entry = renamed[given[i] - low]
        if entry[1] == 0:
            entry[0] = groups
            groups += 1
        entry[1] += 1
        labels[i] = entry[0]
    sizes = np.empty(groups, np.int64)
    for old in range(span):
        if renamed[old, 1] > 0:
            sizes[renamed[old, 0]] = renamed[old, 1]
    return labels, sizes


@_silent
def pivot_and_shift(X, labels, sizes):
    """Each group's first member, and its mean's distance from that member, side by side in memory.

    Their sum is the mean. Kept apart, a large offset of all values costs no digits. `labels` must be
    in order of first appearance.
    """
    if len(X) > WORTH_COMPILING:
        return _pivot_and_shift(X, labels, sizes)
    parts = np.zeros((len(sizes), X.shape[1], 2))
    parts[:, :, 0] = X[np.unique(labels, return_index=True)[1]]
    np.add.at(parts[:, :, 1], labels, X - parts[labels, :, 0])  # record by record, as the kernel
    parts[:, :, 1] /= sizes[:, None]
    return parts


@kernel
def _pivot_and_shift(X, labels, sizes):
    n, d = X.shape
    parts = np.empty((len(sizes), d, 2))
    seen = 0
    for i in range(n):
        g = labels[i]
        if g == seen:
            for j in range(d):
                parts[g, j, 0] = X[i, j]
                parts[g, j, 1] = 0.0
            seen += 1
        else:
            for j in range(d):
                parts[g, j, 1] += X[i, j] - parts[g, j, 0]
    for g in range(len(sizes)):
        for j in range(d):
            parts[g, j, 1] /= sizes[g]
    return parts


@_silent
def squared_errors(X, labels, parts):
    """Sum of squared distances to pivot + shift of one's group, summed by stretches against rounding."""
    if len(X) > WORTH_COMPILING:
        return _squared_errors(X, labels, parts)
    return _one_by_one(np.square(X - parts[labels, :, 0] - parts[labels, :, 1]).ravel())


def _one_by_one(values):
    """Their sums along the first axis, in order, as a kernel takes them: `sum` would take them in pairs."""
    return np.add.accumulate(values)[-1] if len(values) else np.zeros(values.shape[1:])


@kernel
def _squared_errors(X, labels, parts):
    n, d = X.shape
    total = 0.0
    for start in range(0, n, RECORDS):
        stretch = 0.0
        for i in range(start, min(start + RECORDS, n)):
            g = labels[i]
            for j in range(d):
                difference = X[i, j] - parts[g, j, 0] - parts[g, j, 1]
                stretch += difference * difference
        total += stretch
    return total


@_silent
def sums_from_first(first, last, X):
    """Sums of the records first..last-1, counted from the very first record."""
    if len(X) > WORTH_COMPILING:
        return _sums_from_first(first, last, X)
    return _one_by_one(X[first:last] - X[0])


@kernel
def _sums_from_first(first, last, X):
    sums = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        total = 0.0
        for i in range(first, last):
            total += X[i, j] - X[0, j]
        sums[j] = total
    return sums


@_silent
def squares_about(first, last, X, centre):
    """Sum of squared distances of those records to a centre counted from the very first record."""
    if len(X) > WORTH_COMPILING:
        return _squares_about(first, last, X, centre)
    return _one_by_one(_one_by_one(np.square(X[first:last] - X[0] - centre)))


@kernel
def _squares_about(first, last, X, centre):
    total = 0.0
    for j in range(X.shape[1]):
        for start in range(first, last, RECORDS):
            stretch = 0.0
            for i in range(start, min(start + RECORDS, last)):
                difference = X[i, j] - X[0, j] - centre[j]
                stretch += difference * difference
            total += stretch
    return total


@kernel
def spread(first, last, published, labels, out):
    """What each of the records first..last-1 publishes."""
    for i in range(first, last):
        out[i] = published[labels[i]]


# --- where the records are given group by group: order[starts[g] : starts[g + 1]] is group g -------------


@kernel
def put(first, last, order, starts, published, out):
    """Give each record of the groups first..last-1 what its group publishes."""
    for g in range(first, last):
        for i in range(starts[g], starts[g + 1]):
            out[order[i]] = published[g]


@kernel
def moments(first, last, values, starts, means, whole):
    """Means of the groups first..last-1 of values in that order; returns three sums, taken by stretches.

    If `whole` is not empty, the values are whole numbers, and it gets the whole number nearest to each mean,
    half away from zero.

    They are the SSE, and the squares and the sum of the distances of each record's mean from the middle
    value. All distances are counted from the group's middle member on: of ascending values, that is never
    further from the mean than one standard deviation, so the SSE as a difference keeps its digits.
    """
    middle = values[len(values) // 2]
    within = between = apart = 0.0
    for begin in range(first, last, STRETCH):
        part_within = part_between = part_apart = 0.0
        for g in range(begin, min(begin + STRETCH, last)):
            start, end = starts[g], starts[g + 1]
            size = end - start
            pivot = values[(start + end) // 2]
            shift = squares = 0.0
            for i in range(start, end):
                difference = values[i] - pivot
                shift += difference
                squares += difference * difference
            part_within += max(squares - shift * shift / size, 0.0)
            if len(whole) > 0:
                below = np.floor(shift / size)
                twice = 2.0 * (shift - below * size)
                up = (twice > size) | (twice == size) & (pivot + below >= 0.0)  # no jumps
                whole[g] = np.int64(pivot + below) + up
            shift /= size
            means[g] = pivot + shift
            distance = pivot - middle + shift
            part_between += size * distance * distance
            part_apart += size * distance
        within += part_within
        between += part_between
        apart += part_apart
    return within, between, apart
