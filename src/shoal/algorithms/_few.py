"""MDAV of few records by plain scans: the groups that the tree finds, with no kernel to load or compile."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms._pool import join_nearest
from shoal.kernels.neighbours.distance import all_squares


def mdav(X: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Pairs of groups while 2k are free; then k to 2k-1 form a group, fewer join theirs."""
    labels = np.full(len(X), -1)
    free, groups = np.arange(len(X)), 0
    while len(free) >= 2 * k:
        centroid = np.array([math.fsum(column) / len(free) for column in X[free].T])
        far = free[np.argmax(_squares(X[free], centroid))]
        opposite = free[np.argmax(_squares(X[free], X[far]))]
        for record in (far, opposite):
            if labels[record] < 0:
                square = _squares(X[free], X[record])
                square[free == record] = -1.0
                labels[free[np.argsort(square, kind="stable")[:k]]] = groups
                free = free[labels[free] < 0]
                groups += 1
    if len(free) >= k:
        labels[free] = groups
    join_nearest(X, labels)
    return labels


def _squares(X: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    return all_squares(X, point[None])[:, 0]
