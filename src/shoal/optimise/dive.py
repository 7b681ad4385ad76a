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
from shoal.bounds.highs import set_partitioning, solved
from shoal.bounds.program import Program, group_rows
from shoal.bounds.tree import add_cut_rows
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.cuts import group_costs
from shoal.optimise.recombine import groups_of, labels_from
from shoal.optimise.search import Clock, Problem, cool, pose, renumber

#: Groups of least excess that dives begin with.
GROUPS = 15_000
#: Dives before an integer program goes over what they met, and the share of the time left that it may take.
DIVES, INTEGER = 6, 0.3
#: A group of which the solution takes so much is fixed.
WHOLE = 0.97
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
        self.program.master.add_groups(group_rows(labels, self.program.k))
        return True

    def improve(self, deadline: float, among: tuple[NDArray[np.int32], Cuts] | None = None) -> bool:
        """Dive several times, and choose among all groups met; True if something better was found.

        among: the groups to choose from and the cuts; otherwise those of least excess, and the program's.
        """
        if self.gap <= 1e-9 * self.cost:
            return False
        program = self.program
        rows, cuts = among or (self._cheapest(deadline), program.master.cuts[program.penalties > 0])
        costs = self._scaled(rows, group_costs(program.X, rows))
        lp = self._linear(rows, costs, cuts)
        solved(lp, deadline - time.perf_counter())
        dive = partial(self._dive, rows, costs, cuts, lp.getBasis(), deadline)
        answers = map_threads(dive, self.random.integers(2**62, size=DIVES).tolist())
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
        program, goal, rows = self.program, self.gap, None
        while rows is None and goal > 1e-3 * self.gap:
            rows = program.every_group(goal, 4 * GROUPS, deadline)
            goal /= 3
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

    def _linear(self, rows: NDArray[np.int32], costs: NDArray[np.float64], cuts: Cuts) -> highspy.Highs:
        """The linear program over these groups, with these cuts."""
        n = self.program.n
        lp = set_partitioning(rows, costs, n, presolve="off")
        every = np.arange(n, dtype=np.int32)
        lp.addCols(n, np.full(n, LEFT_OVER), np.zeros(n), np.ones(n), n, every, every, np.ones(n))
        add_cut_rows(lp, np.arange(len(rows)), rows, cuts, n)
        return lp

    def _dive(self, rows, costs, cuts, basis, deadline: float, seed: int):
        """A partition (or None), and all groups that the dive took a share of."""
        m = len(rows)
        random = np.random.default_rng(seed)
        lp = self._linear(rows, costs, cuts)
        lp.setBasis(basis)
        fixed = np.zeros(m, bool)
        met = np.zeros(m, bool)
        while True:
            left = deadline - time.perf_counter()
            if left <= 0 or not solved(lp, left):
                return None, rows[met]
            shares = np.asarray(lp.getSolution().col_value)[:m]
            met |= shares > 1e-6
            fresh = (shares > WHOLE) & ~fixed
            open_ = np.flatnonzero((shares > 1e-6) & ~fixed & ~fresh)
            if len(open_):
                some = open_[np.argsort(-shares[open_] * random.uniform(0.8, 1.0, len(open_)))]
                fresh[some[0]] = True
                disjoint = not set(rows[some[0]].tolist()) & set(rows[some[1 % len(some)]].tolist()) - {-1}
                if disjoint:
                    fresh[some[1 % len(some)]] = True
            if not fresh.any():
                break
            fixed |= fresh
            which = np.flatnonzero(fresh).astype(np.int32)
            lp.changeColsBounds(len(which), which, np.ones(len(which)), np.full(len(which), np.inf))
        return self._complete(rows[fixed], seed), rows[met]

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
