"""The records that are still free, and the groups made of them so far: what the greedy methods work with."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.kernels.neighbours import pool as kernels

#: Records, or a share of the free ones if that is more, that leave before the pool is tended. To tend it more
#: often costs passes over all free records; less often, searches visit boxes that a better centre rules out.
STRIDE, SHARE = 500, 32


def group_means(X: Floats, labels: Ints) -> Floats:
    """Centroid of each group 0, 1, ... of the labels."""
    sums = np.stack([np.bincount(labels, column) for column in X.T], axis=1)
    return sums / np.bincount(labels)[:, None]


def join_nearest(X: Floats, labels: Ints) -> None:
    """Records without a group (-1) join the group of nearest centroid."""
    left = np.flatnonzero(labels < 0)
    if len(left):
        grouped = labels >= 0
        centroids = group_means(X[grouped], labels[grouped])
        for record in left:
            labels[record] = np.argmin(np.square(centroids - X[record]).sum(1))


class Pool:
    """Free records of X; taking k of them makes the next group. Ties always go to the lowest row index.

    `progress` gets the share of the records that are in a group.
    """

    _tend_at: int

    def __init__(self, X: Floats, progress: Callable[[float], None] | None = None):
        self.X = X.copy()  # writable, for numba would compile every search once more for read-only rows
        self.groups = 0
        self.labels = np.full(len(X), -1)
        self._progress = progress
        self._lay_out(np.arange(len(X)))

    def __len__(self) -> int:
        return int(self._free.left[0])

    def __contains__(self, record: int) -> bool:
        return self._free.leaf[record] >= 0

    def records(self) -> Ints:
        """The free records in row order."""
        return np.flatnonzero(self._free.leaf >= 0)

    def still_free(self, order: Iterable[int]) -> Iterator[int]:
        """The records of an order, each only if it is free when its turn comes."""
        return (record for record in order if record in self)

    def centroid(self) -> Floats:
        """Mean of the free records."""
        return kernels.centroid(self._free)

    def farthest_from_centroid(self) -> int:
        """The free record farthest from the centroid of the free records."""
        return kernels.farthest(self._free, self.centroid())[0]

    def reach(self, record: int) -> float:
        """No free record is farther from this one, in squared distance: both are near the centre."""
        reach = math.dist(self.X[record], self._free.centre) + math.sqrt(self._free.outmost[0])
        return reach * reach * kernels.MARGIN

    def farthest_from(self, record: int) -> tuple[int, float]:
        """The free record farthest from a record, and their squared distance."""
        return kernels.farthest(self._free, self.X[record])

    def nearest(self, record: int, count: int) -> Ints:
        """The free records nearest to a record, nearest first, without itself; fewer if fewer are free."""
        records, _ = kernels.nearest(self._free, self.X[record], count, record)
        return records[records >= 0]

    def nearest_to(self, record: int) -> tuple[int, float]:
        """The nearest free record to a record, and their squared distance: (-1, inf) if there is none."""
        records, squares = kernels.nearest(self._free, self.X[record], 1, record)
        return records[0], squares[0]

    def take(self, records: Sequence[int] | Ints) -> None:
        """Make these free records the next group."""
        records = np.asarray(records, np.int64)
        kernels.remove(self._free, records)
        self._grouped(records)

    def add(self, record: int) -> None:
        """Add one more free record to the group made last."""
        self.groups -= 1
        self.take([record])

    def take_around(self, record: int, k: int) -> None:
        """The next group: a free record and the k-1 nearest to it."""
        self._grouped(kernels.around(self._free, self.X, record, k))

    def gather(self, record: int, k: int) -> None:
        """The next group: a free record and, k-1 times, the record nearest to the group's centroid."""
        self._grouped(kernels.gather(self._free, self.X, record, k))

    def peel(self, k: int, least: int, pairs: bool) -> None:
        """Groups around the record farthest from the centroid while `least` or more are free.

        With `pairs`, each time also around the record farthest from that one.
        """
        while len(self) >= least:
            self.groups = kernels.peel(
                self._free, self.X, k, least, pairs, self._tend_at, self.labels, self.groups
            )
            self._tend()

    def take_rest(self) -> None:
        """The next group: all that are left."""
        self.take(self.records())

    def finish(self) -> Ints:
        """Labels in order of the groups' making; records left over join the group of nearest centroid."""
        join_nearest(self.X, self.labels)
        return self.labels

    def _grouped(self, records: Ints) -> None:
        self.labels[records] = self.groups
        self.groups += 1
        self._tend()

    def _tend(self) -> None:
        """Now and then report, and let the centre follow the free records; lay them out anew at each half."""
        left = len(self)
        if left > self._tend_at:
            return
        if 0 < left <= self._laid_out // 2:
            self._lay_out(self.records())
        elif left:
            kernels.recentre(self._free)
        self._tend_at = left - max(STRIDE, left // SHARE)
        if self._progress:
            self._progress(1 - left / len(self.X))

    def _lay_out(self, records: Ints) -> None:
        self._free = kernels.lay_out(self.X, records)
        self._laid_out = len(records)
        self._tend_at = len(records) - STRIDE
