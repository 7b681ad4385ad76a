"""What a group publishes for a column: its mean, median, trimmed mean or mode, in the column's own type."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.frame.column import Column
from shoal.grouping.partition import ColumnMoments, Partition
from shoal.stages.totals import keep_total

_USUAL = {"nominal": "mode", "boolean": "mode", "ordinal": "median"}  # all others: the mean


class GroupValues(NamedTuple):
    """What each group publishes in one column."""

    values: NDArray
    gaps: Bools | None = None  # the groups that have no value and publish a gap
    by_record: NDArray | None = None  # the values by record, where they are at hand
    exact: bool = False  # whether the values are the groups' means to the last digit

    def spread(self, partition: Partition) -> NDArray:
        """What each record publishes. What was at hand belongs to the caller from now on: ask only once."""
        return partition.spread(self.values) if self.by_record is None else self.by_record

    def without(self, thin: Bools | None) -> "GroupValues":
        """The same, with gaps in the place of these cells."""
        if thin is None:
            return self
        gaps = thin if self.gaps is None else thin | self.gaps
        return GroupValues(np.where(gaps, self.values.dtype.type(0), self.values), gaps)


def publish(
    column: Column,
    partition: Partition,
    how: str | None = None,
    weight: Floats | None = None,
    preserve: str | None = None,
    moments: ColumnMoments | None = None,
) -> GroupValues:
    """One value for each group, made of those that are there.

    `moments`: what the method that grouped by this column alone has left there.
    """
    how = how or _USUAL.get(column.type, "mean")
    if moments and how == "mean" and weight is None and preserve is None:
        real = column.type == "continuous" and column.values.dtype.kind == "f"
        means = moments.means if real else moments.whole
        if means is not None:
            at_hand = real == (moments.whole is None) and means.dtype == column.values.dtype
            by_record = moments.by_record if at_hand else None
            means = means.astype(column.values.dtype, copy=False)
            return GroupValues(means, None, by_record, exact=real and at_hand)
    if column.gaps is None:
        return GroupValues(_middle(column, column.values, partition, how, weight, preserve))
    there = ~column.gaps
    published, empty = np.zeros(len(partition), column.values.dtype), np.ones(len(partition), bool)
    if there.any():
        labels = partition.labels[there]
        part = Partition(labels)
        groups = np.empty(len(part), np.int64)
        groups[part.labels] = labels
        weights = None if weight is None else weight[there]
        published[groups] = _middle(column, column.values[there], part, how, weights, preserve)
        empty[groups] = False
    return GroupValues(published, empty if empty.any() else None)


def _middle(
    column: Column,
    values: NDArray,
    partition: Partition,
    how: str,
    weight: Floats | None,
    preserve: str | None,
) -> NDArray:
    if preserve == "totals" and has_whole_total(column):
        whole_values = values.astype(np.int64) if values.dtype.kind == "f" else values
        means = keep_total(column.name, whole_values, _whole_means(whole_values, partition), partition)
        return means.astype(values.dtype)
    if column.type == "nominal" or how == "mode":
        return _modes(values, partition, weight)
    whole = column.type != "continuous" or values.dtype.kind != "f"
    if how == "mean":
        means = centroids(values, partition) if weight is None else _weighted_means(values, partition, weight)
    elif how == "median":
        means = _medians(values, partition, weight, lower=column.categorical)
    else:
        means = _trimmed_means(values, partition, weight)
    return (round_half_away(means) if whole else means).astype(values.dtype, copy=False)


def has_whole_total(column: Column) -> bool:
    """Whether its means are rounded and its total means something: whole numbers and decimals."""
    return column.type == "integer" or (column.type == "continuous" and column.values.dtype.kind != "f")


def round_half_away(numbers: NDArray) -> NDArray:
    """The nearest whole numbers, halves away from zero."""
    if numbers.dtype.kind != "f":
        return numbers
    return np.copysign(np.floor(np.abs(numbers) + 0.5), numbers) + 0.0


def centroids(column: NDArray, partition: Partition) -> NDArray:
    """Each group's mean; of whole numbers the nearest whole number, half away from zero."""
    if column.dtype.kind != "f":
        return _whole_means(column, partition)
    wide = column.astype(np.float64, copy=False)[:, None]
    if wide.min() >= -1e300 and wide.max() <= 1e300:
        means, _ = partition.means_and_sse(wide)  # which a method may have left there
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
        totals = [0] * len(partition)
        for label, value in zip(partition.labels.tolist(), wide.tolist()):
            totals[label] += value
        means = [nearest(total, size) for total, size in zip(totals, sizes.tolist())]
        return np.array(means, column.dtype)
    sums = np.zeros(len(partition), np.uint64)
    np.add.at(sums, partition.labels, offsets)
    quotient, rest = np.divmod(sums, sizes.astype(np.uint64))
    floor = (quotient + low.astype(np.uint64)).view(wide.dtype)
    twice = 2 * rest.astype(np.int64)
    up = np.where(floor < 0, twice > sizes, twice >= sizes)
    return (floor + up.astype(wide.dtype)).astype(column.dtype)


