"""A division of all records into groups, and what it costs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import CheckFailed
from shoal.kernels.groups import sums as groups
from shoal.kernels.groups.hand_back import PILE, hand_back
from shoal.kernels.groups.sums import pivot_and_shift, relabel, squared_errors
from shoal.kernels.runtime.threads import together


@dataclass(frozen=True)
class Tuning:
    """From which sizes on a partition works in another way. Labels do not depend on it."""

    #: Records from which two threads pay: to start the second takes a fixed time.
    two_threads: int = 100_000
    #: Groups above which their values leave a core's cache, so that records are visited group by group.
    many_groups: int = 500_000
    #: Places in a pile of `hand_back`.
    pile: int = PILE


USUAL = Tuning()


class ColumnMoments(NamedTuple):
    """Means and sums of squares of the one column that a method grouped by."""

    means: Floats  # of each group
    sse: float
    sst: float
    by_record: NDArray | None = None  # `whole`, else the mean, by record, for the release to take
    whole: Ints | None = None  # of whole numbers: the nearest to each mean


class Partition:
    """Labels 0..g-1 and each group's size; immutable.

    Groups are numbered in order of first appearance, or as they were handed over (`in_order`).
    """

    labels: Ints
    sizes: Ints
    #: Of the column that the method grouped by, where it grouped by one and handed over its values.
    moments: ColumnMoments | None
    #: The SSE that any partition of these records has at least, where the method proved it.
    least: float | None
    _in_order: tuple[NDArray, Ints] | None
    _tuning: Tuning

    def __init__(self, labels: ArrayLike, tuning: Tuning = USUAL, least: float | None = None):
        given = np.asarray(labels)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError("labels must be one whole number for each record")
        given = given.astype(np.int64, copy=False)  # of the largest unsigned ones too: all stay different
        low, high = (int(given.min()), int(given.max())) if len(given) else (0, 0)
        if high - low > 4 * len(given):  # too wide for a table of all labels
            given = np.unique(given, return_inverse=True)[1]
            low, high = 0, len(given)
        fresh, sizes = relabel(np.ascontiguousarray(given), low, high - low + 1)
        self._set(fresh, sizes, tuning, least=least)

    @classmethod
    def in_order(
        cls,
        order: NDArray,
        starts: Ints,
        values: Floats | None = None,
        tuning: Tuning = USUAL,
        whole: bool = False,
    ) -> "Partition":
        """The partition whose groups 0, 1, .. are order[starts[0]:starts[1]], order[starts[1]:starts[2]], ..

        For a method that has its records group by group anyway: all that follows is then much faster. The
        more so if it groups by one column and gives its `values`, ascending, in that order: see `moments`.
        Their array is taken over: fresh memory costs as much time as the work on it.
        `whole`: they are whole numbers, and no sum of squares in a group passes 2**53.
        """
        self = cls.__new__(cls)
        n, count = len(order), len(starts) - 1
        moments = None if values is None else _moments(values, starts, tuning, whole)
        if values is not None and moments is not None and count > tuning.many_groups:
            published = moments.means if moments.whole is None else moments.whole
            moments = moments._replace(by_record=values.view(published.dtype))
            labels = hand_back(order, starts, published, values.view(published.dtype), tuning.pile)
        else:
            labels = np.empty(n, np.int64)
            _in_halves(n, count, tuning, groups.put, order, starts, np.arange(count), labels)
        self._set(labels, np.diff(starts), tuning, moments, (order, starts))
        return self

    def _set(
        self,
        labels: Ints,
        sizes: Ints,
        tuning: Tuning,
        moments: ColumnMoments | None = None,
        in_order: tuple[NDArray, Ints] | None = None,
        least: float | None = None,
    ) -> None:
        for array in (labels, sizes, *((moments.means, moments.whole) if moments else ())):
            if array is not None:
                array.flags.writeable = False
        self.__dict__.update(labels=labels, sizes=sizes, moments=moments, least=least)
        self.__dict__.update(_in_order=in_order, _tuning=tuning)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a partition cannot be changed: {name!r} is fixed")

    def __len__(self) -> int:
        return len(self.sizes)

    def means(self, X: Floats) -> Floats:
        """Each group's mean, summed as differences from one member so that a large offset costs no digits."""
        if self._in_order is not None:
            return self.means_and_sse(X)[0]
        parts = pivot_and_shift(_matrix(X), self.labels, self.sizes)
        return parts[:, :, 0] + parts[:, :, 1]

    def sse(self, X: Floats, means: Floats | None = None) -> float:
        """Sum of squared distances of the records to their group's mean, or to the `means` given."""
        if means is None:
            return self.means_and_sse(X)[1]
        parts = np.stack([means, np.zeros_like(means)], axis=2)
        return float(squared_errors(_matrix(X), self.labels, parts))

    def means_and_sse(self, X: Floats) -> tuple[Floats, float]:
        """Both at once, to the last digits: the means are rounded only after the SSE is known."""
        X = _matrix(X)
        if self._in_order is not None:
            order, starts = self._in_order
            columns = [_moments(column[order], starts, self._tuning) for column in X.T]
            return np.stack([column.means for column in columns], axis=1), sum(c.sse for c in columns)
        parts = pivot_and_shift(X, self.labels, self.sizes)
        return parts[:, :, 0] + parts[:, :, 1], float(squared_errors(X, self.labels, parts))

    def spread(self, published: NDArray) -> NDArray:
        """For each record what its group publishes, in a new array.

        Of the exact means of `moments` there may be one at hand: `moments.by_record`.
        """
        if published.dtype not in (np.float64, np.int64) or len(self.labels) < self._tuning.two_threads:
            return published[self.labels]
        out = np.empty(len(self.labels), published.dtype)
        published = np.ascontiguousarray(published)
        if self._in_order is not None and len(self) > self._tuning.many_groups:
            _in_halves(len(out), len(self), self._tuning, groups.put, *self._in_order, published, out)
        else:
            _in_halves(len(out), len(out), self._tuning, groups.spread, published, self.labels, out)
        return out

    def sst(self, X: Floats) -> float:
        """Sum of squared distances of all records to their common mean: the SSE of a single group."""
        X = _matrix(X)
        halves = partial(_in_halves, len(X), len(X), self._tuning)
        centre = sum(halves(groups.sums_from_first, X)) / len(X)
        return float(sum(halves(groups.squares_about, X, centre)))

    def check(self, k: int, records: int, largest: int | None = None) -> None:
        """Raise unless there is one label for each record and every group has k..largest records."""
        if len(self.labels) != records:
            raise CheckFailed(
                f"{records} records went in, {len(self.labels)} labels came out: nothing is released"
            )
        short = int((self.sizes < k).sum())
        if short:
            raise CheckFailed(f"{short} groups have fewer than k={k} records: nothing is released")
        if largest is not None and self.sizes.max(initial=0) > largest:
            raise CheckFailed(
                f"a group has {self.sizes.max()} records, more than the {largest} its method promises"
            )


