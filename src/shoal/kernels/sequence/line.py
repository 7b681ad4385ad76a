"""Optimal partition of values in ascending order into groups of k..2k-1, for four costs.

On sorted values each of these costs obeys the quadrangle inequality: the best start of a group never
moves left as its end moves right. Two searches live on that and find the same optimum:

`_near` grows each group backwards from its end, no further than the last best start: O(kn), for small k.
Very many values are searched for several ends at a time (`side_by_side`), with the same outcome.
The far search (`far`) looks back from few ends only, and fills in the others between them, for large k.

No sum here is a difference of larger sums; each starts at a member of the group that it serves. So a
large offset or a far-away neighbour costs no digits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.jit import kernel, packed
from shoal.kernels.runtime.threads import together
from shoal.kernels.sequence.cut import whole_cost
from shoal.kernels.sequence.far import ABSOLUTE, RANGE, SSE, WHOLE, in_leaps
from shoal.kernels.sequence.side_by_side import several_ends


@dataclass(frozen=True)
class Tuning:
    """From which sizes on another search is faster. All searches find the same optimum."""

    #: k from which the far search beats the near one (benchmarks/univariate.py).
    far_from: int = 20
    #: Values from which it pays to compile a near search for the very k.
    side_by_side_from: int = 100_000
    #: k up to which that search beats the far one.
    side_by_side_up_to: int = 64
    #: Ends that it searches in one go. Shorter stretches wait more than they work; the costs of longer ones
    #: (2 MB for these) leave the cache.
    stretch: int = 1 << 18
    #: Values from which two threads pay: to start the second takes a fixed time.
    two_threads: int = 200_000


USUAL = Tuning()


def cut_sorted(v: NDArray, k: int, kind: int, tuning: Tuning = USUAL) -> Ints:
    """Where the optimal groups of the ascending values v begin, and at last len(v).

    Of equally good partitions always the same one. Long sequences are searched from both ends at once:
    the two halves meet in the one group that holds the middle or ends there.
    """
    n = len(v)
    inverse = inverses(k)
    half = n // 2 if n >= tuning.two_threads and k * k <= n else n
    left, right = together(
        lambda: search(v[:half], k, kind, inverse, tuning=tuning),
        lambda: search(v[half:], k, kind, inverse, mirrored=True, tuning=tuning),
    )
    if half == n:
        return borders(left[1], n, right[1], n, k)
    first = half - 2 * k + 1
    last = [costs[len(costs) - 2 * k :] for costs in (left[0], right[0])]
    start, end = _meet(v[first : half + 2 * k - 1], k, (0,) * kind, inverse, *last)
    return borders(left[1], first + start, right[1], first + end, k)


def inverses(k: int) -> Floats:
    """1/m for every size m of a group."""
    return 1 / np.maximum(np.arange(3 * k + 1), 1)


def search(
    v: NDArray,
    k: int,
    kind: int,
    inverse: NDArray,
    far: bool | None = None,
    mirrored: bool = False,
    tuning: Tuning = USUAL,
) -> tuple[NDArray, NDArray]:
    """For each number of first values: the least cost of grouping them, and the size of the last group.

    Of very many values only the last 2k costs are returned. `mirrored`: searched from the last value on.
    """
    many = kind in (SSE, WHOLE) and len(v) >= max(tuning.side_by_side_from, 2 * k + 8)
    if far is None:
        far = k > (tuning.side_by_side_up_to if many else tuning.far_from - 1)
    if many and not far:
        return _in_stretches(v, k, kind, inverse, mirrored, tuning.stretch)
    v = -v[::-1] if mirrored else v
    best = np.empty(len(v) + 1)
    best[: max(k, 2)] = np.inf
    best[0] = 0
    size = np.zeros(len(v) + 1, np.int32)
    _near(v[:k] if far else v, k, (0,) * kind, inverse, best, size)
    if far:
        in_leaps(v, k, (0,) * kind, inverse, best, size)
    return best, size


def _in_stretches(
    v: NDArray, k: int, kind: int, inverse: NDArray, mirrored: bool, stretch: int
) -> tuple[NDArray, NDArray]:
    """`search` for small k that writes little: costs of one stretch after another, and sizes in a byte."""
    n, most = len(v), 2 * k - 1
    costs, first = search(-v[: n - most : -1] if mirrored else v[: most - 1], k, kind, inverse, False)
    size = np.empty(n + 1, np.uint8)
    size[:most] = first
    best = np.empty(2 * stretch + most)
    best[:most] = costs
    stretches = max((n - most) // stretch, 1)
    for i in range(stretches):
        begin = i * stretch
        end = n if i == stretches - 1 else begin + stretch + most - 1
        part = -v[n - end : n - begin][::-1] if mirrored else v[begin:end]
        costs = best[: end - begin + 1]
        given = part, (0,) * k, (0,) * kind, inverse, costs, size[begin : end + 1]
        packed(several_ends, *given)(*given)
        if end < n:
            best[:most] = costs[-most:]
    return costs[-2 * k :], size


def borders(left_size: NDArray, start: int, right_size: NDArray, end: int, k: int) -> Ints:
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
def _last_group(v, kind, inverse, best, low, high, end):
    """Least cost of the first `end` values if their last group starts in low..high, and that start.

    The group is grown from its end; its sums are those of the distances from its last value. Of equally good
    starts the last.
    """
    last = v[end - 1]
    least_cost = np.inf
    total = squares = 0.0
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
                cost = whole_cost(total, squares, end - start, inverse[end - start])
        cost += best[start]
        where = start if cost < least_cost else where
        least_cost = min(cost, least_cost)
    return least_cost, where


@kernel
def _near(v, k, kind, inverse, best, size):
    where = 0
    for end in range(k, len(v) + 1):
        low = max(0, end - 2 * k + 1)
        if k > 4:  # for smaller k a fixed number of steps is faster than few
            low = max(low, where)
        best[end], where = _last_group(v, kind, inverse, best, low, end - k, end)
        size[end] = end - where


@kernel
def _meet(v, k, kind, inverse, left, right):
    """The group start..end at the middle for which the least costs of both sides and its own are least.

    v holds the 2k - 1 values on each side of the middle, left and right the costs of reaching each of them.
    """
    half = 2 * k - 1
    least_cost = left[half] + right[half]
    at = (half, half)
    for end in range(half + 1, half + 2 * k - 1):
        low, high = end - 2 * k + 1, min(half - 1, end - k)
        cost, start = _last_group(v, kind, inverse, left, low, high, end)
        if cost + right[2 * half - end] < least_cost:
            least_cost = cost + right[2 * half - end]
            at = (start, end)
    return at
