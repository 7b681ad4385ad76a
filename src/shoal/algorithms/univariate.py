"""Optimal grouping of one column."""

import numpy as np

from shoal.kernels.sequence import cut
from shoal.method import method


@method(
    title="Optimal univariate",
    paper="Hansen and Mukherjee 2003",
    sizes="k..2k-1",
    cost="n log n + k n",
    columns="one",
    optimal=True,
)
def univariate(X, k):
    """Sort the values and cut the sequence where the sum of squared errors is least: the exact optimum."""
    order = np.argsort(X[:, 0], kind="stable")
    labels = np.empty(len(X), np.int64)
    labels[order] = cut(X[order], k)
    return labels
