"""Optimal partition of values in ascending order into groups of k..2k-1, for four costs.

On sorted values each of these costs obeys the quadrangle inequality: the best start of a group never
moves left as its end moves right. Two searches live on that and find the same optimum:

`_near` grows each group backwards from its end, no further than the last best start: O(kn), for small k.
Very many values are searched for several ends at a time (`side_by_side`), with the same outcome.
`_far` prepares, for each stretch of k ends, sums from its first value outwards, so that any group that
ends in the stretch costs O(1). Then it leaps ahead by as many ends as it would have to look back from
one, and fills in what it leapt over: those ends are the rows, their possible starts the columns of a
totally monotone matrix whose row minima are wanted. Short leaps are filled by halving, long ones in
linear time (Aggarwal et al. 1987, known as SMAWK): O(n), whatever k.

No sum here is a difference of larger sums; each starts at a member of the group that it serves. So a
large offset or a far-away neighbour costs no digits.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._jit import kernel, run_packed
from shoal.kernels._threads import together
from shoal.kernels.sequence import whole_cost
from shoal.kernels.side_by_side import several_ends

# The costs. WHOLE: squared distances to whole centroids, on int64. Kernels get them as tuples of that
# length, which the compiler knows, so that each cost has loops of its own.
SSE, ABSOLUTE, RANGE, WHOLE = range(4)

FAR_FROM = 20  # k from which `_far` is faster than `_near` (benchmarks/univariate.py)
HALVE_UP_TO = 256  # ends leapt over up to which halving beats the linear search
SIDE_BY_SIDE_FROM = 100_000  # values from which it pays to compile a search for the very k
SIDE_BY_SIDE_UP_TO = 64  # k up to which that is faster than `_far`
STRETCH = 1 << 18  # ends that are searched in one go: shorter ones wait more than they work
TOGETHER_FROM = 200_000  # values from which two threads pay


def cut_sorted(v: NDArray, k: int, kind: int) -> NDArray[np.int64]:
    """Where the optimal groups of the ascending values v begin, and at last len(v).

    Of equally good partitions always the same one. Long sequences are searched from both ends at once:
    the two halves meet in the one group that holds the middle or ends there.
    """
    n = len(v)
    inverse = inverses(v.dtype, k)
    half = n // 2 if n >= TOGETHER_FROM and k * k <= n else n
    left, right = together(
        lambda: search(v[:half], k, kind, inverse),
        lambda: search(v[half:], k, kind, inverse, mirrored=True),
    )
    if half == n:
        return borders(left[1], n, right[1], n, k)
    first = half - 2 * k + 1
    last = [costs[len(costs) - 2 * k :] for costs in (left[0], right[0])]
    start, end = _meet(v[first : half + 2 * k - 1], k, (0,) * kind, inverse, *last, _unreached(v))
    return borders(left[1], first + start, right[1], first + end, k)


def _unreached(v: NDArray) -> float | int:
    """A cost above all others."""
    return np.inf if v.dtype.kind == "f" else 2**62


def _mirrored(v: NDArray) -> NDArray:
    return -v[::-1] if v.dtype.kind == "f" else ~v[::-1]


def inverses(dtype: np.dtype, k: int) -> NDArray:
    """1/m for every size m of a group, for sums of doubles; whole numbers do not use it."""
    inverse = np.zeros(3 * k + 1, dtype)
    if inverse.dtype.kind == "f":
        inverse[1:] = 1 / np.arange(1, 3 * k + 1)
    return inverse


def search(
    v: NDArray,
    k: int,
    kind: int,
    inverse: NDArray,
    far: bool | None = None,
    halve: int = HALVE_UP_TO,
    mirrored: bool = False,
) -> tuple[NDArray, NDArray]:
    """For each number of first values: the least cost of grouping them, and the size of the last group.

    Of very many values only the last 2k costs are returned. `mirrored`: searched from the last value on.
    """
    many = kind == SSE and len(v) >= max(SIDE_BY_SIDE_FROM, 2 * k + 8)
    if far is None:
        far = k > (SIDE_BY_SIDE_UP_TO if many else FAR_FROM - 1)
    if many and not far:
        return _in_stretches(v, k, inverse, mirrored)
    v = _mirrored(v) if mirrored else v
    best = np.empty(len(v) + 1, v.dtype)
    best[: max(k, 2)] = _unreached(v)
    best[0] = 0
    size = np.zeros(len(v) + 1, np.int32)
    if far:
        _far(v, k, (0,) * kind, inverse, best, size, halve)
    else:
        _near(v, k, (0,) * kind, inverse, best, size)
    return best, size


def _in_stretches(v: NDArray, k: int, inverse: NDArray, mirrored: bool) -> tuple[NDArray, NDArray]:
    """`search` for small k that writes little: costs of one stretch after another, and sizes in a byte."""
    n, most = len(v), 2 * k - 1
    costs, first = search(_mirrored(v[n - most + 1 :]) if mirrored else v[: most - 1], k, SSE, inverse, False)
    size = np.empty(n + 1, np.uint8)
    size[:most] = first
    best = np.empty(2 * STRETCH + most)
    best[:most] = costs
    stretches = max((n - most) // STRETCH, 1)
    for i in range(stretches):
        begin = i * STRETCH
        end = n if i == stretches - 1 else begin + STRETCH + most - 1
        part = _mirrored(v[n - end : n - begin]) if mirrored else v[begin:end]
        own = best[: end - begin + 1]
        run_packed(several_ends if k >= 3 else _one_end, part, (0,) * k, inverse, own, size[begin : end + 1])
        if end < n:
            best[:most] = own[-most:]
    return own[-2 * k :], size


def borders(left_size: NDArray, start: int, right_size: NDArray, end: int, k: int) -> NDArray[np.int64]:
    """Follow the last groups from `start` down to 0, and the mirrored ones from `end` up to n."""
    n = len(left_size) + len(right_size) - 2
    where = np.empty(n // k + 3, np.int64)
    middle = start // k
    where[middle] = start
    last = middle + (start < end)
    where[last] = end
    low, high = together(
        lambda: _follow(left_size, start, where, middle, -1, n),
        lambda: _follow(right_size, n - end, where, last, 1, n),
    )
    return where[low : high + 1]


@kernel
def _follow(size, i, where, at, step, n):
    while i > 0:
        i -= np.int64(size[i])  # sizes may be bytes
        at += step
        where[at] = i if step < 0 else n - i
    return at


@kernel
def _last_group(v, kind, inverse, best, low, high, end, found):
    """Least cost of the first `end` values if their last group starts in low..high, and that start.

    The group is grown from its end; its sums are those of the distances from its last value. `found`
    is a cost above all others. Of equally good starts the last.
    """
    last = v[end - 1]
    total = last - last
    squares = total
    if len(kind) == SSE or len(kind) == WHOLE:
        for start in range(end - 2, high, -1):
            total += last - v[start]
            squares += (last - v[start]) * (last - v[start])
    elif len(kind) == ABSOLUTE:
        for start in range(end - 2, high, -1):
            squares += v[start + (end - start) // 2] - v[start]
    where = high
    for start in range(high, low - 1, -1):
        if len(kind) == ABSOLUTE:
            squares += v[start + (end - start) // 2] - v[start]
            cost = squares
        elif len(kind) == RANGE:
            cost = last - v[start]
        else:
            total += last - v[start]
            squares += (last - v[start]) * (last - v[start])
            if len(kind) == SSE:
                cost = squares - total * total * inverse[end - start]
            else:
                cost = whole_cost(total, squares, end - start)
        cost += best[start]
        where = start if cost < found else where
        found = min(cost, found)
    return found, where


@kernel
def _near(v, k, kind, inverse, best, size):
    worst = best[min(1, len(v))]
    where = 0
    for end in range(k, len(v) + 1):
        low = max(0, end - 2 * k + 1)
        if k > 4:  # for smaller k a fixed number of steps is faster than few
            low = max(low, where)
        best[end], where = _last_group(v, kind, inverse, best, low, end - k, end, worst)
        size[end] = end - where


@kernel
def _one_end(v, k, inverse, best, size):
    """`several_ends` for k below 3."""
    least, most = len(k), 2 * len(k) - 1
    for end in range(most, len(v) + 1):
        values, path = v[end - most : end], best[end - most : end]
        last = values[most - 1]
        total = squares = 0.0
        for start in range(most - 2, least - 1, -1):
            total += last - values[start]
            squares += (last - values[start]) * (last - values[start])
        found, where = np.inf, 0
        for start in range(least - 1, -1, -1):
            total += last - values[start]
            squares += (last - values[start]) * (last - values[start])
            cost = squares - total * total * inverse[most - start] + path[start]
            where = start if cost < found else where
            found = min(cost, found)
        best[end] = found
        size[end] = most - where


@kernel
def _meet(v, k, kind, inverse, left, right, worst):
    """The group start..end at the middle for which the least costs of both sides and its own are least.

    v holds the 2k - 1 values on each side of the middle, left and right the costs of reaching each of them.
    """
    half = 2 * k - 1
    found = left[half] + right[half]
    at = (half, half)
    for end in range(half + 1, half + 2 * k - 1):
        low, high = end - 2 * k + 1, min(half - 1, end - k)
        cost, start = _last_group(v, kind, inverse, left, low, high, end, worst)
        if cost + right[2 * half - end] < found:
            found = cost + right[2 * half - end]
            at = (start, end)
    return at


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
        return whole_cost(sums[start] + sums[end], base[start] + base[end], m)
    if len(kind) == ABSOLUTE:
        return base[start] + base[end] - sums[end - m // 2] - sums[start + m // 2]
    return base[start] + base[end]


@kernel
def _choose(kind, inverse, base, sums, middle, best, size, low, high, end):
    """Find the best start in low..high; of equally good ones the last."""
    found = _path(kind, inverse, base, sums, middle, high, end)
    where = high
    for start in range(high - 1, low - 1, -1):
        cost = _path(kind, inverse, base, sums, middle, start, end)
        where = start if cost < found else where
        found = min(cost, found)
    best[end] = found
    size[end] = end - where


@kernel
def _far(v, k, kind, inverse, best, size, halve):
    n = len(v)
    _near(v[: min(k, n)], k, kind, inverse, best, size)
    base = np.empty(3 * k + 1, v.dtype)
    sums = np.empty(3 * k + 1, v.dtype)
    columns = np.empty(8 * k + 64, np.int64)
    left = 0
    for middle in range(k, n, k):
        right = min(middle + k, n)
        _prepare(v, kind, inverse, best, left, middle, right, base, sums)
        left += _stretch(
            k,
            kind,
            inverse,
            base,
            sums,
            columns,
            best[left:],
            size[left:],
            middle - left,
            right - left,
            halve,
        )


@kernel
def _stretch(k, kind, inverse, base, sums, columns, best, size, middle, right, halve):
    """Find the best starts of the ends middle+1..right; return the last one. Places count from its left."""
    low = 0
    end = middle
    while end < right:
        leap = 1
        while 2 * leap <= min(end - k - low, right - end):
            leap *= 2
        _choose(kind, inverse, base, sums, middle, best, size, low, end + leap - k, end + leap)
        last = end + leap - size[end + leap]
        if leap <= halve:
            step = leap
            while step > 1:
                half = step // 2
                for row in range(end + half, end + leap, step):
                    first = low if row == end + half else row - half - size[row - half]
                    high = min(row + half - size[row + half], row - k)
                    _choose(kind, inverse, base, sums, middle, best, size, first, high, row)
                step = half
        else:
            _smawk(
                k, kind, inverse, base, sums, columns, best, size, middle, low, last, end + 1, end + leap - 1
            )
        end += leap
        low = last
    return low


@kernel
def _smawk(k, kind, inverse, base, sums, columns, best, size, middle, left, right, first, last):
    """Best starts (columns) in left..right of all ends (rows) in first..last: linear in both.

    Level by level every second row is put aside and columns that can hold no minimum of the rows left
    are dropped; on the way back a row's minimum lies between those of its neighbours. A start is
    allowed if at least k values follow up to the end.
    """
    rows = last - first + 1
    begin = np.empty(64, np.int64)  # where each level's columns begin
    begin[0] = 0
    begin[1] = right - left + 1
    for i in range(begin[1]):
        columns[i] = left + i
    level = 0
    while rows >> level > 0:
        bottom = begin[level + 1]
        kept = bottom
        for i in range(begin[level], bottom):
            new = columns[i]
            while kept > bottom:
                row = first + ((kept - bottom) << level) - 1
                if new > row - k or _path(kind, inverse, base, sums, middle, columns[kept - 1], row) < _path(
                    kind, inverse, base, sums, middle, new, row
                ):
                    break
                kept -= 1
            if kept - bottom < rows >> level:
                columns[kept] = new
                kept += 1
        level += 1
        begin[level + 1] = kept
    while level > 0:
        level -= 1
        at = begin[level + 1]
        for i in range(0, rows >> level, 2):
            row = first + ((i + 1) << level) - 1
            stop = right
            if i + 1 < rows >> level:
                stop = row + (1 << level) - size[row + (1 << level)]
            where = columns[at]
            found = _path(kind, inverse, base, sums, middle, where, row)
            while columns[at] < stop and at + 1 < begin[level + 2] and columns[at + 1] <= row - k:
                at += 1
                cost = _path(kind, inverse, base, sums, middle, columns[at], row)
                if cost <= found:
                    found = cost
                    where = columns[at]
            best[row] = found
            size[row] = row - where
