"""Stable sorting of many numbers, two threads: they are dealt into buckets, and each is sorted in the cache.

No value is ever looked up at its record: value and record move together, twice. Buckets are narrow where
values are dense. Around a middle value their borders are evenly spaced; further out they are a fixed ratio
apart, as doubles themselves are. In a bucket, values go to as many cells as it has values; then few stand
behind a greater one.
"""

from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import together

#: Values up to which numpy's stable sort does: the kernels gain nothing there.
FEW = 2000
#: Buckets on each side of the middle: five million values make buckets of some thousand, whose values and
#: records (12 bytes each) stay in a core's own cache. A power of two.
HALF = 1024
#: Values that are looked at to find the middle and how far the others are from it.
SAMPLE = 4096
#: Buckets above LONG values are dealt again: they would leave the cache.
LONG = 1 << 17
#: Steps that a bucket's values may take in the last pass, for each value. Where cells did not tell most of
#: them apart, numpy's sort takes over.
STEPS = 8
#: Values from which two threads pay: to start the second takes a fixed time.
TWO_THREADS = 100_000


def sort(x: Floats, few: int = FEW) -> tuple[Floats, NDArray[np.uint32]]:
    """The values of x (without NaN) in ascending order, and the record that each came from.

    Equal values (-0.0 equals 0.0) keep the order of the records. At most 2**32 values.
    """
    n = len(x)
    if n <= few:
        return _plainly(x)
    x = np.ascontiguousarray(x).view()
    x.flags.writeable = False  # one type of array, so that kernels compile only once
    cut = n // 2 if n >= TWO_THREADS else n
    halves = [(a, b) for a, b in ((0, cut), (cut, n)) if a < b]
    sample = np.sort(x[:: n // SAMPLE + 1])
    with np.errstate(over="ignore"):
        middle = sample[len(sample) // 2]
        apart = np.sort(np.abs(sample - middle))
        reach = max(together(*(partial(_reach, x[a:b], middle) for a, b in halves)))
        if reach == 0:
            return x.copy(), np.arange(n, dtype=np.uint32)
        apart = apart[apart > 0]
        unit = apart[len(apart) // 2] if len(apart) else reach
        if not reach + unit < np.inf:
            return _plainly(x)
        farthest = int(_bits(reach + unit) - _bits(unit))
    scale = middle, unit, max(farthest.bit_length() - HALF.bit_length() + 1, 0)
    counts = np.stack(together(*(partial(_count, x[a:b], *scale) for a, b in halves)), axis=1)
    ends = np.cumsum(counts).reshape(counts.shape)
    values, order = np.empty(n), np.empty(n, np.uint32)
    together(
        *(
            partial(_deal, a, b, x, *scale, places, values, order)
            for (a, b), places in zip(halves, (ends - counts).T.copy())
        )
    )
    borders = np.append(0, ends[:, -1])
    half = np.searchsorted(borders, cut)
    parts = [borders[: half + 1], borders[half:]]
    hard = together(*(partial(_sort_buckets, part, values, order) for part in parts))
    for start, end in chain.from_iterable(hard):
        deal_again = LONG < end - start <= n // 2
        values[start:end], within = (sort if deal_again else _plainly)(values[start:end])
        order[start:end] = order[start:end][within]
    return values, order


def sort_whole(x: Ints, few: int = FEW) -> tuple[Floats, NDArray[np.uint32]]:
    """Whole numbers in ascending order, counted from the smallest, as doubles; and each one's record.

    The order is exact also where the doubles are not, above 2**53: then it is made by the last 32 bits first.
    """
    distance = x.view(np.uint64) - x.min().view(np.uint64)
    if distance.max() < 2**53:
        return sort(distance.astype(np.float64), few)
    last = sort((distance & np.uint64(0xFFFFFFFF)).astype(np.float64), few)[1]
    order = last[sort((distance >> np.uint64(32))[last].astype(np.float64), few)[1]]
    return distance[order].astype(np.float64), order


def _plainly(x: Floats) -> tuple[Floats, NDArray[np.uint32]]:
    order = np.argsort(x, kind="stable").astype(np.uint32)
    return x[order], order


@kernel
def _bits(value):
    """Of doubles that are not negative: whole numbers that order as they do."""
    return np.float64(value).view(np.int64)


@kernel
def _reach(x, middle):
    """How far the farthest value is from the middle. Of bits, the compiler compares several at a time."""
    farthest = np.int64(0)
    for i in range(len(x)):
        farthest = max(farthest, _bits(abs(x[i] - middle)))
    return np.int64(farthest).view(np.float64)


@kernel
def _bucket(value, middle, unit, shift):
    distance = value - middle
    away = (_bits(abs(distance) + unit) - _bits(unit)) >> shift
    return HALF + away if distance >= 0 else HALF - away


@kernel
def _count(x, middle, unit, shift):
    counts = np.zeros(2 * HALF + 1, np.int64)
    for i in range(len(x)):
        counts[_bucket(x[i], middle, unit, shift)] += 1
    return counts


@kernel
def _deal(start, end, x, middle, unit, shift, places, values, order):
    for i in range(start, end):
        bucket = _bucket(x[i], middle, unit, shift)
        at = places[bucket]
        places[bucket] = at + 1
        values[at] = x[i]
        order[at] = i


@kernel
def _sort_buckets(borders, values, order):
    """Sort what lies between two borders each; return where the buckets are that are left to others."""
    most = 0
    for bucket in range(len(borders) - 1):
        size = borders[bucket + 1] - borders[bucket]
        most = max(most, size if size <= LONG else 0)
    own, records, cells = np.empty(most), np.empty(most, np.uint32), np.empty(most + 1, np.int32)
    hard = [(0, 0)]  # says to the compiler what it will hold
    for bucket in range(len(borders) - 1):
        start, end = borders[bucket], borders[bucket + 1]
        if end - start > LONG:
            hard.append((start, end))
        elif end - start > 1:
            _into_cells(values[start:end], order[start:end], own, records, cells)
            if not _insert(own, records, values[start:end], order[start:end]):
                hard.append((start, end))
    return hard[1:]


@kernel
def _into_cells(values, order, own, records, cells):
    """Put values of low cells before those of high ones: into `own`, and their records into `records`."""
    size = len(values)
    low = high = values[0]
    for i in range(size):
        low = min(low, values[i])
        high = max(high, values[i])
    width = high - low
    rate = (size - 0.5) / width if width > 1e-290 else 0.0  # else all values share a cell
    cells[: size + 1] = 0
    for i in range(size):
        cells[np.int64((values[i] - low) * rate) + 1] += 1
    before = np.int32(0)
    for cell in range(size):
        before += cells[cell]
        cells[cell] = before
    for i in range(size):
        cell = np.int64((values[i] - low) * rate)
        at = cells[cell]
        cells[cell] = at + 1
        own[at] = values[i]
        records[at] = order[i]


@kernel
def _insert(own, records, values, order):
    """Insert one after another into `values`. Whether the steps sufficed; if not, all are there unsorted."""
    steps = STEPS * len(values)
    for i in range(len(values)):
        value, at = own[i], i
        if steps > 0:
            while at > 0 and values[at - 1] > value:
                values[at] = values[at - 1]
                order[at] = order[at - 1]
                at -= 1
        steps -= i - at
        values[at] = value
        order[at] = records[i]
    return steps > 0
