"""Stable sorting of many numbers by radix: order-preserving 64-bit keys, two threads.

A key's leading bits (as many as tell the values apart, at most 32) and the record's number share one
64-bit word, so each pass moves a single array. Values that agree in those bits are then put in order
among themselves.
"""

from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import together

SIGN = np.uint64(1 << 63)
#: Bits of a key that one pass sorts by, at most: 32 bits take three passes of 11, the 24 bits of 16 million
#: whole numbers two. The counts of a pass (32 kB) stay in the innermost cache.
DIGIT = 12
#: Runs of equal leading bits up to SHORT values are sorted by insertion, above LONG by radix again, the
#: others by merging. All give the same order; they trade fixed costs against growth.
SHORT, LONG = 24, 4096
#: Values from which two threads pay: to start the second takes a fixed time.
TWO_THREADS = 100_000


def sort(x: NDArray) -> tuple[NDArray, NDArray[np.uint32]]:
    """The values of x (float64 without NaN, or int64) in ascending order, and the record each came from.

    Equal values (-0.0 equals 0.0) keep the order of the records. At most 2**32 values.
    """
    n = len(x)
    bits = x.view(np.uint64)
    floating = x.dtype.kind == "f"
    middle = n // 2 if n >= TWO_THREADS else n
    halves = [(a, b) for a, b in ((0, middle), (middle, n)) if a < b]

    def each(kernel, *arguments):
        return together(*(partial(kernel, a, b, *arguments) for a, b in halves))

    spans = each(_span, bits, floating)
    low = np.uint64(min(least for least, _ in spans))
    width = int(max(greatest for _, greatest in spans) - low).bit_length()
    shift = max(width - 32, 0)
    words, spare = np.empty(n, np.uint64), np.empty(n, np.uint64)
    each(_pack, bits, floating, low, shift, words)
    leading = max(min(width, 32), 1)
    digit = -(-leading // -(-leading // DIGIT))  # passes of equal width
    for at in range(32, 32 + leading, digit):
        counts = np.stack(each(_count, words, at, digit), axis=1)
        places = np.cumsum(counts.ravel()).reshape(counts.shape) - counts
        together(*(partial(_move, a, b, words, at, p, spare) for (a, b), p in zip(halves, places.T.copy())))
        words, spare = spare, words
    values, order = spare.view(x.dtype), np.empty(n, np.uint32)
    each(_gather, words, bits, floating, shift, low, values.view(np.uint64), order)
    if shift:
        for start, end in chain.from_iterable(each(_mend, words, values, order)):
            values[start:end], within = sort(values[start:end].copy())
            order[start:end] = order[start:end][within]
    return values, order


@kernel
def _key(bits, floating):
    """A whole number that orders as the value does whose bits are given."""
    if not floating:
        return bits ^ SIGN
    if bits == SIGN:  # -0.0
        return SIGN
    return ~bits if bits & SIGN else bits | SIGN


@kernel
def _span(start, end, bits, floating):
    """Least and greatest key."""
    low = high = _key(bits[start], floating)
    for i in range(start, end):
        key = _key(bits[i], floating)
        low = min(low, key)
        high = max(high, key)
    return low, high


@kernel
def _pack(start, end, bits, floating, low, shift, words):
    for i in range(start, end):
        lead = (_key(bits[i], floating) - low) >> np.uint64(shift)
        words[i] = lead << np.uint64(32) | np.uint64(i)


@kernel
def _count(start, end, words, at, digit):
    counts = np.zeros(1 << digit, np.int64)
    for i in range(start, end):
        counts[np.int64(words[i] >> np.uint64(at)) & (len(counts) - 1)] += 1
    return counts


@kernel
def _move(start, end, words, at, places, out):
    for i in range(start, end):
        digit = np.int64(words[i] >> np.uint64(at)) & (len(places) - 1)
        out[places[digit]] = words[i]
        places[digit] += 1


@kernel
def _gather(start, end, words, bits, floating, shift, low, values, order):
    """Values from the records; whole numbers whose key is complete, from the key."""
    for i in range(start, end):
        record = np.int64(words[i] & np.uint64(0xFFFFFFFF))
        order[i] = record
        if floating or shift > 0:
            values[i] = bits[record]
        else:
            values[i] = ((words[i] >> np.uint64(32)) + low) ^ SIGN


@kernel
def _mend(start, end, words, values, order):
    """Sort each run of equal leading bits that begins in start..end; return where the long ones are."""
    n = len(words)
    long = [(n, n)]  # says to the compiler what it will hold
    half = np.uint64(32)
    while 0 < start < n and words[start] >> half == words[start - 1] >> half:
        start += 1
    while start < end:
        stop = start + 1
        ascending = True
        while stop < n and words[stop] >> half == words[start] >> half:
            ascending = ascending and values[stop - 1] <= values[stop]
            stop += 1
        if not ascending:
            if stop - start <= SHORT:
                _insert(values[start:stop], order[start:stop])
            elif stop - start <= LONG:
                within = np.argsort(values[start:stop], kind="mergesort")
                values[start:stop] = values[start:stop][within]
                order[start:stop] = order[start:stop][within]
            else:
                long.append((start, stop))
        start = stop
    return long[1:]


@kernel
def _insert(values, order):
    for i in range(1, len(values)):
        value, record, j = values[i], order[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            order[j] = order[j - 1]
            j -= 1
        values[j] = value
        order[j] = record
