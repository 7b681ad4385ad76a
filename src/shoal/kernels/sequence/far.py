"""The far search of `line`: the optimal partition of ascending values, for large k.

For each stretch of k ends it prepares sums from the stretch's first value outwards, so that any group that
ends there costs O(1). Then it leaps ahead by as many ends as it would have to look back from one, and fills
in what it leapt over by halving: the best start of an end lies between those of its neighbours. That is
O(n log k) at worst. A fill in linear time (SMAWK) was no faster up to k = 10,000.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence.cut import whole_cost

# The costs. WHOLE: squared distances of whole numbers to whole centroids. Kernels get them as tuples of that
# length, which the compiler knows, so that each cost has loops of its own.
SSE, ABSOLUTE, RANGE, WHOLE = range(4)


@kernel
def _prepare(v, kind, inverse, best, left, middle, right, base, sums):
    """Sums of v[start:middle] for each start and of v[middle:end] for each end, stored from `left` on.

    SSE: sums = distance of the part's mean from v[middle], base = the part's own SSE.
    WHOLE: sums and base = sum and sum of squares of the distances from v[middle].
    ABSOLUTE: sums = base = sum of the distances from v[middle]. RANGE: base = distance from v[middle].
    At a start, base also holds the cost of the best path to it.
    """
    gap = v[middle] - v[middle - 1]
    zero = gap - gap
    sums[middle - left] = zero
    base[middle - left] = best[middle]
    for side in range(2):
        pivot = v[middle - 1] if side == 0 and len(kind) == SSE else v[middle]
        total = squares = mean = zero
        for m in range(1, (middle - left if side == 0 else right - middle) + 1):
            value = v[middle - m] if side == 0 else v[middle + m - 1]
            distance = pivot - value if side == 0 else value - pivot
            total += distance
            if len(kind) == SSE:
                squares += (distance - mean) * (distance - total * inverse[m])
                mean = total * inverse[m]
                at_sums = mean if side == 0 else mean + gap
                at_base = squares
            elif len(kind) == WHOLE:
                squares += distance * distance
                at_sums = -total if side == 0 else total
                at_base = squares
            else:
                at_sums = total
                at_base = total if len(kind) == ABSOLUTE else distance
            if side == 0:
                sums[middle - m - left] = at_sums
                base[middle - m - left] = at_base + best[middle - m]
            else:
                sums[middle + m - left] = at_sums
                base[middle + m - left] = at_base


@kernel
def _path(kind, inverse, base, sums, middle, start, end):
    """Cost of the best path to `start` and of the group start..end."""
    m = end - start
    if len(kind) == SSE:
        apart = sums[start] + sums[end]
        return base[start] + base[end] + apart * apart * ((middle - start) * (end - middle) * inverse[m])
    if len(kind) == WHOLE:
        return whole_cost(sums[start] + sums[end], base[start] + base[end], m, inverse[m])
    if len(kind) == ABSOLUTE:
        return base[start] + base[end] - sums[end - m // 2] - sums[start + m // 2]
    return base[start] + base[end]


@kernel
def _choose(kind, inverse, base, sums, middle, best, size, low, high, end):
    """Find the best start in low..high; of equally good ones the last."""
    least_cost = _path(kind, inverse, base, sums, middle, high, end)
    where = high
    for start in range(high - 1, low - 1, -1):
        cost = _path(kind, inverse, base, sums, middle, start, end)
        where = start if cost < least_cost else where
        least_cost = min(cost, least_cost)
    best[end] = least_cost
    size[end] = end - where


@kernel
def in_leaps(v, k, kind, inverse, best, size):
    """From the end k + 1 on, in stretches of k ends. What is up to the end k must be there."""
    n = len(v)
    base = np.empty(3 * k + 1, v.dtype)
    sums = np.empty(3 * k + 1, v.dtype)
    left = np.int64(0)  # with a plain 0, what it is handed to is compiled once more
    for middle in range(k, n, k):
        right = min(middle + k, n)
        _prepare(v, kind, inverse, best, left, middle, right, base, sums)
        here = middle - left, right - left
        left += _stretch(k, kind, inverse, base, sums, best[left:], size[left:], *here)


@kernel
def _stretch(k, kind, inverse, base, sums, best, size, middle, right):
    """Find the best starts of the ends middle+1..right; return the last one. Places count from its left."""
    low, end = np.int64(0), middle
    while end < right:
        leap = 1
        while 2 * leap <= min(end - k - low, right - end):
            leap *= 2
        _choose(kind, inverse, base, sums, middle, best, size, low, end + leap - k, end + leap)
        last = end + leap - size[end + leap]
        step = leap
        while step > 1:
            half = step // 2
            for row in range(end + half, end + leap, step):
                first = low if row == end + half else row - half - size[row - half]
                high = min(row + half - size[row + half], row - k)
                _choose(kind, inverse, base, sums, middle, best, size, first, high, row)
            step = half
        end += leap
        low = last
    return low
