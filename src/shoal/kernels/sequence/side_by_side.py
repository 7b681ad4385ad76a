"""The near search of `line` for the SSE and for whole centroids, for many ends at a time.

What a group costs does not depend on the groups before it. So first the costs of all groups that end in a
stretch are found: all ends do the same, and the processor does several in one instruction. Only then is the
best path followed from end to end. The operations on each number, and so the outcome, are those of `line`.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence.cut import whole_cost
from shoal.kernels.sequence.far import WHOLE

#: Costs of a stretch: with the sums that lead to them they stay in the innermost cache.
COSTS = 2048
#: Ends of a stretch, at least: shorter ones wait more than they work.
ENDS = 64


@kernel
def several_ends(v, k, kind, inverse, best, size):
    """From the end 2k - 1 on: the least cost of the values up to each end, and the size of the last group.

    k is the length of a tuple, at least 2: so the compiler knows how long the loops are.
    """
    least, most = len(k), 2 * len(k) - 1
    stretch = max(COSTS // least, ENDS)
    total, squares, costs = np.empty(stretch), np.empty(stretch), np.empty((least, stretch))
    for begin in range(most, len(v) + 1, stretch):
        ends = min(stretch, len(v) + 1 - begin)
        last = v[begin - 1 : begin - 1 + ends]
        total[:] = 0.0
        squares[:] = 0.0
        for m in range(2, most + 1):
            first, its_cost, rate = v[begin - m : begin - m + ends], costs[m - least], inverse[m]
            if m < least:
                for i in range(ends):
                    distance = last[i] - first[i]
                    total[i] += distance
                    squares[i] += distance * distance
            else:
                for i in range(ends):
                    distance = last[i] - first[i]
                    total[i] += distance
                    squares[i] += distance * distance
                    if len(kind) == WHOLE:
                        its_cost[i] = whole_cost(total[i], squares[i], float(m), rate)
                    else:
                        its_cost[i] = squares[i] - total[i] * total[i] * rate
        path, found, its_size = best[begin - most :], best[begin:], size[begin:]
        for i in range(ends):
            cost, where = costs[0, i] + path[i + least - 1], least
            for longer in range(1, least):
                other = costs[longer, i] + path[i + least - 1 - longer]
                where = least + longer if other < cost else where
                cost = other if other < cost else cost
            found[i] = cost
            its_size[i] = where
