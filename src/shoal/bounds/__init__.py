"""How little any partition could lose: proven lower bounds, each with a certificate that proves it again."""

import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.bounds.certificate import (
    MARGIN,
    Bound,
    Certificate,
    fingerprint,
    priced_value,
    total_sum_of_squares,
)
from shoal.bounds.neighbours import room
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.large import PIECE, LargeTable
from shoal.frame.types import left_out, read_column, read_weight, refuse_gaps
from shoal.io.large import large_frame
from shoal.io.source import frame_of
from shoal.plan import Plan, PlanFields, explicit
from shoal.stages.encode import encode

__all__ = ["Bound", "Certificate", "bound_matrix", "lower_bound", "measured", "no_bound", "standardised"]


#: Records up to which the semidefinite bound is tried: each of its rounds takes the eigenvalues of a matrix
#: of that size, and the time for them grows with its third power.
DENSE = 1500
#: Records that the linear program finds prices for, the dearest, up to k = 5 and above. At larger k the crowd
#: in the middle is too much work: on EIA with k = 10 the dearest 1600 prove 1.841 % in 97 s, 800 1.821 %.
LARGEST, LARGEST_ABOVE_5 = 5000, 1600
#: Up to so many times as many records the linear program has half of the time, and the better bound counts.
#: Of 8000 heavy-tailed records (k = 3) it proves 5.55 %, raised prices 5.11 %; of clusters it proves less.
BOTH = 4
#: Cells beyond which prices are not raised: that keeps some 60 bytes for each in memory.
HELD = 50_000_000
#: Records up to which values may have weights or gaps, for then every pair of records is looked at.
WEIGHTED = 1_000_000
SECONDS = 60.0  # what the search for a bound may take, unless the plan says it


@explicit(Plan)
def lower_bound(data: Any, k: int, **fields: Unpack[PlanFields]) -> Bound:
    """The least information loss that any grouping of these records into groups of at least k could have.

    Fields of a plan say what is protected: `columns`, `types`, `levels`, `weight`, `missing` and
    `missing_codes`. The bound holds for every method, scaling, stratum and requirement. It is of whole
    records: columns that are grouped apart have none.

    Parameters
    ----------
    data : table, array or path
        As for `microaggregate`, or a folder of Parquet files.
    k : int
        How many records each group has, at least.
    **fields
        The fields of `Plan`; `time_limit` is 60 seconds unless said.

    Returns
    -------
    Bound
        The best bound that the time allows, with a certificate; `Bound.verify()` proves it again.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(60)
    >>> bound = shoal.lower_bound(table, 3, columns=["wages", "sector"], types={"sector": "nominal"})
    >>> release = shoal.microaggregate(table, 3, columns=["wages", "sector"], types={"sector": "nominal"})
    >>> 0 < bound.information_loss <= release.information_loss
    True
    """
    plan = Plan(k, **fields)
    X, V = measured(data, plan=plan)
    return bound_matrix(X, k, V, time_limit=plan.time_limit or SECONDS)


def no_bound(plan: Plan, records: int = 0, holes: bool = False) -> str | None:
    """Why no bound is known for releases of this plan, of so many records; None where there is one."""
    if plan.apart:
        apart = "a bound holds for groups of whole records, and here columns are grouped apart"
        return f"{apart}: leave blocks and per_column out"
    if records > WEIGHTED and (plan.weight is not None or (holes and plan.missing != "drop")):
        return f"values with weights or gaps have one up to {WEIGHTED:,} records, and here are {records:,}"
    return None


def standardised(data: Any, columns: Sequence[Any] | Any | None = None, plan: Plan | None = None) -> Floats:
    """The protected columns as numbers with mean 0 and deviation 1 (n-1); refused with weights or gaps."""
    X, V = measured(frame_of(data), columns, plan)
    if V is not None:
        raise InputError(
            "the optimum is proven of records without weights and gaps: leave out the weight, and columns or "
            "records with gaps (missing='drop'), or ask for the bound alone"
        )
    return X


