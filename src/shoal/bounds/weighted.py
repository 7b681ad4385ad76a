"""Tables whose values have weights of their own: survey weights, and 0 for a gap.

`V` has the weight of each record in each coordinate of `X`. The neighbours' bound, and what the linear
program of `program` needs beside it. docs/optimality.md has the proof.
"""

import time
from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.weighted import least_shares

#: Records whose neighbours are found at a time.
CHUNK = 100
#: The least weight that a record counts with, in mean weights, so that no group weighs nothing. It can only
#: lower what is proven.
LEAST = 1e-6


class Shares(NamedTuple):
    """What each record pays at least, its neighbours' price, and whom to."""

    V: Floats
    prices: Floats
    nearest: Ints  # itself first


def shares_of(X: Floats, V: Floats, k: int, seconds: float = np.inf) -> Shares:
    """When the time is over, the records that are left pay nothing."""
    n, deadline = len(X), time.perf_counter() + seconds
    shares = Shares(V, np.zeros(n), np.full((n, 2 * k - 1), -1))
    w = V.max(axis=1)
    w = np.maximum(w, LEAST * w.mean() or 1.0)

    def some(first: int) -> None:
        if time.perf_counter() < deadline:
            least_shares(X, V, w, k, first, min(first + CHUNK, n), *shares[1:])

    map_threads(some, range(0, n, CHUNK))
    return shares
