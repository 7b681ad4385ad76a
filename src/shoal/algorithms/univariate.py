"""Optimal grouping of one column: sort the values, cut the sequence, hand the groups back to the records."""

from typing import Any, Literal

import numpy as np

from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import method
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.sequence import line
from shoal.kernels.sequence.cut import whole_sizes
from shoal.kernels.sequence.sorting import sort, sort_whole

COSTS = {"sse": line.SSE, "absolute": line.ABSOLUTE, "range": line.RANGE}


ONE: dict[str, Any] = {"sizes": "k..2k-1", "cost": "n", "input": "raw", "columns": "one", "optimal": True}


@method(title="Optimal univariate", paper="Hansen and Mukherjee 2003", **ONE)
def univariate(X, k, *, cost: Literal["sse", "absolute", "range"] = "sse"):
    """Sort the values and cut the sequence where the sum of squared errors is least: the exact optimum.

    `cost` is what a group costs: "sse", "absolute" (distances to its median) or "range" (its largest
    value less its smallest). Of equal values that a border divides, the earlier records go to the lower
    group; which values are grouped together does not depend on the order of the records.
    """
    if cost not in COSTS:
        raise InputError(f"cost must be one of {', '.join(map(repr, COSTS))}, not {cost!r}")
    if X.dtype.kind == "i":  # counted from the smallest, so that all digits fit where they can
        values, order = sort_whole(X[:, 0])
        return Partition.in_order(order, line.cut_sorted(values, k, COSTS[cost]))
    values, order = sort(X[:, 0])
    largest = max(-values[0], values[-1])
    if not 1e-100 < largest < 1e100:  # squares would leave the range of doubles; powers of two cost no digits
        values = np.ldexp(values, -int(np.frexp(largest)[1]))
        return Partition.in_order(order, line.cut_sorted(values, k, COSTS[cost]))
    return Partition.in_order(order, line.cut_sorted(values, k, COSTS[cost]), values)


@method(title="Optimal univariate for whole numbers (IMHMI)", paper="Mortazavi 2020", **ONE, whole=True)
def univariate_integer(X, k):
    """The exact optimum for groups that publish the whole number nearest to their mean.

    All sums are exact: in doubles, or without bound where 53 bits might not do (checked beforehand).
    """
    x = X[:, 0]
    if x.dtype.kind == "f" and not (np.all(x == np.rint(x)) and np.all(np.abs(x) < 2**63)):
        raise InputError(
            "method 'univariate_integer' groups whole numbers: round the column, or use 'univariate'"
        )
    small = x.min() > -(2**53) and x.max() < 2**53  # doubles hold them
    values, order = (
        sort(x.astype(np.float64, copy=False)) if small else sort_whole(x.astype(np.int64, copy=False))
    )
    if not _fits(values, k):
        size = whole_sizes(x[order].astype(np.int64)[:, None], k)
        return Partition.in_order(order, line.borders(size, len(x), size[:1], len(x), k))
    starts = line.cut_sorted(values, k, line.WHOLE)
    return Partition.in_order(order, starts, values if small else None, whole=small)


def _fits(values, k):
    """Whether no sum that the search may form can pass 2**53, up to which doubles are exact.

    The widest group of 3k has squares of at most 3k * range**2; the best path to any place costs at
    most one such group more than the groups of k that fill the sequence.
    """
    widest, squares = _ranges(values, k)
    return max(9 * k * int(widest) ** 2 + int(1.001 * k * squares), values[-1] - values[0]) < 2**53


@kernel
def _ranges(values, k):
    """More than the range of any 3k ascending whole numbers; the sum of squared ranges of groups of k."""
    n = len(values)
    widest = 0.0
    for start in range(0, n, 3 * k):
        widest = max(widest, values[min(start + 6 * k, n - 1)] - values[start])
    squares = 0.0
    for end in range(k - 1, n, k):
        distance = values[end] - values[end - k + 1]
        squares += distance * distance
    return widest, squares
