"""What can be counted within groups of records, whole columns at a time."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.large import PIECE


def same(columns: Iterable[NDArray]) -> Ints:
    """A number for each record; records have the same number if they agree in all columns.

    Columns that come one after another are forgotten one after another, and not asked for when no two
    records agree.
    """
    labels, count = np.zeros(0, np.int64), 0
    for column in columns:
        codes, levels = numbered(column)
        labels, count = (codes, levels) if count == 0 else numbered(labels * levels + codes)
        if count == len(labels):
            break
    return labels


def numbered(values: NDArray) -> tuple[Ints, int]:
    """The place of each value among the different ones, from 0; gaps (NaN) are alike, and last. How many."""
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() <= len(values):
        seen = np.zeros(int(values.max()) + 1, np.int64)
        seen[values] = 1
        return (np.cumsum(seen) - 1)[values], int(seen.sum())
    order = np.argsort(values)  # several times as fast as a stable sort, and as one by several columns
    number = np.cumsum(changes(values[order])) - 1
    codes = np.empty(len(values), np.int64)
    codes[order] = number
    return codes, int(number[-1]) + 1 if len(number) else 0


def changes(placed: NDArray) -> NDArray[np.bool_]:
    """Of values in order: which differ from the one before; one gap (NaN) does not differ from another."""
    new = np.ones(len(placed), bool)
    new[1:] = placed[1:] != placed[:-1]
    if placed.dtype.kind == "f":
        gap = np.isnan(placed)
        new[1:] &= ~(gap[1:] & gap[:-1])
    return new


def real_cells(before: NDArray, after: NDArray, labels: Ints) -> float:
    """The share of groups that publish a value which one of their own records has; gaps do not count."""
    there = ~np.isnan(after)
    own = np.bincount(labels[there], before[there] == after[there])
    published = np.bincount(labels[there]) > 0
    return float((own[published] > 0).mean()) if published.any() else 0.0


class Groups:
    """The records of each group together, with their values in ascending order, a gap (NaN) at the end."""

    def __init__(self, labels: Ints, values: NDArray):
        codes, self.levels = numbered(values)
        key = labels * self.levels
        key += codes
        order = np.argsort(key)  # by group, then by value
        del key
        self.ranks = codes[order]  # the place of each value among all
        del codes
        self.values = values[order]
        self.sizes = np.bincount(labels)
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        self.ends = self.starts + self.sizes

    def ranges(self) -> NDArray:
        """The difference between the largest and the smallest value of each group."""
        return self.values[self.ends - 1] - self.values[self.starts]

    def distinct(self) -> Ints:
        """How many different values each group has; a gap is a value."""
        new = changes(self.ranks)
        new[self.starts] = True
        return np.add.reduceat(new, self.starts, dtype=np.int64)

    def shares_of_largest(self) -> tuple[NDArray, NDArray]:
        """The share of the largest one, and of the largest two, in the sum of each group's values.

        Values count without their sign: the largest lie at the ends. A group whose sum is 0 has no dominating
        unit.
        """
        values = np.abs(self.values)
        low, high = values[self.starts], values[self.ends - 1]
        inner = np.where(low > high, self.starts + 1, self.ends - 2)  # beside the largest
        inner = np.clip(inner, 0, len(values) - 1)
        second = np.where(self.sizes > 1, np.maximum(np.minimum(low, high), values[inner]), 0)
        total, first = np.add.reduceat(values, self.starts), np.maximum(low, high)
        safe = np.where(total > 0, total, np.inf)
        return first / safe, (first + second) / safe

    def near(self, reach: float, piece: int = PIECE) -> NDArray:
        """For each record (in the order of the groups): the share of its group within reach of its value.

        Each group's values are lifted above those of the group before, so that one search finds all.
        """
        gap = float(self.ranges().max(initial=0.0)) + 3 * reach + 1.0
        slack, found = reach + 1e-9 * gap, np.empty(len(self.values))
        for some in self._stretches(piece):
            rows, sizes = slice(self.starts[some][0], self.ends[some][-1]), self.sizes[some]
            placed = self.values[rows] - np.repeat(self.values[self.starts[some]], sizes)
            placed += np.repeat(gap * np.arange(len(sizes)), sizes)
            first, last = (
                np.searchsorted(placed, placed - slack),
                np.searchsorted(placed, placed + slack, "right"),
            )
            found[rows] = (last - first) / np.repeat(sizes, sizes)
        return found

    def distances_ordered(self, piece: int = PIECE) -> NDArray:
        """Earth mover's distance of each group's values to those of all, in ranks, from 0 to 1 (t-closeness).

        Neighbouring distinct values lie 1/(m-1) apart. Between two values of a group its distribution is
        flat, so the distance over that stretch comes from sums made once for the whole column.
        """
        ranks, m = self.ranks, self.levels
        if m == 1:
            return np.zeros(len(self.sizes))
        F = np.cumsum(np.bincount(ranks)) / len(ranks)
        sums = np.concatenate(([0.0], np.cumsum(F)))
        found = np.empty(len(self.sizes))
        for some in self._stretches(piece):
            starts, sizes = self.starts[some] - self.starts[some][0], self.sizes[some]
            a = ranks[self.starts[some][0] : self.ends[some][-1]]
            height = (np.arange(len(a)) - np.repeat(starts, sizes) + 1) / np.repeat(sizes, sizes)
            b = np.append(a[1:], m - 1)
            b[starts + sizes - 1] = m - 1  # the last stretch of a group ends with the column: it adds |1 - F|
            turn = np.clip(np.searchsorted(F, height), a, b)
            stretch = height * (2 * turn - a - b) + sums[a] + sums[b] - 2 * sums[turn]
            before = sums[a[starts]]  # below its smallest value a group's distribution is 0
            found[some] = (np.add.reduceat(stretch, starts) + before) / (m - 1)
        return found

    def _stretches(self, piece: int) -> Iterator[slice]:
        """Some groups after others: what is made of their records at a time is small."""
        cuts = np.unique(np.searchsorted(self.ends, np.arange(0, len(self.values), piece)))
        for first, last in zip(cuts, [*cuts[1:], len(self.sizes)]):
            yield slice(first, last)

    def distances_unordered(self) -> NDArray:
        """Total variation distance of each group's categories to those of all, from 0 to 1."""
        share = np.bincount(self.ranks) / len(self.ranks)
        labels = np.repeat(np.arange(len(self.sizes)), self.sizes)
        both, counts = np.unique(labels * self.levels + self.ranks, return_counts=True)
        group, code = np.divmod(both, self.levels)
        excess = np.maximum(counts / self.sizes[group] - share[code], 0)
        return np.bincount(group, excess, minlength=len(self.sizes))
