"""Squared distances. Every sum goes attribute by attribute, in the order of the columns.

Rounding is then the same in every kernel and in numpy, so that they agree to the last digit.
"""

import numpy as np

from shoal.arrays import Floats
from shoal.kernels.runtime.jit import kernel


@kernel
def between(X, a, b):
    """Squared distance of the rows a and b."""
    total = 0.0
    for j in range(X.shape[1]):
        difference = X[a, j] - X[b, j]
        total += difference * difference
    return total


@kernel
def to_columns(T, point, first, last, out):
    """out[i] = squared distance of `point` to column i of T (d x n), for i in first..last-1.

    The compiler turns the inner loop into vector instructions without reordering any sum. Two rows go at a
    time, so that sums are fetched half as often.
    """
    for i in range(first, last):
        out[i] = 0.0
    for j in range(0, T.shape[0] - 1, 2):
        p, q = point[j], point[j + 1]
        for i in range(first, last):
            a, b = T[j, i] - p, T[j + 1, i] - q
            out[i] = (out[i] + a * a) + b * b
    for j in range(T.shape[0] - T.shape[0] % 2, T.shape[0]):
        p = point[j]
        for i in range(first, last):
            a = T[j, i] - p
            out[i] += a * a


def all_squares(X: Floats, Y: Floats) -> Floats:
    """Squared distances of the rows of X to the rows of Y, in numpy: for few records, without a kernel."""
    squares = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T):
        squares += np.square(x[:, None] - y)
    return squares
