"""The third bound: a semidefinite relaxation, for groups too large to be priced one by one.

A partition is the matrix Z with Z_ij = 1/|G| for two records of the same group G, else 0. Its rows sum to 1,
it is a projection with as many eigenvalues 1 as there are groups, and its SSE is <D/2, Z>, D the squared
distances. For any matrix M, with H = D/2 + M,

    SSE = <H, Z> - <M, Z>  >=  sum over i of min over s of (1/s)(H_ii + the s-1 smallest H_ij)
                               - (the most that <M, Z> can be),

so any M at all is a certificate. M may live on a block of records only, the dearest ones: the other rows then
have H = D/2, and what they pay is the neighbours' bound. A good M comes out of ADMM: rows on the one side,
the semidefinite cone on the other, M the multiplier of their agreement.

Who is with two others brings them together: Z_ij + Z_il <= Z_ii + Z_jl. A charge on a triple adds nothing
to the cost of a partition, so the rows may pay it too; what is no partition pays more.
"""

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.spatial.distance import cdist

from shoal.arrays import Floats, Ints
from shoal.bounds.certificate import matrix_value
from shoal.bounds.neighbours import near_sums, neighbour_prices
from shoal.kernels.runtime.threads import thread_count, together
from shoal.kernels.search.semidefinite import broken_triples, row_bounds, row_step

#: Rounds between two looks at what M proves: a look takes the eigenvalues of M, as a round does.
LOOK = 10
#: rho of the first round, in mean prices of the dearest tenth, which decide the bound. Then rho follows the
#: two sides where one is off by a factor of three: by so much, every so many rounds. Later it rests, so that
#: the rounds converge. On three tables of 80 to 90 records (k = 6 to 8), 160 instead of 40 proved 1 % less
#: after 40 rounds, 10 between 0.7 % less and 0.3 % more, a fixed rho 0.4 % less; after 160 rounds all were
#: within 0.3 %.
RHO, RHO_STEP, RHO_EVERY, RHO_UNTIL = 40.0, 1.3, 5, 150
#: How far a round goes beyond the rows' side, 1 being to it: over-relaxation. On 200 records of Tarragona and
#: of Census (k = 10), 50 rounds with 1.8 prove as much as 90 with 1; 1.6 lies between.
BEYOND = 1.8
#: Triples are charged from this round on, and new ones sought every so many looks: so many of a record that
#: are broken by this share of 1/k at least. A charge moves by this share of rho times what is broken. Census,
#: k = 10, 90 s: 0.03 proves 11.018 %, 0.1 11.032 %, 0.3 swings (10.98 at best after 200 rounds).
TRIPLES_FROM, TRIPLES_EVERY, TRIPLES_EACH, BROKEN, CHARGE = 60, 5, 20, 1e-3, 0.06
#: How many times as long as the last round the next one may take; with less time left it is not begun.
SLOWER = 1.2
#: A look that gains less than this share of the bound is the last.
LEAST_GAIN = 1e-6


@dataclass(frozen=True)
class Multipliers:
    """What a bound rests on: M on a block of records, and charges on triples of its rows."""

    block: Ints
    M: NDArray[np.float32]
    triples: Ints
    charges: Floats

    def rows(self) -> Floats:
        """What the rows pay beside half the distances: M and the charges."""
        return self.M + charged(len(self.block), self.triples, self.charges)

    def size(self) -> float:
        return float(np.linalg.norm(self.M.astype(np.float64))) + float(self.charges.sum())


def charged(b: int, triples: Ints, charges: Floats) -> Floats:
    """The matrix T of the charges: <T, Z> sums charge times (Z_ij + Z_il - Z_ii - Z_jl)."""
    T = np.zeros((b, b))
    i, j, l = triples.T  # noqa: E741
    for one, other, share in ((i, j, 0.5), (i, l, 0.5), (j, l, -0.5), (i, i, -0.5)):
        np.add.at(T, (one, other), share * charges)
        np.add.at(T, (other, one), share * charges)
    return T


def spectral_limit(M: Floats, n: int, k: int) -> float:
    """At least the greatest <M, Z> over all partition matrices, with a margin for the eigenvalues' rounding.

    On all records, Z = ee'/n + (a projection of rank at most n/k - 1 orthogonal to e). On a block of b, the
    part of Z has eigenvalues in 0..1 and a trace of at most b/k. The largest positive eigenvalues bound it.
    """
    b = len(M)
    S = (M + M.T) / 2
    constant = 0.0
    if b == n:
        constant = float(S.sum()) / n
        means = S.mean(axis=0)
        S = S - means[:, None] - means[None, :] + S.mean()
        rank: float = n // k - 1
    else:
        rank = b / k
    largest = np.maximum(eigvalsh(S)[::-1][: int(np.ceil(rank))], 0.0)
    size = float(np.linalg.norm(M))
    return constant + float(largest.sum()) + 1e-12 * (rank + 1) * b * size


