"""The second bound: the linear program of set partitioning, by column generation, tightened by cuts.

One variable for each possible group, cost SSE(G); each record in exactly one group. Its dual has a price for
each record such that no group is worth more than it costs; the sum of such prices bounds every partition.
Three records S give a cut: at most one group of a partition can hold two or all of them. Its penalty is paid
by such groups, and subtracted from the bound.

Prices come from a linear program over the groups so far (HiGHS), held in a box around the best
feasible prices; `charge` finds the groups that undercut them and makes them feasible, which gives a valid
bound at each step. What is ours: pricing each group once only, at its dearest record, charging as it goes;
and the box, which keeps the prices near feasible ones and so the search small.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.bounds.highs import quiet_solver
from shoal.bounds.neighbours import near_sums, neighbour_prices
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.kernels.search.pricing import charge, violated_triples

#: Parts of the table that are priced independently of one another, so that several threads can work. Records
#: of one part do not see what those of another were charged, so with more parts prices fall too far.
REGIONS = 4
#: Candidates weighed in a second, at least. It turns the time for one pricing into a budget.
SPEED = 2e7
#: Share of the best feasible prices in the prices that are tried. More of it makes steps small and pricing
#: quick, less makes steps large and pricing slow.
CENTRE = 0.3
#: The program counts as solved, and cuts are looked for, when the bound is within this share of its value.
ENOUGH = 2e-4
#: Steps in a row without a gain or a new group after which there is nothing more to gain.
IDLE = 10
#: How far prices may move in the first step: a share of each, and of their mean. Eight tables of 90 to 500
#: records (k = 3 to 5) took 531 steps in all, with a share of 1 a fifth fewer, without the mean a fifth more.
REACH, REACH_MEAN = 0.3, 0.05
#: A step that gains this share of what it promised widens the box. On these tables 0.6 took up to twice the
#: steps, 0.1 a fifth fewer; tables that take minutes were not measured.
KEPT_PROMISE = 0.3
#: Shares of the time that one pricing may take: usually, and where we give up if it is not enough.
ONE_PRICING, FIRST_PRICING = 0.1, 0.02
#: How many times as long as the last pricing the next one may take; with less time left it is not begun.
SLOWER = 1.5
#: Violation from which a triple becomes a cut, cuts through one record, and cuts of a round (or an eighth of
#: the records). 0.001, 99 and 300 led to the same bounds in as many steps, 20 cuts in up to twice as many.
VIOLATED, CUTS_OF_A_RECORD, CUTS = 0.02, 4, 60


@dataclass
class Prices:
    """A dual solution: a price for each record, a penalty for each cut (three records)."""

    records: NDArray[np.float64]
    triples: NDArray[np.int64]
    penalties: NDArray[np.float64]
    groups: list[tuple[int, ...]]  # those of the linear program
    costs: NDArray[np.float64]
    optimal: bool

    @property
    def value(self) -> float:
        return float(self.records.sum() - self.penalties.sum())


def cut_lists(n: int, triples: NDArray[np.int64], penalties: NDArray[np.float64]) -> tuple:
    """For each record the two other records and the penalty of each of its cuts, as the kernels want them."""
    active = penalties > 0
    triples, penalties = triples[active], penalties[active]
    owner = triples.T.ravel()
    other = np.concatenate([triples[:, [1, 2]], triples[:, [0, 2]], triples[:, [0, 1]]])
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(n + 1))
    return start, np.ascontiguousarray(other[order]), np.tile(penalties, 3)[order]


def regions(X: NDArray[np.float64], number: int) -> list[NDArray[np.int64]]:
    """Split the records into compact parts: halve at the median of the widest column, again and again."""
    parts = [np.arange(len(X))]
    while len(parts) < number and len(X) > 50 * number:
        halves = []
        for part in parts:
            column = np.argmax(np.ptp(X[part], axis=0))
            order = part[np.argsort(X[part, column], kind="stable")]
            halves += [np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])]
        parts = halves
    return parts


def undercut(X, k, near, parts, prices, cuts, budget):
    """Feasible prices at most these, the groups that undercut, and whether every search was complete."""

    def work(part):
        lowered = prices.copy()
        groups = np.zeros((len(part), k, 2 * k - 1), np.int64)
        sizes, weighed = np.zeros((len(part), k), np.int64), np.zeros(len(part), np.int64)
        charge(X, part, lowered, near, k, cuts, int(budget), groups, sizes, weighed)
        undercutting = [groups[t, q, : sizes[t, q]] for t, q in zip(*np.nonzero(sizes))]
        return lowered[part], undercutting, bool((weighed >= 0).all())

    feasible = prices.copy()
    lowered, undercutting, complete = zip(*map_threads(work, parts))
    feasible[np.concatenate(parts)] = np.concatenate(lowered)
    return feasible, list(chain.from_iterable(undercutting)), all(complete)


class Master:
    """The linear program over the groups so far, with the prices held in a box.

    Only the first n records have prices to be found; those of the others are `fixed`.
    """

    def __init__(self, X: NDArray[np.float64], n: int, fixed: NDArray[np.float64]):
        self.X, self.n, self.fixed = X, n, fixed
        self.groups: list[tuple[int, ...]] = []
        self.costs: list[float] = []
        self.seen: set[tuple[int, ...]] = set()
        self.triples = np.empty((0, 3), np.int64)
        self.cuts_of: list[list[int]] = [[] for _ in range(len(X))]
        self.lp = quiet_solver(presolve="off")
        n, none = self.n, np.empty(0, np.int32)
        self.lp.addRows(n, np.ones(n), np.ones(n), 0, np.zeros(n, np.int32), none, np.empty(0))
        rows = np.arange(n, dtype=np.int32)
        for sign in (1.0, -1.0):  # the box: a record may be covered, or given back, at the box's ends
            self.lp.addCols(n, np.zeros(n), np.zeros(n), np.full(n, np.inf), n, rows, rows, np.full(n, sign))
        self.box = np.arange(2 * n, dtype=np.int32)

    def add_groups(self, groups: Iterable[Sequence[int]]) -> int:
        """Add those that are new; return how many."""
        starts: list[int] = []
        rows: list[int] = []
        costs: list[float] = []
        for group in groups:
            key = tuple(sorted(int(i) for i in group))
            if key in self.seen or key[0] >= self.n:
                continue
            self.seen.add(key)
            self.groups.append(key)
            members = self.X[list(key)]
            self.costs.append(float(np.square(members - members.mean(0)).sum()))
            inner = [i for i in key if i < self.n]
            costs.append(self.costs[-1] - sum(self.fixed[i] for i in key[len(inner) :]))
            starts.append(len(rows))
            rows.extend(inner)
            inside = set(key)
            for cut in {cut for i in key for cut in self.cuts_of[i]}:
                if len(inside.intersection(self.triples[cut].tolist())) >= 2:
                    rows.append(self.n + cut)
        m = len(starts)
        if m:
            matrix = len(rows), np.array(starts, np.int32), np.array(rows, np.int32), np.ones(len(rows))
            self.lp.addCols(m, np.array(costs), np.zeros(m), np.full(m, np.inf), *matrix)
        return m

    def add_cuts(self, triples: NDArray[np.int64]) -> None:
        first = len(self.triples)
        self.triples = np.concatenate([self.triples, triples])
        for cut, triple in enumerate(triples.tolist(), start=first):
            for i in triple:
                self.cuts_of[i].append(cut)
        hits: list[list[int]] = [[] for _ in triples]
        for column, group in enumerate(self.groups):
            inside = set(group)
            for cut in {cut for i in group for cut in self.cuts_of[i] if cut >= first}:
                if len(inside.intersection(triples[cut - first].tolist())) >= 2:
                    hits[cut - first].append(2 * self.n + column)
        starts = np.cumsum([0] + [len(hit) for hit in hits])[:-1].astype(np.int32)
        columns = np.array([c for hit in hits for c in hit], np.int32)
        m, matrix = len(triples), (len(columns), starts, columns, np.ones(len(columns)))
        self.lp.addRows(m, np.full(m, -np.inf), np.ones(m), *matrix)

    def solve(self, centre: NDArray[np.float64], reach: NDArray[np.float64], seconds: float):
        """Within `reach` of `centre`: value, prices, penalties, shares of groups, who is at the box's end."""
        self.lp.changeColsCost(2 * self.n, self.box, np.concatenate([centre + reach, reach - centre]))
        self.lp.setOptionValue("time_limit", self.lp.getRunTime() + max(0.1, seconds))
        self.lp.run()
        if self.lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self.lp.getSolution()
        shares = np.array(solution.col_value)
        duals = np.array(solution.row_dual)
        box = shares[: 2 * self.n].reshape(2, -1).max(axis=0) > 1e-9
        value = self.lp.getInfo().objective_function_value
        return value, duals[: self.n], np.maximum(0.0, -duals[self.n :]), shares[2 * self.n :], box


