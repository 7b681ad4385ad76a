"""Counting for the check of a release. Used by nothing else: the check shares no code with the grouping."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import together

#: 2**BITS groups are counted at a time: their counts and values (16 bytes each) stay in a core's own cache.
BITS = 14
#: Groups up to which all are counted at once: their table (2 MB) still is in the cache that cores share.
FEW = 200_000


def count_and_compare(labels: Ints, values: NDArray, few: int = FEW) -> tuple[NDArray, bool]:
    """How many records each group has, and whether each group's values are all the same.

    A label below 0, or too large for groups of one record each, is reported as a group of none. Up to `few`
    groups are counted in one table. A table of more groups would leave the cache: the records are first dealt
    into piles by the leading bits of their labels, and then counted pile by pile, by two threads.
    """
    n = len(labels)
    lowest, groups = (int(labels.min()), int(labels.max()) + 1) if n else (-1, 0)
    if not 0 <= lowest < groups <= n:
        return np.zeros(1, np.int64), True
    if groups <= few:
        last = np.empty(groups, values.dtype)
        last[labels] = values
        return np.bincount(labels), bool((last[labels] == values).all())
    middle = n // 2
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
    halves = [(labels[:middle], values[:middle]), (labels[middle:], values[middle:])]
    piles = (groups - 1 >> BITS) + 1
    counts = np.stack(together(*(partial(_look, half, piles) for half, _ in halves)), axis=1)
    ends = np.cumsum(counts).reshape(counts.shape)
    places = (ends - counts).T.copy()
    low, moved = np.empty(n, np.uint16), np.empty_like(values)
    together(*(partial(_deal, *half, start, low, moved) for half, start in zip(halves, places)))
    borders = np.append(0, ends[:, 1])
    sizes = np.zeros(groups, np.int64)
    alike = together(
        partial(_count_piles, 0, piles // 2, borders, low, moved, sizes),
        partial(_count_piles, piles // 2, piles, borders, low, moved, sizes),
    )
    return sizes, all(alike)


@kernel
def _count(labels, values, seen):
    """Into `seen`, for each label, its last value and its count; returns whether no value ever changed."""
    alike = True
    for i in range(len(labels)):
        entry = seen[labels[i]]
        alike &= (entry[1] == 0) | (entry[0] == values[i])
        entry[0] = values[i]
        entry[1] += 1
    return alike


@kernel
def _look(labels, piles):
    """How many labels belong to each pile."""
    sizes = np.zeros(piles, np.int64)
    for i in range(len(labels)):
        sizes[labels[i] >> BITS] += 1
    return sizes


@kernel
def _deal(labels, values, places, low, moved):
    """Put each record's value, and the low bits of its label, on its pile."""
    for i in range(len(labels)):
        pile = labels[i] >> BITS
        at = places[pile]
        places[pile] = at + 1
        low[at] = labels[i] & ((1 << BITS) - 1)
        moved[at] = values[i]


@kernel
def _count_piles(first, last, borders, low, moved, sizes):
    seen = np.empty((1 << BITS, 2), moved.dtype)
    alike = True
    for pile in range(first, last):
        seen[:] = 0
        begin, end = borders[pile], borders[pile + 1]
        alike &= _count(low[begin:end], moved[begin:end], seen)
        counts = sizes[pile << BITS : (pile + 1) << BITS]
        for g in range(len(counts)):
            counts[g] = seen[g, 1]
    return alike
