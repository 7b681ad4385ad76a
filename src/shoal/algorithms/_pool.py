"""The records that are still free, and the groups made of them so far: what the greedy methods work with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import blocks

WIDTH = 64
"""Most records of a block: long enough to stream, short enough to skip many."""


def _neighbours(X: NDArray[np.float64], records: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split the records at the median of their widest attribute, until no part is above WIDTH."""
    done, todo = [], [records]
    while todo:
        part = todo.pop()
        if len(part) <= WIDTH:
            done.append(part)
            continue
        widest = int(np.argmax(np.ptp(X[part], axis=0)))
        half = len(part) // 2
        part = part[np.argpartition(X[part, widest], half)]
        todo += [part[half:], part[:half]]
    return done


def group_means(X: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Centroid of each group 0, 1, ... of the labels."""
    sums = np.stack([np.bincount(labels, column) for column in X.T], axis=1)
    return sums / np.bincount(labels)[:, None]


class Pool:
    """Free records of X; taking k of them makes the next group. Ties always go to the lowest row index."""

    _outermost: int

    def __init__(self, X: NDArray[np.float64]):
        self.X = X.copy()  # writable, for numba would compile every search once more for read-only rows
        self.groups = 0
        self.labels = np.full(len(X), -1)
        self._slot = np.full(len(X), -1)
        self._build(np.arange(len(X)))

    def __len__(self) -> int:
        return self._left

    def __contains__(self, record: int) -> bool:
        return self._slot[record] >= 0

    def records(self) -> NDArray[np.int64]:
        """The free records in row order."""
        return np.flatnonzero(self._slot >= 0)

    def still_free(self, order: Iterable[int]) -> Iterator[int]:
        """The records of an order, each only if it is free when its turn comes."""
        return (record for record in order if record in self)

    def centroid(self) -> NDArray[np.float64]:
        """Mean of the free records."""
        return self._total / self._left

    def farthest_from_centroid(self) -> int:
        """The free record farthest from the centroid of the free records."""
        centroid = self.centroid()
        shift = math.dist(centroid, self._centre)
        record, self._outermost = blocks.farthest_inward(
            self.X, self._slot, self._inward, self._radius, self._outermost, centroid, shift
        )
        return record

    def reach(self, record: int) -> float:
        """No free record is farther from this one, in squared distance: both are near the centre."""
        while self._inward[self._outermost] not in self:
            self._outermost += 1
        reach = self._radius[record] + self._radius[self._inward[self._outermost]]
        return reach * reach * (1 + 1e-9)  # whatever the rounding

    def farthest_from(self, record: int) -> tuple[int, float]:
        """The free record farthest from a record, and their squared distance."""
        return blocks.farthest(
            self._cells, self._ids, self._size, self._middle, self._rim, self.X[record], self._centre
        )

    def nearest(self, record: int, count: int) -> NDArray[np.int64]:
        """The free records nearest to a record, nearest first, without itself; fewer if fewer are free."""
        found, _ = blocks.nearest(
            self._cells, self._ids, self._size, self._box, self.X[record], count, record
        )
        return found[found >= 0]

    def nearest_to(self, record: int) -> tuple[int, float]:
        """The nearest free record to a record, and their squared distance: (-1, inf) if there is none."""
        found, square = blocks.nearest(
            self._cells, self._ids, self._size, self._box, self.X[record], 1, record
        )
        return found[0], square[0]

    def take(self, records: Sequence[int] | NDArray[np.int64]) -> None:
        """Make these free records the next group."""
        records = np.asarray(records, np.int64)
        blocks.remove(self._cells, self._ids, self._size, self._slot, self._total, records)
        self._grouped(records)

    def add(self, record: int) -> None:
        """Add one more free record to the group made last."""
        self.groups -= 1
        self.take([record])

    def take_around(self, record: int, k: int) -> None:
        """The next group: a free record and the k-1 nearest to it."""
        group = np.empty(k, np.int64)
        group[0] = record
        group[1:] = self.nearest(record, k - 1)
        self.take(group)

    def gather(self, record: int, k: int) -> None:
        """The next group: a free record and, k-1 times, the record nearest to the group's centroid."""
        self._grouped(
            blocks.gather(self._cells, self._ids, self._size, self._box, self._slot, self._total, record, k)
        )

    def take_rest(self) -> None:
        """The next group: all that are left."""
        self.take(self.records())

    def finish(self) -> NDArray[np.int64]:
        """Labels in order of the groups' making; records left over join the group of nearest centroid."""
        left = self.records()
        if len(left):
            grouped = self.labels >= 0
            centroids = group_means(self.X[grouped], self.labels[grouped])
            for record in left:
                self.labels[record] = np.argmin(np.square(centroids - self.X[record]).sum(1))
        return self.labels

    def _grouped(self, records: NDArray[np.int64]) -> None:
        self.labels[records] = self.groups
        self.groups += 1
        self._left -= len(records)
        if 0 < self._left < self._built // 2:
            self._build(self.records())
        elif self.groups % 64 == 0:
            blocks.add_up(self._cells, self._size, self._total)

    def _build(self, records: NDArray[np.int64]) -> None:
        """Lay the free records out in blocks; done anew whenever half of them are gone."""
        self._left = self._built = len(records)
        self._centre = self.X[records].mean(0)
        self._radius = np.sqrt(np.square(self.X - self._centre).sum(1))
        self._inward = records[np.argsort(-self._radius[records])]
        self._outermost = 0
        parts = _neighbours(self.X, records)
        width = max(len(part) for part in parts)
        d = self.X.shape[1]
        self._cells = np.zeros((len(parts), d, width))
        self._ids = np.full((len(parts), width), -1)
        self._size = np.array([len(part) for part in parts])
        self._box = np.zeros((2, d, len(parts)))
        self._middle = np.zeros((d, len(parts)))
        self._rim = np.zeros((2, len(parts)))
        for b, part in enumerate(parts):
            rows = self.X[part]
            middle = rows.mean(0)
            self._cells[b, :, : len(part)] = rows.T
            self._ids[b, : len(part)] = part
            self._slot[part] = b * width + np.arange(len(part))
            self._box[:, :, b] = rows.min(0), rows.max(0)
            self._middle[:, b] = middle - self._centre
            self._rim[0, b] = np.sqrt(np.square(rows - middle).sum(1).max())
            self._rim[1, b] = np.square(self._radius[part].max())
        self._total = np.zeros(d)
        blocks.add_up(self._cells, self._size, self._total)
