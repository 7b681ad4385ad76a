"""The optimum in one dimension written plainly: at every place every last group of k..2k-1 values tried."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray


def optimum(X: NDArray, k: int, whole: bool = False) -> NDArray[np.int64]:
    """Labels of the partition of least SSE, about the mean or about the whole number nearest to it."""
    order = np.argsort(X[:, 0], kind="stable")
    values = X[order, 0].astype(float)
    n = len(values)
    best, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        for begin in range(max(0, end - 2 * k + 1), end - k + 1):
            group = values[begin:end]
            centre = group.mean()
            centre = np.sign(centre) * np.floor(abs(centre) + 0.5) if whole else centre
            cost = best[begin] + np.square(group - centre).sum()
            if cost < best[end]:
                best[end], start[end] = cost, begin
    labels = np.empty(n, np.int64)
    end = n
    while end:
        labels[order[start[end] : end]] = end
        end = int(start[end])
    return labels


PLAIN: dict[str, Callable[[NDArray, int], NDArray[np.int64]]] = {
    "univariate": optimum,
    "univariate_integer": partial(optimum, whole=True),
}