def _weighted_means(values: NDArray, partition: Partition, weight: Floats) -> NDArray:
    """Differences from each group's smallest value are summed: neither far values nor large ones cost digits.

    Means of whole numbers are the nearest whole number, half away from zero. A group whose weights are all 0
    has its plain mean.
    """
    labels, groups = partition.labels, len(partition)
    weight = _votes(partition, np.ldexp(weight, -int(np.frexp(weight.max())[1])))
    whole = values.dtype.kind != "f"
    wide = values.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[values.dtype.kind])
    exponent = 100 if not whole and np.abs(wide).max() > 1e150 else 0  # else the sums could overflow
    wide = wide if whole else np.ldexp(wide, -exponent)
    low = np.full(groups, wide.max())
    np.minimum.at(low, labels, wide)
    if whole:
        above = (wide.view(np.uint64) - low.view(np.uint64)[labels]).astype(np.float64)
    else:
        above = wide - low[labels]
    shift = np.bincount(labels, weight * above, groups) / np.bincount(labels, weight, groups)
    if not whole:
        return np.ldexp(low + shift, exponent)
    floor, most = np.floor(shift), np.nextafter(2.0**64, 0)
    room = wide.max().view(np.uint64) - low.view(np.uint64)  # whatever was rounded: never beyond the largest
    steps = np.where(floor > most, room, np.minimum(np.minimum(floor, most).astype(np.uint64), room))
    means = (low.view(np.uint64) + steps).view(wide.dtype)
    rest = shift - floor
    up = np.where(means < 0, rest > 0.5, rest >= 0.5)
    return means + up.astype(wide.dtype)


def _votes(partition: Partition, weight: Floats) -> Floats:
    """The weights; in a group whose weights are all 0, each record has one vote."""
    return np.where(np.bincount(partition.labels, weight)[partition.labels] > 0, weight, 1.0)


def _sorted(values: NDArray, partition: Partition) -> tuple[NDArray[np.intp], Ints]:
    """Rows by group and value, and where each group begins."""
    begins = np.cumsum(partition.sizes) - partition.sizes
    return np.lexsort((values, partition.labels)), begins


def _medians(values: NDArray, partition: Partition, weight: Floats | None, lower: bool) -> NDArray:
    """The value at which half the weight is reached; midway to the next (or the `lower`) if exactly there."""
    order, begins = _sorted(values, partition)
    ordered, sizes = values[order], partition.sizes
    if weight is None:
        low, high = begins + (sizes - 1) // 2, begins + sizes // 2
    else:
        votes = _votes(partition, weight)
        total = np.bincount(partition.labels, votes)
        reached = np.cumsum(votes[order]) - np.repeat(np.cumsum(total) - total, sizes)
        half, group = np.repeat(total / 2, sizes), np.repeat(np.arange(len(sizes)), sizes)
        slack = 1e-12 * np.repeat(total, sizes)
        low = begins + np.bincount(group, reached < half - slack, len(sizes)).astype(np.int64)
        high = begins + np.bincount(group, reached <= half + slack, len(sizes)).astype(np.int64)
        high = np.minimum(high, begins + sizes - 1)
    if lower or np.array_equal(ordered[low], ordered[high]):
        return ordered[low]
    if values.dtype.kind == "f":
        return ordered[low] / 2 + ordered[high] / 2
    first, last = ordered[low].astype(object), ordered[high].astype(object)  # no overflow
    return np.array([nearest(int(a) + int(b), 2) for a, b in zip(first, last)], values.dtype)


def nearest(total: int, parts: int) -> int:
    """The whole number nearest to a part of the total; of two, the one farther from zero."""
    return (2 * abs(total) + parts) // (2 * parts) * (1 if total >= 0 else -1)


def _trimmed_means(values: NDArray, partition: Partition, weight: Floats | None) -> NDArray:
    """The mean without the lowest and the highest fifth: at least one record each, of three or more."""
    order, begins = _sorted(values, partition)
    sizes = partition.sizes
    cut = np.where(sizes >= 3, np.maximum(sizes // 5, 1), 0)
    place = np.arange(len(values)) - np.repeat(begins, sizes)
    inner = order[(place >= np.repeat(cut, sizes)) & (place < np.repeat(sizes - cut, sizes))]
    inner = np.sort(inner)
    labels = partition.labels[inner]
    part = Partition(labels)
    inside = values[inner]
    means = centroids(inside, part) if weight is None else _weighted_means(inside, part, weight[inner])
    trimmed = np.empty(len(partition), means.dtype)
    trimmed[labels] = means[part.labels]
    return trimmed


def _modes(values: NDArray, partition: Partition, weight: Floats | None) -> NDArray:
    """The value most have. Among equals the one commoner in the whole table, then the smallest."""
    weight = None if weight is None else _votes(partition, weight)
    levels, codes, common = np.unique(values, return_inverse=True, return_counts=True)
    pairs = partition.labels * len(levels) + codes
    distinct, inverse = np.unique(pairs, return_inverse=True)
    votes = np.bincount(inverse, weight)
    group, level = np.divmod(distinct, len(levels))
    best = np.lexsort((level, -common[level], -votes, group))
    return levels[level[best[np.searchsorted(group[best], np.arange(len(partition)))]]]