def _in_halves(
    records: int, n: int, tuning: Tuning, kernel: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Both halves of 0..n at once, if there are many records; the halves do not depend on the cores."""
    middle = n // 2 if records >= tuning.two_threads else n
    halves = [(a, b) for a, b in ((0, middle), (middle, n)) if a < b]
    return together(*(partial(kernel, a, b, *arguments) for a, b in halves))


def _moments(values: Floats, starts: Ints, tuning: Tuning, whole: bool = False) -> ColumnMoments:
    """Means and SSE of a column whose values are given group by group; and SST, if they ascend.

    The sums between groups are about the median, which is never further than one standard deviation
    from the mean: going over to the mean costs no digits.
    """
    means, nearest = np.empty(len(starts) - 1), np.empty(len(starts) - 1 if whole else 0, np.int64)
    sums = _in_halves(len(values), len(means), tuning, groups.moments, values, starts, means, nearest)
    within, between, apart = (float(sum(part)) for part in zip(*sums))
    sst = within + between - apart * apart / len(values)
    return ColumnMoments(means, within, sst, whole=nearest if whole else None)


def _matrix(X: NDArray) -> Floats:
    """C-ordered doubles under a read-only view: one type of array, so that kernels compile only once."""
    X = np.ascontiguousarray(X, np.float64).view()
    X.flags.writeable = False
    return X


def rows_of(ids: Ints, count: int = 0) -> list[Ints]:
    """The records of each group or stratum 0, 1, .., of which there may be `count`; in each by rising row."""
    return np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids, minlength=count))[:-1])


def group_rows(labels: Ints, k: int) -> Ints:
    """The groups of a partition as rows of records, filled up with -1; those of 2k or more are left out."""
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(labels, kind="stable")
    within = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.full((len(sizes), max(2 * k - 1, sizes.max())), -1)
    rows[labels[order], within] = order
    return rows[sizes < 2 * k, : 2 * k - 1]