def block_costs(X: Floats, k: int, block: Ints) -> tuple:
    """Half squared distances within the block, and each record's 2k-2 smallest to records outside it."""
    half = cdist(X[block], X[block], "sqeuclidean") / 2
    others = np.setdiff1d(np.arange(len(X)), block)
    most = min(2 * k - 2, len(others))
    outside = np.empty((len(block), most))
    for first in range(0, len(block), 200) if most else ():
        distance = cdist(X[block[first : first + 200]], X[others], "sqeuclidean") / 2
        outside[first : first + 200] = np.partition(distance, most - 1, axis=1)[:, :most]
    return half, outside


def proven(X: Floats, k: int, found: Multipliers) -> float:
    """What these multipliers prove, the margin taken off."""
    paid = neighbour_prices(near_sums(X, k), k)
    half, outside = block_costs(X, k, found.block)
    paid[found.block] = row_bounds(half, outside, found.rows(), k)
    return matrix_value(paid, spectral_limit(found.M.astype(np.float64), len(X), k), found.size())


def solve(X: Floats, k: int, *, seconds: float, largest: int = 1200) -> Multipliers:
    """The best certificate that the time allows."""
    began = time.perf_counter()
    prices = neighbour_prices(near_sums(X, k), k)
    block = np.sort(np.argsort(-prices, kind="stable")[:largest])
    n, b = len(X), len(block)
    rest = prices.sum() - prices[block].sum()
    half, outside = block_costs(X, k, block)
    whole = b == n
    rank = n / k - 1 if whole else b / k
    M, Y, Z = np.zeros((b, b)), np.zeros((b, b)), np.eye(b) / k
    tilted, triples, charges = half, np.empty((0, 3), np.int64), np.empty(0)
    best, found = prices.sum(), Multipliers(block, np.zeros((b, b), np.float32), triples, charges)
    rho = RHO * float(np.sort(prices)[-max(1, n // 10) :].mean())
    edges = np.linspace(0, b, 2 * thread_count() + 1).astype(int)
    look_time = round_time = 0.0
    step = 0
    while time.perf_counter() - began + SLOWER * round_time + look_time < seconds:
        tick = time.perf_counter()
        step += 1
        rows = partial(row_step, tilted, outside, M, Z, rho, k)
        together(*(partial(rows, first, last, Y) for first, last in pairwise(edges)))
        reached = BEYOND * Y + (1 - BEYOND) * Z
        before, Z = Z, _cone(reached + M / rho, rank, whole)
        M += rho * (reached - Z)
        apart = float(np.linalg.norm(Y - Z) / np.linalg.norm(Y))
        moved = rho * float(np.linalg.norm(Z - before)) / max(float(np.linalg.norm(M)), 1e-300)
        round_time = max(0.8 * round_time, time.perf_counter() - tick)
        if step % RHO_EVERY == 0 and step <= RHO_UNTIL and not 1 / 3 < apart / max(moved, 1e-300) < 3:
            rho *= RHO_STEP if apart > moved else 1 / RHO_STEP
        last_round = time.perf_counter() - began + SLOWER * round_time + 2 * look_time >= seconds
        if step % LOOK == 0 or last_round:
            tick = time.perf_counter()
            now = Multipliers(block, M.astype(np.float32), triples, charges)
            exact = now.M.astype(np.float64)
            value = rest + row_bounds(tilted, outside, exact, k).sum() - spectral_limit(exact, n, k)
            if value > best:
                gained, best, found = value - best, value, now
                if gained < LEAST_GAIN * value:
                    break
            if step >= TRIPLES_FROM:
                if step % (TRIPLES_EVERY * LOOK) == 0:
                    fresh = broken_triples(Z, BROKEN / k, TRIPLES_EACH)
                    triples, first = np.unique(np.concatenate([triples, fresh]), axis=0, return_index=True)
                    charges = np.append(charges, np.zeros(len(fresh)))[first]
                i, j, l = triples.T  # noqa: E741
                charges = np.maximum(0, charges + CHARGE * rho * (Z[i, j] + Z[i, l] - Z[j, l] - Z[i, i]))
                triples, charges = triples[charges > 0], charges[charges > 0]
                tilted = half + charged(b, triples, charges)
            look_time = max(0.8 * look_time, time.perf_counter() - tick)
    return found


def _cone(A: Floats, rank: float, whole: bool) -> Floats:
    """The nearest matrix that is positive semidefinite with trace at most `rank` (and maps e to e)."""
    A = (A + A.T) / 2
    if whole:
        means = A.mean(axis=0)
        A = A - means[:, None] - means[None, :] + A.mean()
    values, vectors = eigh(
        A.astype(np.float32), subset_by_value=(0, np.inf), driver="evr", check_finite=False
    )
    down = values[::-1].astype(np.float64)
    if down.sum() > rank:
        shift = (np.cumsum(down) - rank) / np.arange(1, len(down) + 1)
        values = np.maximum(values - np.float32(shift[np.flatnonzero(down > shift)[-1]]), 0)
    vectors, values = vectors[:, values > 0], values[values > 0]
    Z = ((vectors * values) @ vectors.T).astype(np.float64)
    return Z + 1 / len(Z) if whole else Z
