"""The first bound: what each record pays to its nearest neighbours in any group at all.

SSE(G) = 1/(2s) * (squared distances of all ordered pairs of its s records), so record i pays 1/(2s) times the
sum of its squared distances to the s-1 others, which is at least that to its s-1 nearest. The least of it
over s = k..2k-1 is i's price; the prices of all records sum to a bound. (A group of 2k or more can be cut in
two without a rise of SSE, so larger sizes need no thought.)

Values may have weights of their own: survey weights, and 0 for a gap. `V` has the weight of each record in
each coordinate of `X`. docs/optimality.md has the proof.
"""

import math
import tempfile
import time
from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.io.private import storing
from shoal.kernels.neighbours.lists import look_up, nearest, nearest_squares
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.weighted import least_shares

#: Records whose neighbours are found at a time: by looking at every pair, and in a tree.
CHUNK, STEP = 100, 1 << 16
#: The least weight that a record counts with, in mean weights, so that no group weighs nothing. It can only
#: lower what is proven.
LEAST = 1e-6


def near_sums(X: Floats, k: int) -> Floats:
    """near[i, q]: the sum of the q smallest squared distances from i to other records, q = 0..2k-2."""
    return _sums(nearest(X, 2 * k - 2)[1], k)


def _sums(squares: Floats, k: int) -> Floats:
    """Of squared distances, nearest first; beyond them, where fewer records are there, sums are infinite."""
    sums = np.full((len(squares), 2 * k - 1), np.inf)
    sums[:, 0] = 0.0
    np.cumsum(squares, axis=1, out=sums[:, 1 : squares.shape[1] + 1])
    return sums


def streamed_prices(X: Floats, k: int) -> Floats:
    """The neighbours' prices of a table that memory need not hold: its tree lies in a file too."""
    free, prices = look_up(X, room), np.empty(len(X))

    def some(first: int) -> None:
        rows = free.ids[first : first + STEP]  # they lie together
        squares = np.full((len(rows), 2 * k - 2), np.inf)
        nearest_squares(X, rows, free, squares)
        prices[rows] = neighbour_prices(_sums(squares, k), k)

    map_threads(some, range(0, len(X), STEP))
    return prices


def room(*shape: int) -> Floats:
    """Zeros in a file without a name, which ends with its users: memory holds of it what is in use."""
    with storing(), tempfile.TemporaryFile() as file:
        for begin in range(0, 8 * math.prod(shape), STEP):  # a full disk says so here, not in a kernel
            file.write(bytes(min(STEP, 8 * math.prod(shape) - begin)))
        file.flush()
        return np.asarray(np.memmap(file, np.float64, "r+", shape=shape))


def neighbour_prices(near: Floats, k: int) -> Floats:
    """The least that each record pays in a group of any size k..2k-1: feasible prices."""
    return np.min([near[:, s - 1] / (2 * s) for s in range(k, 2 * k)], axis=0)


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
