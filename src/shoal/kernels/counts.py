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
    counts, first = np.zeros((2, groups), np.int32), np.empty((2, groups), values.dtype)
    alike = together(
        partial(_count, labels[:middle], values[:middle], counts[0], first[0]),
        partial(_count, labels[middle:], values[middle:], counts[1], first[1]),
    )
    agree = (first[0] == first[1]) | (counts[0] == 0) | (counts[1] == 0)
    return counts[0] + counts[1], all(alike) and bool(agree.all())


@kernel
def _count(labels, values, counts, first):
    alike = True
    for i in range(len(labels)):
        g = labels[i]
        if counts[g] == 0:
            first[g] = values[i]
        elif first[g] != values[i]:
            alike = False
        counts[g] += 1
    return alike
