"""Groups of sorted values handed back to the records: each record's label, and what its group publishes.

Writing straight to the records' places would miss the cache at every single one. So the records are first
dealt into piles by the leading bits of their numbers: a pile takes up just the places of its records. Then
each pile, which fits into the cache, is put in order where it lies.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.runtime.threads import together

#: Places in a pile: their labels and means (16 bytes each) fit into a core's own cache. Not a power of two:
#: the heads of such piles would crowd the same lines of the cache.
PILE = 32_771
#: Each pile that is being filled takes a line of the cache: 512 lines are 32 kB, the innermost cache.
MOST_PILES = 512


def hand_back(
    order: NDArray[np.uint32], starts: Ints, published: NDArray, by_record: NDArray, pile: int = PILE
) -> Ints:
    """Each record's label. Into `by_record`: what its group order[starts[g] : starts[g + 1]] publishes.

    Two threads begin to fill each pile from its two ends.
    """
    n, groups = len(order), len(starts) - 1
    piles = min(n // pile + 1, MOST_PILES)
    rate = (piles << 32) // n  # record i is on the pile i * rate >> 32
    borders = -(-(np.arange(piles + 1) << 32) // rate)
    borders[-1] = n
    words = np.empty(n, np.int64)
    arguments = (order, starts, rate, words, by_record, published)
    together(
        partial(_deal, 0, groups // 2, 1, borders[:-1].copy(), *arguments),
        partial(_deal, groups // 2, groups, -1, borders[1:] - 1, *arguments),
    )
    together(
        partial(_put_in_order, borders[: piles // 2 + 1], words, by_record),
        partial(_put_in_order, borders[piles // 2 :], words, by_record),
    )
    return words


@kernel
def _deal(first, last, step, places, order, starts, rate, words, by_record, published):
    """Deal the records of the groups first..last-1. One long loop is faster than many short ones."""
    g = first
    end = starts[g + 1]
    for i in range(starts[first], starts[last]):
        g += i == end
        end = starts[g + 1]
        record = np.int64(order[i])
        pile = record * rate >> 32
        at = places[pile]
        places[pile] = at + step
        words[at] = record << 32 | g
        by_record[at] = published[g]


@kernel
def _put_in_order(borders, words, by_record):
    """Put each record of these piles into its place, and leave only its label there."""
    for pile in range(len(borders) - 1):
        start, end = borders[pile], borders[pile + 1]
        its_words, its_own = words[start:end].copy(), by_record[start:end].copy()
        for i in range(end - start):
            record = its_words[i] >> 32
            words[record] = its_words[i] & 0xFFFFFFFF
            by_record[record] = its_own[i]
