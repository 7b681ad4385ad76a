"""How little any partition could lose: proven lower bounds, each with a certificate that proves it again."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.certificate import (
    MARGIN,
    Bound,
    Certificate,
    fingerprint,
    priced_value,
    total_sum_of_squares,
)
from shoal.errors import InputError
from shoal.io.source import frame_of
from shoal.stages.encode import standardise

__all__ = ["Bound", "Certificate", "bound_matrix", "lower_bound", "standardised"]


#: Records up to which the semidefinite bound is tried: each of its rounds takes the eigenvalues of a matrix
#: of that size, and the time for them grows with its third power.
DENSE = 1500
#: Records that the linear program finds prices for, the dearest, up to k = 5 and above. At larger k the crowd
#: in the middle is too much work: on EIA with k = 10 all records give 1.74 % in 162 s, the dearest 800 1.77 %
#: in 116 s.
LARGEST, LARGEST_ABOVE_5 = 5000, 800


def lower_bound(data: Any, k: int, *, columns: Sequence[Any] | None = None, time_limit: float = 60) -> Bound:
    """The least information loss that any grouping of these records into groups of at least k could have.

    `data` and `columns` are as for `microaggregate`, numbers without gaps. Returns the best bound that the
    time allows, with a certificate; `Bound.verify()` proves it again.
    """
    return bound_matrix(standardised(data, columns), k, time_limit=time_limit)


def standardised(data: Any, columns: Sequence[Any] | None = None) -> NDArray[np.float64]:
    """The chosen columns as `microaggregate` standardises them: mean 0, deviation 1 (n-1), a constant 0."""
    frame = frame_of(data)
    values = []
    for name in frame.choose(columns):
        column, gaps = frame.numbers(name)
        if gaps is not None:
            row = int(np.argmax(gaps)) + 1
            raise InputError(
                f"column {name!r} has a gap in row {row}: a bound needs every value, or leave it out"
            )
        values.append(column)
    if not len(frame):
        raise InputError("a bound needs at least one record, but the table has none")
    return standardise(values)[0]


def bound_matrix(
    X: NDArray[np.float64],
    k: int,
    *,
    time_limit: float = 60,
    start: NDArray[np.int64] | None = None,
) -> Bound:
    """The best bound on the SSE of any partition of the rows of X into groups of at least k.

    start: labels of a good partition; its groups save time.
    """
    from shoal.bounds import neighbours, program, semidefinite

    began = time.perf_counter()
    X = np.ascontiguousarray(X, np.float64)
    n = len(X)
    if not 1 <= k <= n:
        raise InputError(f"k={k} needs at least k records and k at least 1, but there are {n} records")
    total = total_sum_of_squares(X)

    def bound(value: float, method: str, proof: str, **arrays: NDArray) -> Bound:
        loss = 100 * value / total if total > 0 else 0.0
        certificate = Certificate(proof, k, fingerprint(X, k), arrays)
        return Bound(value, loss, method, certificate, time.perf_counter() - began, X)

    if k == 1:
        return bound(0.0, "k = 1 loses nothing", "one group")
    if n < 2 * k:
        return bound(total * (1 - MARGIN), "one group only", "one group")
    price = neighbours.neighbour_prices(neighbours.near_sums(X, k), k)
    best = bound(priced_value(price, np.empty(0)), "neighbours", "neighbours")

    def left() -> float:
        return time_limit - (time.perf_counter() - began)

    # Exact pricing serves small k, and tables whose cost lies in few records. Where its first round is too
    # much work and the table is small enough for dense matrices, the time is better spent on the matrix.
    dense = k > 5 and n <= DENSE
    largest = LARGEST if k <= 5 or dense else LARGEST_ABOVE_5
    prices = program.solve(X, k, seconds=left(), start=start, largest=largest, give_up=dense)
    value = priced_value(prices.records, prices.penalties * prices.cuts.limits)
    if value > best.sse:
        method = "linear program with cuts" if len(prices.cuts) else "linear program"
        best = bound(value, method, "prices", **prices.arrays())
    if dense and not prices.optimal and left() > 0:
        block, M = semidefinite.solve(X, k, seconds=left())
        value = semidefinite.proven(X, k, block, M)
        if value > best.sse:
            best = bound(value, "semidefinite", "matrix", block=block, M=M)
    return best
