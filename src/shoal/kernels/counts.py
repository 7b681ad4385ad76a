"""Counting for the check of a release. Used by nothing else: the check shares no code with the grouping."""

import numpy as np

from shoal.kernels._jit import kernel


@kernel
def count_and_compare(labels, values, groups):
    """How many records each group has, and whether each group's values are all the same."""
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
    return counts, alike