def measured(
    data: Any, columns: Sequence[Any] | Any | None = None, plan: Plan | None = None
) -> tuple[Floats, Floats | None]:
    """The protected columns as a release is measured in, standardised, and the weights of their values.

    The weights are None where all are 1; a gap has the weight 0.
    """
    frame = large_frame(data)
    plan, large = (plan or Plan(1, columns=columns)).called(frame.names), isinstance(frame.native, LargeTable)
    if (why := no_bound(plan, len(frame))) is not None:
        raise InputError(why)
    if not len(frame):
        raise InputError("a bound needs at least one record, but the table has none")
    names = frame.choose(plan.columns, {*plan.roles, *plan.strata, plan.weight})

    def read(name: Any) -> Column:
        """One column at a time: a large table has no room for more."""
        types, levels = plan.types.get(name), plan.levels.get(name)
        return read_column(frame, name, types, levels, plan.codes_of(name))

    gaps = {name: gaps for name in names if (gaps := read(name).gaps) is not None and gaps.any()}
    if gaps and plan.missing == "drop":
        there = ~np.logical_or.reduce([*gaps.values()])
        left_out(len(frame), int(there.sum()), plan.k)
        frame, gaps = Frame(frame.native.filter(there)) if large else frame.rows(there), {}
    if plan.missing == "error":
        refuse_gaps(map(read, gaps))
    if (why := no_bound(plan, len(frame), bool(gaps))) is not None:
        raise InputError(why)
    parts = []
    for name in names:
        parts.append(encode([read(name)]).matrix)
        if large:
            stored = room(*parts[-1].shape)
            stored[:], parts[-1] = parts[-1], stored
    shape = len(frame), sum(part.shape[1] for part in parts)
    X = room(*shape) if large else np.empty(shape)
    for begin in range(0, len(X), PIECE):
        rows = slice(begin, begin + PIECE)
        np.concatenate([part[rows] for part in parts], axis=1, out=X[rows])
    if plan.weight is None and not gaps:
        return X, None
    V = np.ones_like(X)
    for name, part, end in zip(names, parts, np.cumsum([part.shape[1] for part in parts])):
        if name in gaps:
            V[gaps[name], end - part.shape[1] : end] = 0.0
    return X, V if plan.weight is None else V * read_weight(plan, frame)[:, None]


def bound_matrix(
    X: Floats,
    k: int,
    V: Floats | None = None,
    *,
    time_limit: float = 60,
    start: Ints | None = None,
    goal: float = np.inf,
) -> Bound:
    """The best bound on the SSE of any partition of the rows of X into groups of at least k.

    V: the weights of the values, where not all are 1. start: labels of a good partition; its groups save
    time. goal: a loss in percent that is good enough.
    """
    from shoal.bounds import blocks, neighbours, program, semidefinite

    began = time.perf_counter()
    X = np.ascontiguousarray(X, np.float64)
    n = len(X)
    if not 1 <= k <= n:
        raise InputError(f"k={k} needs at least k records and k at least 1, but there are {n} records")
    V = None if V is None else np.ascontiguousarray(V, np.float64)
    total = total_sum_of_squares(X, V)

    def bound(value: float, method: str, proof: str, **arrays: NDArray) -> Bound:
        loss = 100 * value / total if total > 0 else 0.0
        certificate = Certificate(proof, k, fingerprint(X, k, V), arrays)
        return Bound(value, loss, method, certificate, time.perf_counter() - began, X, V)

    if k == 1:
        return bound(0.0, "k = 1 loses nothing", "one group")
    if n < 2 * k:
        return bound(total * (1 - MARGIN), "one group only", "one group")

    def left() -> float:
        return time_limit - (time.perf_counter() - began)

    shares = None if V is None else neighbours.shares_of(X, V, k, left())
    if shares is None and X.size > HELD:
        price = neighbours.streamed_prices(X, k)
        return bound(priced_value(price, np.empty(0)), "neighbours", "neighbours")
    if shares is None:
        near = neighbours.near_sums(X, k)
        price = neighbours.neighbour_prices(near, k)
        best = bound(priced_value(price, np.empty(0)), "neighbours", "neighbours")
    else:
        value = priced_value(shares.prices, np.empty(0))
        best = bound(value, "neighbours", "neighbours", prices=shares.prices)

    # Exact pricing serves small k, and tables whose cost lies in few records. Where its first round is too
    # much work and the table is small enough for dense matrices, the time is better spent on the matrix.
    dense = shares is None and k > 5 and n <= DENSE
    largest = LARGEST if k <= 5 or dense else LARGEST_ABOVE_5
    if n > largest and shares is None:
        price = blocks.raised_prices(X, near, k, left() if n > BOTH * largest else left() / 2)
        value = priced_value(price, np.empty(0))
        if value > best.sse:
            best = bound(value, "raised prices", "blocks", prices=price)
    if n > BOTH * largest or (shares and left() <= 0):
        return best
    goal_sse = goal * total / 100
    prices = program.solve(
        X, k, seconds=left(), start=start, largest=largest, give_up=dense, goal=goal_sse, shares=shares
    )
    value = priced_value(prices.records, prices.penalties * prices.cuts.limits)
    if value > best.sse:
        method = "linear program with cuts" if len(prices.cuts) else "linear program"
        best = bound(value, method, "prices", **prices.arrays())
    if dense and not prices.optimal and best.information_loss < goal and left() > 0:
        found = semidefinite.solve(X, k, seconds=left())
        value = semidefinite.proven(X, k, found)
        if value > best.sse:
            best = bound(value, "semidefinite", "matrix", **vars(found))
    return best