def separate(
    groups: list[tuple[int, ...]], shares: NDArray[np.float64], n: int, most: int
) -> NDArray[np.int64]:
    """The most violated cuts of a fractional solution, few for each record so that they spread."""
    used = np.flatnonzero((shares > 1e-6) & (shares < 1 - 1e-6))
    inside = np.zeros((n, len(used)), np.bool_)
    for column, g in enumerate(used):
        inside[list(groups[g]), column] = True
    triples, excess = violated_triples(inside, shares[used], VIOLATED)
    triples = np.sort(triples, axis=1)
    triples, first = np.unique(triples, axis=0, return_index=True)
    taken = np.zeros(n, np.int64)
    chosen = []
    for t in np.argsort(-excess[first], kind="stable"):
        if taken[triples[t]].max() < CUTS_OF_A_RECORD:
            taken[triples[t]] += 1
            chosen.append(triples[t])
            if len(chosen) == most:
                break
    return np.array(chosen, np.int64).reshape(-1, 3)


def solve(
    X: NDArray[np.float64],
    k: int,
    *,
    seconds: float,
    start_groups: Iterable[Sequence[int]] = (),
    largest: int = 5000,
    give_up: bool = False,
) -> Prices:
    """Prices whose value is the best bound found in the time given.

    Of more than `largest` records only the dearest have their prices found here; the others keep the
    neighbours' prices, which no group of them alone can undercut. give_up: stop when a pricing is
    too much work to be finished.
    """
    began = time.perf_counter()
    near = near_sums(X, k)
    order = np.argsort(-neighbour_prices(near, k), kind="stable")  # the dearest record leads its groups
    back = np.argsort(order)
    X, near = np.ascontiguousarray(X[order]), near[order]
    n = len(X)
    best = neighbour_prices(near, k)
    penalties = np.empty(0)
    block = min(n, largest)
    fixed = best[block:].sum()
    parts, master = regions(X[:block], REGIONS), Master(X, block, best)
    master.add_groups(back[list(group)].tolist() for group in start_groups)
    nearest = cKDTree(X).query(X[:block], k=2 * k - 1)[1]
    for s in range(k, 2 * k):
        master.add_groups(nearest[:, :s])
    reach = REACH * best[:block] + REACH_MEAN * best[:block].mean()
    value = best.sum()
    budget = max(1e4, (FIRST_PRICING if give_up else ONE_PRICING) * seconds * SPEED * thread_count() / block)
    optimal = value <= 0.0  # every record has k - 1 copies
    last = 0.0  # seconds of the last pricing
    idle = 0  # steps in a row without a gain or a new group
    while not optimal and idle < IDLE:
        left = seconds - (time.perf_counter() - began)
        answer = master.solve(best[:block], reach, left - last) if left > SLOWER * last else None
        if answer is None:
            break
        target, prices, sigma, shares, at_end = answer
        target += fixed
        prices = np.append(CENTRE * best[:block] + (1 - CENTRE) * prices, best[block:])
        sigma = CENTRE * penalties + (1 - CENTRE) * sigma
        tick = time.perf_counter()
        cuts = cut_lists(n, master.triples, sigma)
        feasible, undercutting, complete = undercut(X, k, near, parts, prices, cuts, budget)
        last = time.perf_counter() - tick
        gained = feasible.sum() - sigma.sum() - value
        if gained > 0:
            best, penalties, value = feasible, sigma, value + gained
        new = master.add_groups(undercutting)
        idle = 0 if new or gained > 0 else idle + 1
        if give_up and not complete:
            break
        if not complete and not new and last < ONE_PRICING * left:
            budget *= 2
        near_target = target - value <= ENOUGH * target
        if near_target or gained > KEPT_PROMISE * (target - value + gained):
            reach[at_end] *= 2
        elif gained <= 0:
            reach *= 0.5
        if near_target and not at_end.any():
            triples = separate(master.groups, shares, n, max(CUTS, n // 8))
            if len(triples) == 0:
                optimal = target - value <= 1e-7 * target
                continue
            master.add_cuts(triples)
            penalties = np.append(penalties, np.zeros(len(triples)))
    groups = [tuple(sorted(order[list(group)].tolist())) for group in master.groups]
    return Prices(
        best[back], np.sort(order[master.triples], axis=1), penalties, groups, np.array(master.costs), optimal
    )
