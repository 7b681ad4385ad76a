"""What a group publishes for a column: its mean, in the column's own number type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.partition import Partition


def centroids(column: NDArray, partition: Partition) -> NDArray:
    """Each group's mean; of whole numbers the nearest whole number, half away from zero."""
    if column.dtype.kind == "f":
        return _float_means(column, partition)
    return _whole_means(column, partition)


def _float_means(column: NDArray, partition: Partition) -> NDArray:
    wide = column.astype(np.float64, copy=False)[:, None]
    if np.abs(wide).max() < 1e300:
        means = partition.means(wide)
    else:  # differences of such values could overflow
        means = np.ldexp(partition.means(np.ldexp(wide, -4)), 4)
    return means[:, 0].astype(column.dtype, copy=False)


def _whole_means(column: NDArray, partition: Partition) -> NDArray:
    """Exact: sums of differences from the smallest value, in 64 bits where they fit."""
    wide = column.astype(np.int64 if column.dtype.kind == "i" else np.uint64, copy=False)
    low = wide.min()
    offsets = wide.view(np.uint64) - low.astype(np.uint64)
    sizes = partition.sizes
    if int(offsets.max()) * int(sizes.max()) >= 2**64:
        return _whole_means_of_any_size(wide, partition).astype(column.dtype)
    sums = np.zeros(len(partition), np.uint64)
    np.add.at(sums, partition.labels, offsets)
    quotient, rest = np.divmod(sums, sizes.astype(np.uint64))
    floor = (quotient + low.astype(np.uint64)).view(wide.dtype)
    twice = 2 * rest.astype(np.int64)
    up = np.where(floor < 0, twice > sizes, twice >= sizes)
    return (floor + up.astype(wide.dtype)).astype(column.dtype)


def _whole_means_of_any_size(column: NDArray, partition: Partition) -> NDArray:
    sums = [0] * len(partition)
    for label, value in zip(partition.labels.tolist(), column.tolist()):
        sums[label] += value
    means = [
        (2 * abs(total) + size) // (2 * size) * (1 if total >= 0 else -1)
        for total, size in zip(sums, partition.sizes.tolist())
    ]
    return np.array(means, column.dtype)
