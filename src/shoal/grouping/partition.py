"""A division of all records into groups, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import CheckFailed
from shoal.kernels.groups import sums as groups
from shoal.kernels.groups.hand_back import hand_back, sse_and_sst
from shoal.kernels.groups.sums import pivot_and_shift, relabel, squared_errors
from shoal.kernels.runtime.threads import together

TOGETHER_FROM = 100_000  # records from which two threads pay
MANY_GROUPS = 500_000  # groups from which their values leave the cache: better visited one by one


class Own(NamedTuple):
    """What a method that groups by one column knows of it."""

    means: NDArray[np.float64]
    sse: float
    sst: float


class Partition:
    """Labels 0..g-1 and each group's size; immutable.

    Groups are numbered in order of first appearance, or as they were handed over (`in_order`).
    """

    def __init__(self, labels: ArrayLike):
        given = np.asarray(labels)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError("labels must be one whole number for each record")
        given = given.astype(np.int64, copy=False)  # of the largest unsigned ones too: all stay different
        low, high = (int(given.min()), int(given.max())) if len(given) else (0, 0)
        if high - low > 4 * len(given):  # too wide for a table of all labels
            given = np.unique(given, return_inverse=True)[1]
            low, high = 0, len(given)
        self.labels: NDArray[np.int64]
        self.sizes: NDArray[np.int64]
        self.labels, self.sizes = relabel(np.ascontiguousarray(given), low, high - low + 1)
        self._freeze()

    @classmethod
    def in_order(
        cls, order: NDArray, starts: NDArray[np.int64], values: NDArray[np.float64] | None = None
    ) -> Partition:
        """The partition whose groups 0, 1, .. are order[starts[0]:starts[1]], order[starts[1]:starts[2]], ..

        For a method that has its records group by group anyway: all that follows is then much faster. The
        more so if it groups by one column and gives its `values`, ascending, in that order: see `own`.
        """
        self = cls.__new__(cls)
        self._in_order = (order, starts)
        self.sizes = np.diff(starts)
        if values is not None and len(self) > MANY_GROUPS:
            self.labels, placed, means, sums = hand_back(order, starts, values)
            self._placed = means, placed
            self.own = Own(means, *sums)
        else:
            self.labels = np.empty(len(order), np.int64)
            self._for_halves(len(self), groups.put, order, starts, np.arange(len(self)), self.labels)
            if values is not None:
                self.own = self._moments(values)
        self._freeze()
        return self

    #: What is known of the column that the method grouped by, where it grouped by one and handed it over.
    own: Own | None = None
    #: own.means, and the same by record: handed out once, by `spread`.
    _placed: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    _in_order: tuple[NDArray, NDArray[np.int64]] | None = None

    def _moments(self, values: NDArray[np.float64]) -> Own:
        """Means and SSE of a column whose values are given group by group; and SST, if they ascend."""
        assert self._in_order is not None
        means = np.empty(len(self))
        sums = self._for_halves(len(self), groups.moments, values, self._in_order[1], means)
        return Own(means, *sse_and_sst(len(values), sums))

    def _freeze(self) -> None:
        for array in (self.labels, self.sizes, *([] if self.own is None else [self.own.means])):
            array.flags.writeable = False

    def _for_halves(self, n: int, kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Both halves of 0..n at once, if there are many records; the halves do not depend on the cores."""
        middle = n // 2 if len(self.labels) >= TOGETHER_FROM else n
        halves = [(a, b) for a, b in ((0, middle), (middle, n)) if a < b]
        return together(*(partial(kernel, a, b, *arguments) for a, b in halves))

    def __len__(self) -> int:
        return len(self.sizes)

    def means(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each group's mean, summed as differences from one member so that a large offset costs no digits."""
        if self._in_order is not None:
            return self.means_and_sse(X)[0]
        parts = pivot_and_shift(_matrix(X), self.labels, self.sizes)
        return parts[:, :, 0] + parts[:, :, 1]

    def sse(self, X: NDArray[np.float64], means: NDArray[np.float64] | None = None) -> float:
        """Sum of squared distances of the records to their group's mean, or to the `means` given."""
        if means is None:
            return self.means_and_sse(X)[1]
        parts = np.stack([means, np.zeros_like(means)], axis=2)
        return float(squared_errors(_matrix(X), self.labels, parts))

    def means_and_sse(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Both at once, to the last digits: the means are rounded only after the SSE is known."""
        X = _matrix(X)
        if self._in_order is not None:
            columns = [self._moments(column[self._in_order[0]]) for column in X.T]
            return np.stack([own.means for own in columns], axis=1), sum(own.sse for own in columns)
        parts = pivot_and_shift(X, self.labels, self.sizes)
        return parts[:, :, 0] + parts[:, :, 1], float(squared_errors(X, self.labels, parts))

    def spread(self, published: NDArray) -> NDArray:
        """For each record what its group publishes."""
        if self._placed is not None and published is self._placed[0]:
            placed, self._placed = self._placed[1], None
            return placed
        if published.dtype not in (np.float64, np.int64):
            return published[self.labels]
        out = np.empty(len(self.labels), published.dtype)
        published = np.ascontiguousarray(published)
        if self._in_order is not None and len(self) > MANY_GROUPS:
            self._for_halves(len(self), groups.put, *self._in_order, published, out)
        else:
            self._for_halves(len(out), groups.spread, published, self.labels, out)
        return out

    def sst(self, X: NDArray[np.float64]) -> float:
        """Sum of squared distances of all records to their common mean: the SSE of a single group."""
        X = _matrix(X)
        centre = sum(self._for_halves(len(X), groups.sums_from_first, X)) / len(X)
        return float(sum(self._for_halves(len(X), groups.squares_about, X, centre)))

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


def _matrix(X: NDArray) -> NDArray[np.float64]:
    """C-ordered doubles under a read-only view: one type of array, so that kernels compile only once."""
    X = np.ascontiguousarray(X, np.float64).view()
    X.flags.writeable = False
    return X


def count_partitions(n: int, k: int) -> int:
    """In how many ways n records fall into groups of k to 2k-1: why nobody looks at all of them.

    The recurrence of Laszlo and Mukherjee 2005 (appendix A, where formula (6) lacks an m!) said more simply:
    the first record shares its group with size-1 of the others, and what remains is divided likewise.
    """
    ways = [1] + [0] * n
    for m in range(k, n + 1):
        ways[m] = sum(math.comb(m - 1, size - 1) * ways[m - size] for size in range(k, min(2 * k - 1, m) + 1))
    return ways[n]
