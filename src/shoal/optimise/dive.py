"""Better partitions out of the bound's linear program.

The prices of the bound say of any group by how much at least a partition that holds it exceeds the bound. A
dive takes the linear program over the groups that exceed it least, fixes the groups that its solution takes
almost whole and one or two more, solves it again, and so on down to a partition. What several dives met on
their way is little work for an integer program.
"""

import time
from functools import partial

import highspy
import numpy as np
from numpy.typing import NDArray

from shoal.bounds.cuts import Cuts
from shoal.bounds.highs import Relaxation, set_partitioning
from shoal.bounds.program import Program
from shoal.grouping.partition import group_rows
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.cuts import counts, group_costs
from shoal.optimise.recombine import groups_of, labels_from
from shoal.optimise.search import Clock, Problem, cool, pose, renumber

#: Groups of least excess that dives begin with.
GROUPS = 15_000
#: Dives before an integer program goes over what they met, and the share of the time left that it may take.
DIVES, INTEGER = 6, 0.3
#: A group of which the solution takes so much is fixed.
WHOLE = 0.97
#: A dive's program is made anew when this share of its groups, or less, is still free.
SHRUNK = 0.8
#: What it costs a dive to leave a record over, in distances between partition and bound.
LEFT_OVER = 20.0
#: Proposals for each record in the descent that ends a dive.
PROPOSALS = 200


