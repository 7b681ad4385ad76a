"""Counting for the check of a release. Used by nothing else: the check shares no code with the grouping."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._jit import kernel
from shoal.kernels._threads import together


def count_and_compare(labels: NDArray[np.int64], values: NDArray, groups: int) -> tuple[NDArray, bool]:
    """How many records each group has, and whether each group's values are all the same.

    Both halves of the records are counted at once; a group that occurs in both must agree.
    """
    middle = len(labels) // 2
    halves = (labels[:middle], values[:middle]), (labels[middle:], values[middle:])
    (counts, first, alike), (more, other, also) = together(*(partial(_count, *h, groups) for h in halves))
    both = (counts > 0) & (more > 0)
    return counts + more, alike and also and np.array_equal(first[both], other[both])


@kernel
def _count(labels, values, groups):
    counts = np.zeros(groups, np.int32)
    first = np.empty(groups, values.dtype)
    alike = True
    for i in range(len(labels)):
        g = labels[i]
        if counts[g] == 0:
            first[g] = values[i]
        elif first[g] != values[i]:
            alike = False
        counts[g] += 1
    return counts, first, alike
