"""The first bound: what each record pays to its nearest neighbours in any group at all.

SSE(G) = 1/(2s) * (squared distances of all ordered pairs of its s records), so record i pays 1/(2s) times the
sum of its squared distances to the s-1 others, which is at least that to its s-1 nearest. The least of it
over s = k..2k-1 is i's price; the prices of all records sum to a bound. (A group of 2k or more can be cut in
two without a rise of SSE, so larger sizes need no thought.)
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.kernels.runtime.threads import thread_count


def near_sums(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """near[i, q]: the sum of the q smallest squared distances from i to other records, q = 0..2k-2."""
    want = min(2 * k - 1, len(X))
    _, near = cKDTree(X).query(X, k=want, workers=thread_count())
    near = near.reshape(len(X), want)
    squared = np.empty((len(X), want))
    for q in range(want):
        difference = X[near[:, q]] - X
        squared[:, q] = np.einsum("ij,ij->i", difference, difference)
    squared.sort(axis=1)  # the record itself, or a copy of it, comes first with 0
    sums = np.full((len(X), 2 * k - 1), np.inf)
    sums[:, :want] = np.cumsum(squared, axis=1)
    return sums


def neighbour_prices(near: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The least that each record pays in a group of any size k..2k-1: feasible prices."""
    return np.min([near[:, s - 1] / (2 * s) for s in range(k, 2 * k)], axis=0)
