"""Every method written once more, plainly, in numpy: the measure of speed, and the tests' slow reference.

Nothing here is clever: full distance computations, full sorts, one record at a time. `PLAIN` maps a
method's key to such a function `f(X, k) -> labels`, which must give the very partition that the
registered method gives (with its default parameters).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


def squares(X: NDArray, point: NDArray) -> NDArray:
    """Squared distances of all rows to a point."""
    return np.square(X - point).sum(1)


def sse(X: NDArray) -> float:
    """Sum of squared distances to the mean; differences from one row, so that equal rows give exactly 0."""
    D = X - X[0]
    return float(np.square(D - D.mean(0)).sum(0).sum())


def farthest(X: NDArray, free: NDArray, point: NDArray) -> int:
    return int(free[np.argmax(squares(X[free], point))])


def nearest(X: NDArray, free: NDArray, r: int, count: int) -> list[int]:
    """The records of `free`, other than r, that are nearest to r."""
    others = free[free != r]
    return others[np.argsort(squares(X[others], X[r]), kind="stable")[:count]].tolist()


def knn_group(X: NDArray, free: NDArray, r: int, k: int) -> list[int]:
    return [r, *nearest(X, free, r, k - 1)]


def gathered_group(X: NDArray, free: NDArray, r: int, k: int) -> list[int]:
    """Grown one by one: always the record nearest to the centroid of those taken (paper 001)."""
    group = [r]
    while len(group) < k:
        others = np.setdiff1d(free, group)
        group.append(int(others[np.argmin(squares(X[others], X[group].mean(0)))]))
    return group


def finish(X: NDArray, groups: list[list[int]], free: NDArray) -> Labels:
    """Labels of the groups; records left over join the group of the nearest centroid."""
    labels = np.full(len(X), -1)
    centroids = np.array([X[group].mean(0) for group in groups])
    for g, group in enumerate(groups):
        labels[group] = g
    for r in free:
        labels[r] = np.argmin(squares(centroids, X[r]))
    return labels


PLAIN: dict[str, Callable[[NDArray, int], Labels]] = {}
