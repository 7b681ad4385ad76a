"""Groups that the bound's linear program would use, and the best partition of all groups known.

For small k the dual prices of the bound (`shoal.bounds.program`) say of any group by how much at least a
partition that holds it exceeds the bound. A group that exceeds the best partition by that is in no better
one, and a few thousand of the cheapest are little work for an integer program: on Census with k = 3 it
comes within 0.1 % of the bound, where annealing alone stays 0.6 % above it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shoal.bounds.program import Prices, solve
from shoal.optimise.recombine import Pool
from shoal.optimise.search import Clock

#: Shares of the time left that go to the linear program, and of what is then left to the integer program.
LINEAR, INTEGER = 0.5, 0.7
#: Groups for each record in the integer program, at most. All that could be in a better partition are up to
#: six at k = 4, too many for its time. Medians on Census after 60 s: 2.5 gave 6.039, 4 gave 6.041, and all of
#: them (with a share of 0.6) 6.05.
GROUPS = 2.5


def recombine(pool: Pool, labels: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """The best partition of the pool's groups and of those that the linear program adds to it."""
    problem = pool.problem
    known = [row[row >= 0].tolist() for row in pool.members]
    prices = solve(problem.P, problem.k, seconds=LINEAR * clock.left(), start_groups=known)
    members = np.full((len(prices.groups), pool.width), -1)
    for row, group in zip(members, prices.groups):
        row[: len(group)] = group
    excess = problem.sse(labels).sum() - prices.value
    pool.extend(members, prices.costs, len(members) + len(known))
    reduced = _reduced_costs(pool.members, pool.cost, prices)
    keep = _groups_of(labels, pool.members)
    cheapest = np.argsort(reduced, kind="stable")[: int(GROUPS * len(labels))]
    keep[cheapest] |= reduced[cheapest] <= excess * (1 + 1e-9)
    return _cheapest(pool.members[keep], pool.cost[keep], labels, INTEGER * clock.left())


def _groups_of(labels: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these groups are the partition's own."""
    first = labels[members[:, 0]]
    own = (np.where(members >= 0, labels[members], first[:, None]) == first[:, None]).all(1)
    return own & ((members >= 0).sum(1) == np.bincount(labels)[first])


def _holds(members: NDArray[np.int64], records: int) -> sparse.csr_matrix:
    """A row for each group, with a one for each record that it holds."""
    inside = members >= 0
    ends = np.concatenate([[0], np.cumsum(inside.sum(1))])
    return sparse.csr_matrix(
        (np.ones(ends[-1]), members[inside], ends), shape=(len(members), records), dtype=np.float64
    )


def _reduced_costs(
    members: NDArray[np.int64], cost: NDArray[np.float64], prices: Prices
) -> NDArray[np.float64]:
    """By how much at least a partition exceeds the bound if it holds the group."""
    holds = _holds(members, len(prices.records))
    paid = prices.penalties > 0
    cuts = _holds(prices.triples[paid], len(prices.records))
    shared = (holds @ cuts.T).tocsr()
    shared.data = (shared.data >= 2).astype(float)
    return cost - holds @ prices.records + shared @ prices.penalties[paid]


def _cheapest(
    members: NDArray[np.int64], cost: NDArray[np.float64], labels: NDArray[np.int64], seconds: float
) -> NDArray[np.int64]:
    """The cheapest exact cover by these groups that HiGHS finds in so many seconds; `labels` if none."""
    import highspy

    records = len(labels)
    holds = _holds(members, records)
    own = _groups_of(labels, members)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), records
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.ones(len(cost))
    lp.row_lower_ = lp.row_upper_ = np.ones(records)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = holds.indptr, holds.indices, holds.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("time_limit", max(0.0, seconds))):
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    start = highspy.HighsSolution()
    start.col_value = own.astype(float).tolist()
    solver.setSolution(start)
    solver.run()
    chosen = np.flatnonzero(np.asarray(solver.getSolution().col_value) > 0.5)
    covered = holds[chosen].sum(0) if len(chosen) else np.zeros(records)
    if not np.all(np.asarray(covered) == 1) or cost[chosen].sum() >= cost[own].sum():
        return labels
    new = np.empty(records, np.int64)
    for group, row in enumerate(members[chosen]):
        new[row[row >= 0]] = group
    return new