class Diver:
    """The best partition so far, in the order of the program's records, and what dives make of it."""

    def __init__(self, program: Program, labels: NDArray[np.int64], seed: int):
        self.program = program
        self.problem: Problem = pose(program.X, program.k)
        self.random = np.random.default_rng(seed)
        self.labels = renumber(labels[program.order])
        self.cost = self._cost(self.labels)

    def _cost(self, labels: NDArray[np.int64]) -> float:
        return float(group_costs(self.program.X, group_rows(labels, self.program.k)).sum())

    @property
    def gap(self) -> float:
        return self.cost - self.program.value

    def take(self, labels: NDArray[np.int64]) -> bool:
        """Keep this partition if it is better."""
        cost = self._cost(labels)
        if cost >= self.cost * (1 - 1e-12):
            return False
        self.labels, self.cost = renumber(labels), cost
        self.program.master.add_new(group_rows(labels, self.program.k))
        return True

    def improve(
        self, deadline: float, among: tuple[NDArray[np.int32], Cuts] | None = None, dives: int = DIVES
    ) -> bool:
        """Dive several times, and choose among all groups met; True if something better was found.

        among: the groups to choose from and the cuts; otherwise those of least excess, and the program's.
        """
        if self.gap <= 1e-9 * self.cost:
            return False
        program = self.program
        rows, cuts = among or (self._cheapest(deadline), program.master.cuts[program.penalties > 0])
        costs = self._scaled(rows, group_costs(program.X, rows))
        lp = Relaxation(program.n, rows, costs, cuts, LEFT_OVER)
        if lp.solve(deadline - time.perf_counter()) is None:
            return False
        dive = partial(self._dive, rows, costs, cuts, lp.basic(), deadline)
        answers = map_threads(dive, self.random.integers(2**62, size=dives).tolist())
        met = [group_rows(self.labels, self.program.k)]
        better = False
        for labels, groups in answers:
            met.append(groups)
            if labels is not None:
                met.append(group_rows(labels, self.program.k))
                better |= self.take(labels)
        left = deadline - time.perf_counter()
        if left > 0:
            groups = np.unique(np.sort(np.concatenate(met), axis=1)[:, ::-1], axis=0)
            better |= self.take(self._choose(groups, INTEGER * left))
        return better

    def _cheapest(self, deadline: float) -> NDArray[np.int32]:
        """The groups of least excess."""
        program = self.program
        rows = program.most_groups(self.gap, 4 * GROUPS, 1e-3, deadline)[0]
        listed = [program.master.rows] if rows is None else [program.master.rows, rows]
        own = group_rows(self.labels, program.k).astype(np.int32)
        rows = np.unique(np.sort(np.concatenate([*listed, own]), axis=1)[:, ::-1], axis=0)
        costs = group_costs(program.X, rows)
        excess = program.excess(rows, costs)
        excess[groups_of(self.labels, rows)] = 0.0
        keep = np.argsort(excess, kind="stable")[:GROUPS]
        keep = keep[excess[keep] <= self.gap]
        return np.ascontiguousarray(rows[keep])

    def _scaled(self, rows: NDArray, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs less prices, in distances to the bound: HiGHS stalls on the costs themselves."""
        return (costs - np.append(self.program.best, 0.0)[rows].sum(1)) / self.gap

    def _dive(self, rows, costs, cuts, start, deadline: float, seed: int):
        """A partition (or None), and all groups that the dive took a share of."""
        random = np.random.default_rng(seed)
        rest = _Rest(rows, costs, cuts, self.program.n, start)
        met = np.zeros(len(rows), bool)
        while True:
            left = deadline - time.perf_counter()
            shares = rest.shares(left) if left > 0 else None
            if shares is None:
                return None, rows[met]
            met |= shares > 1e-6
            fresh = (shares > WHOLE) & ~rest.fixed
            open_ = np.flatnonzero((shares > 1e-6) & ~rest.fixed & ~fresh)
            if len(open_):
                some = open_[np.argsort(-shares[open_] * random.uniform(0.8, 1.0, len(open_)))]
                fresh[some[0]] = True
                disjoint = not set(rows[some[0]].tolist()) & set(rows[some[1 % len(some)]].tolist()) - {-1}
                if disjoint:
                    fresh[some[1 % len(some)]] = True
            if not fresh.any() or not rest.fix(fresh):
                break
        return self._complete(rows[rest.fixed], seed), rows[met]

    def _complete(self, groups: NDArray[np.int32], seed: int) -> NDArray[np.int64] | None:
        """Labels: each record left over joins the group that it costs least; then a descent."""
        X, k = self.program.X, self.program.k
        if not len(groups):
            return None
        sizes = (groups >= 0).sum(1)
        labels = np.full(len(X), -1)
        held = groups >= 0
        labels[groups[held]] = np.nonzero(held)[0]
        sums = np.zeros((len(groups), X.shape[1]))
        np.add.at(sums, labels[labels >= 0], X[labels >= 0])
        for i in np.flatnonzero(labels < 0):
            rise = np.square(X[i] - sums / sizes[:, None]).sum(1) * sizes / (sizes + 1)
            rise[sizes >= 2 * k - 1] = np.inf
            g = int(np.argmin(rise))
            if not np.isfinite(rise[g]):
                return None
            labels[i], sizes[g], sums[g] = g, sizes[g] + 1, sums[g] + X[i]
        return cool(self.problem, labels, seed, PROPOSALS * len(X), 1e-9, Clock(None), 1e-9)

    def _choose(self, rows: NDArray[np.int64], seconds: float) -> NDArray[np.int64]:
        """The best partition of these groups that HiGHS finds in so many seconds; the present one if none."""
        costs = self._scaled(rows, group_costs(self.program.X, rows))
        solver = set_partitioning(rows, costs, self.program.n, whole=True, time_limit=seconds)
        start = highspy.HighsSolution()
        start.col_value = groups_of(self.labels, rows).astype(float).tolist()
        solver.setSolution(start)
        solver.run()
        chosen = rows[np.asarray(solver.getSolution().col_value) > 0.5]
        if not np.array_equal(np.sort(chosen[chosen >= 0]), np.arange(self.program.n)):
            return self.labels
        return labels_from(chosen, self.program.n)


class _Rest:
    """A dive's linear program: what the fixed groups leave. It is made anew when they leave much less."""

    def __init__(self, rows: NDArray[np.int32], costs, cuts: Cuts, n: int, start: tuple):
        self.rows, self.costs, self.cuts = rows, costs, cuts
        self.fixed = np.zeros(len(rows), bool)
        self.groups, self.records = np.arange(len(rows)), np.arange(n)  # those that the program holds
        self.held = np.zeros(n + 1, bool)  # by fixed groups; the last place is nobody's
        self.lp = Relaxation(n, rows, costs, cuts, LEFT_OVER)
        self.lp.begin_at(*start)

    def shares(self, seconds: float) -> NDArray[np.float64] | None:
        """How much of each group the solution takes; None if it takes longer than that."""
        answer = self.lp.solve(seconds)
        if answer is None:
            return None
        shares = self.fixed.astype(float)
        shares[self.groups] = answer.shares
        return shares

    def fix(self, fresh: NDArray[np.bool_]) -> bool:
        """Fix these groups too; False if none is left beside them."""
        self.fixed |= fresh
        self.held[self.rows[fresh]] = True
        self.held[-1] = False
        free: NDArray[np.bool_] = ~np.any(self.held[self.rows[self.groups]], axis=1)
        if not free.any():
            return False
        if free.mean() < SHRUNK:
            self._shrink(free, ~self.held[self.records])
        else:
            self.lp.bound(np.flatnonzero(fresh[self.groups]), 1.0, np.inf)
        return True

    def _shrink(self, groups: NDArray[np.bool_], records: NDArray[np.bool_]) -> None:
        """Keep these; cuts are left with what the fixed groups do not use of them. The solution stays."""
        (columns, rows), cuts, n = self.lp.basic(), self.cuts, len(self.held) - 1
        columns = np.append(columns[: len(records)][records], columns[len(records) :][groups])
        rows = np.append(rows[: len(records)][records], rows[len(records) :])
        self.groups, self.records = self.groups[groups], self.records[records]
        names = np.full(n + 1, -1, np.int32)
        names[self.records] = np.arange(len(self.records))
        _, cut, times = counts(self.rows[self.fixed], cuts.lists(n, np.empty(0)))
        limits = cuts.limits - np.bincount(cut, times, len(cuts))
        inside = names[cuts.records]
        fewer = Cuts(inside.astype(np.int64), np.where(inside >= 0, cuts.weights, 0), cuts.divisors)
        held = names[self.rows[self.groups]], self.costs[self.groups], fewer
        self.lp = Relaxation(len(self.records), *held, LEFT_OVER, limits=limits)
        self.lp.begin_at(columns, rows)
