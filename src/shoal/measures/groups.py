"""What can be counted within groups of records, whole columns at a time."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints, numbers_to
from shoal.frame.large import PIECE


def same(columns: Iterable[NDArray]) -> Ints:
    """A number for each record; records have the same number if they agree in all columns.

    Columns that come one after another are forgotten one after another, and not asked for when no two
    records agree.
    """
    labels, count = np.zeros(0, numbers_to(0)), 0
    for column in columns:
        codes, levels = numbered(column)
        del column
        labels, count = (codes, levels) if count == 0 else numbered(joined(labels, codes, levels))
        if count == len(labels):
            break
    return labels


def joined(labels: NDArray, codes: NDArray, levels: int) -> NDArray[np.int64]:
    """A number for each pair of a label and a code, of which there are so many."""
    both = labels.astype(np.int64)
    both *= levels
    both += codes
    return both


def numbered(values: NDArray) -> tuple[Ints, int]:
    """The place of each value among the different ones, from 0; gaps (NaN) are alike, and last. How many."""
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() <= len(values):
        seen = np.zeros(int(values.max()) + 1, numbers_to(len(values)))
        seen[values] = 1
        np.cumsum(seen, out=seen)
        count = int(seen[-1])
        seen -= 1
        return seen[values], count
    order = np.argsort(values)  # several times as fast as a stable sort, and as one by several columns
    number = np.cumsum(changes(values[order]), dtype=numbers_to(len(values)))
    number -= 1
    codes = np.empty_like(number)
    codes[order] = number
    return codes, int(number[-1]) + 1 if len(number) else 0


def changes(placed: NDArray) -> NDArray[np.bool_]:
    """Of values in order: which differ from the one before; one gap (NaN) does not differ from another."""
    new = np.ones(len(placed), bool)
    new[1:] = placed[1:] != placed[:-1]
    if placed.dtype.kind == "f" and len(placed) and np.isnan(placed[-1]):  # gaps are last
        gap = np.isnan(placed)
        new[1:] &= ~(gap[1:] & gap[:-1])
    return new


def real_cells(before: NDArray, after: NDArray, labels: Ints) -> float:
    """The share of groups that publish a value which one of their own records has; gaps do not count."""
    own, published = np.zeros((2, int(labels.max(initial=-1)) + 1), bool)
    for begin in range(0, len(labels), PIECE):
        group, x, y = (values[begin : begin + PIECE] for values in (labels, before, after))
        published[group[~np.isnan(y)]] = True
        own[group[x == y]] = True
    return float(own[published].mean()) if published.any() else 0.0


class Groups:
    """The records of each group together, with their values in ascending order, a gap (NaN) at the end."""

    def __init__(self, labels: Ints, values: NDArray):
        codes, self.levels = numbered(values)
        order = np.argsort(joined(labels, codes, self.levels))  # by group, then by value
        self.ranks = codes[order]  # the place of each value among all
        del codes
        self.values = values[order]
        del order
        self.sizes = np.bincount(labels).astype(numbers_to(len(labels)))
        borders: Ints = np.zeros(len(self.sizes) + 1, self.sizes.dtype)
        np.cumsum(self.sizes, out=borders[1:])
        self.starts, self.ends = borders[:-1], borders[1:]

    def ranges(self) -> NDArray:
        """The difference between the largest and the smallest value of each group."""
        found = self.values[self.ends - 1]
        found -= self.values[self.starts]
        return found

    def distinct(self) -> Ints:
        """How many different values each group has; a gap is a value."""
        new = changes(self.ranks)
        new[self.starts] = True
        return np.add.reduceat(new, self.starts, dtype=self.sizes.dtype)

    def shares_of_largest(self, piece: int = PIECE) -> NDArray:
        """The share of the largest one, and of the largest two, in the sum of each group's values.

        Values count without their sign: the largest lie at the ends. A group whose sum is 0 has no dominating
        unit.
        """
        found = np.empty((2, len(self.sizes)))
        for some, rows in self._stretches(piece):
            values, sizes = np.abs(self.values[rows]), self.sizes[some]
            starts, ends = self.starts[some] - rows.start, self.ends[some] - rows.start
            low, high = values[starts], values[ends - 1]
            inner = np.where(low > high, starts + 1, ends - 2)  # beside the largest
            inner = np.clip(inner, 0, len(values) - 1)
            second = np.where(sizes > 1, np.maximum(np.minimum(low, high), values[inner]), 0)
            total, first = np.add.reduceat(values, starts), np.maximum(low, high)
            found[:, some] = np.stack((first, first + second)) / np.where(total > 0, total, np.inf)
        return found

    def near(self, reach: float, piece: int = PIECE) -> NDArray:
        """For each record (in the order of the groups): the share of its group within reach of its value.

        Each group's values are lifted above those of the group before, so that one search finds all.
        """
        gap = float(self.ranges().max(initial=0.0)) + 3 * reach + 1.0
        slack, found = reach + 1e-9 * gap, np.empty(len(self.values))
        for some, rows in self._stretches(piece):
            sizes = self.sizes[some]
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
        counts = np.bincount(ranks)
        F = np.cumsum(counts, out=counts) / len(ranks)
        del counts
        sums = np.zeros(m + 1)
        np.cumsum(F, out=sums[1:])
        found = np.empty(len(self.sizes))
        for some, rows in self._stretches(piece):
            starts, sizes, a = self.starts[some] - rows.start, self.sizes[some], ranks[rows]
            height = (np.arange(len(a)) - np.repeat(starts, sizes) + 1) / np.repeat(sizes, sizes)
            b = np.append(a[1:], m - 1)
            b[starts + sizes - 1] = m - 1  # the last stretch of a group ends with the column: it adds |1 - F|
            turn = np.clip(np.searchsorted(F, height), a, b)
            stretch = height * (2 * turn - a - b) + sums[a] + sums[b] - 2 * sums[turn]
            before = sums[a[starts]]  # below its smallest value a group's distribution is 0
            found[some] = (np.add.reduceat(stretch, starts) + before) / (m - 1)
        return found

    def _stretches(self, piece: int) -> Iterator[tuple[slice, slice]]:
        """Some groups after others, and their records: what is made of them at a time is small."""
        cuts = np.unique(np.searchsorted(self.ends, np.arange(0, len(self.values), piece)))
        for first, last in zip(cuts, [*cuts[1:], len(self.sizes)]):
            yield slice(first, last), slice(int(self.starts[first]), int(self.ends[last - 1]))

    def distances_unordered(self) -> NDArray:
        """Total variation distance of each group's categories to those of all, from 0 to 1."""
        share = np.bincount(self.ranks) / len(self.ranks)
        labels = np.repeat(np.arange(len(self.sizes)), self.sizes)
        both, counts = np.unique(joined(labels, self.ranks, self.levels), return_counts=True)
        group, code = np.divmod(both, self.levels)
        excess = np.maximum(counts / self.sizes[group] - share[code], 0)
        return np.bincount(group, excess, minlength=len(self.sizes))
