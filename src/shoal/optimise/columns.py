"""Groups that the bound's linear program would use, and the best partition of all groups seen.

For small k the dual prices of the bound (`shoal.bounds.program`) say of any group by how much at least a
partition that holds it exceeds the bound. A group that exceeds the best partition by that is in no better
one, and a few thousand of the cheapest are little work for an integer program: on Census with k = 3 it
comes within 0.1 % of the bound, where annealing alone stays 0.6 % above it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shoal.bounds.program import Prices, solve
from shoal.optimise.recombine import Pool, groups_of, labels_from
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
    seen = [row[row >= 0].tolist() for row in pool.members]
    prices = solve(problem.P, problem.k, seconds=LINEAR * clock.left(), start_groups=seen)
    members = np.full((len(prices.groups), pool.width), -1)
    for row, group in zip(members, prices.groups):
        row[: len(group)] = group
    excess = problem.sse(labels).sum() - prices.value
    pool.extend(members, prices.costs, len(members) + len(seen))
    reduced = _reduced_costs(pool.members, pool.cost, prices)
    keep = groups_of(labels, pool.members)
    cheapest = np.argsort(reduced, kind="stable")[: int(GROUPS * len(labels))]
    keep[cheapest] |= reduced[cheapest] <= excess * (1 + 1e-9)
    return _cheapest(pool.members[keep], pool.cost[keep], labels, INTEGER * clock.left())


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

    from shoal.bounds.highs import set_partitioning

    current = groups_of(labels, members)
    program = set_partitioning(members, cost, len(labels), whole=True, time_limit=max(0.0, seconds))
    start = highspy.HighsSolution()
    start.col_value = current.astype(float).tolist()
    program.setSolution(start)
    program.run()
    chosen = np.flatnonzero(np.asarray(program.getSolution().col_value) > 0.5)
    held = members[chosen]
    covered = np.bincount(held[held >= 0], minlength=len(labels))
    if not np.all(covered == 1) or cost[chosen].sum() >= cost[current].sum():
        return labels
    return labels_from(held, len(labels))
