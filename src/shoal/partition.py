"""A division of all records into groups, and what it costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import CheckFailed
from shoal.kernels.groups import pivot_and_shift, relabel, squared_errors


class Partition:
    """Labels 0..g-1 in order of first appearance, and each group's size; immutable."""

    def __init__(self, labels: ArrayLike):
        given = np.asarray(labels)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError("labels must be one whole number for each record")
        low, high = (int(given.min()), int(given.max())) if len(given) else (0, 0)
        if high - low > 4 * len(given) or given.dtype.kind == "u":  # too wide for a table of all labels
            given = np.unique(given, return_inverse=True)[1]
            low, high = 0, len(given)
        self.labels: NDArray[np.int64]
        self.sizes: NDArray[np.int64]
        self.labels, self.sizes = relabel(np.ascontiguousarray(given), low, high - low + 1)
        self.labels.flags.writeable = False
        self.sizes.flags.writeable = False

    def __len__(self) -> int:
        return len(self.sizes)

    def means(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each group's mean, summed as differences from one member so that a large offset costs no digits."""
        pivot, shift = pivot_and_shift(_matrix(X), self.labels, self.sizes)
        pivot += shift
        return pivot

    def sse(self, X: NDArray[np.float64], means: NDArray[np.float64] | None = None) -> float:
        """Sum of squared distances of the records to their group's mean, or to the `means` given."""
        X = _matrix(X)
        if means is None:
            pivot, shift = pivot_and_shift(X, self.labels, self.sizes)
        else:
            pivot, shift = _matrix(means), np.zeros_like(means, np.float64)
        return float(squared_errors(X, self.labels, pivot, shift))

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
