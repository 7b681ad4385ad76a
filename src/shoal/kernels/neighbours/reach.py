"""Which records lie within reach of a box: a walk down a k-d tree."""

import numpy as np

from shoal.kernels.neighbours.kd_tree import DEPTH, box_to_box
from shoal.kernels.runtime.jit import kernel


@kernel
def within_reach(X, tree, low, high, reach, first):
    """The rows from `first` on whose squared distance to the box is at most `reach`, in rising order."""
    found = np.empty(len(X), np.int64)
    count = 0
    waiting = np.empty(DEPTH, np.int64)
    waiting[0] = 0
    left = 1
    while left:
        left -= 1
        node = waiting[left]
        if box_to_box(tree.low[node], tree.high[node], low, high) > reach:
            continue
        if tree.child[node] >= 0:
            waiting[left] = tree.child[node]
            waiting[left + 1] = tree.child[node] + 1
            left += 2
            continue
        for t in range(tree.start[node], tree.end[node]):
            row = tree.order[t]
            if row >= first and box_to_box(X[row], X[row], low, high) <= reach:
                found[count] = row
                count += 1
    return np.sort(found[:count])
