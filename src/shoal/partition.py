"""A division of all records into groups, and what it costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import CheckFailed


class Partition:
    """Labels 0..g-1 in order of first appearance, one for each record; immutable."""

    def __init__(self, labels: ArrayLike):
        given = np.asarray(labels)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError("labels must be one whole number for each record")
        _, first, inverse = np.unique(given, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        self.labels: NDArray[np.int64] = rank[inverse]
        self.labels.flags.writeable = False

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.labels).astype(np.int64)

    def means(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each group's mean, summed as differences from one member so that a large offset costs no digits."""
        X = np.asarray(X, np.float64)
        first = np.empty(len(self), np.int64)
        first[self.labels[::-1]] = np.arange(len(X))[::-1]
        differences = X - X[first][self.labels]
        sums = np.stack([np.bincount(self.labels, column) for column in differences.T], axis=1)
        return X[first] + sums / self.sizes[:, None]

    def sse(self, X: NDArray[np.float64], means: NDArray[np.float64] | None = None) -> float:
        """Sum of squared distances of the records to their group's mean."""
        means = self.means(X) if means is None else means
        return float(np.square(X - means[self.labels]).sum())

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
