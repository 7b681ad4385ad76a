"""The second bound: the linear program of set partitioning, by column generation, tightened by cuts.

One variable for each possible group, cost SSE(G); each record in exactly one group. Its dual has a price for
each record such that no group is worth more than it costs; the sum of such prices bounds every partition.
Rank-1 cuts (`cuts`) have penalties, which groups pay and which are subtracted from the bound as often as the
cut allows.

Prices come from a linear program over the groups so far (HiGHS), held in a box around the best
feasible prices; `charge` finds the groups that undercut them and makes them feasible, which gives a valid
bound at each step. What is ours: pricing each group once only, at its dearest record, charging as it goes;
and the box, which keeps the prices near feasible ones and so the search small.
"""

import itertools
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.arrays import Bools, Floats, Ints
from shoal.bounds.certificate import total_sum_of_squares
from shoal.bounds.cuts import CUTS, Cuts, eliminate, on_grid, separate
from shoal.bounds.highs import Relaxation, Solution
from shoal.bounds.neighbours import Shares, near_sums, neighbour_prices
from shoal.grouping.partition import group_rows
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.kernels.search.cuts import group_costs, reduced_costs
from shoal.kernels.search.pricing import charge, list_groups
from shoal.kernels.search.weighted import weighted_costs

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
#: The same when there is nothing more to cut, or cuts gain no more than that.
CLOSE = 1e-7
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
#: Groups of each lead that one pricing adds.
KEPT = 5
#: Each try to list groups is within this share of the excess before it.
STEP = 0.7
#: Rounds of cuts without a penalty after which a cut is dropped.
IDLE_ROUNDS = 3
#: Rounds of cuts in a row that may gain nothing where values have weights: records without weight are
#: exchangeable, and a round cuts off one of many solutions of the same value.
PATIENCE = 8
#: Draws of the elimination that finds long cuts, and records of the longest: pricing takes longer with each.
#: Tarragona with k = 4 came to 17.0794 without them, to 17.0802 with them.
DRAWS, LONGEST = 3, 30


@dataclass
class Prices:
    """A dual solution: a price for each record, a penalty for each cut."""

    records: Floats
    cuts: Cuts
    penalties: Floats
    optimal: bool

    def arrays(self) -> dict[str, NDArray]:
        """As a certificate holds them."""
        cuts = self.cuts
        named = {"cuts": cuts.records, "weights": cuts.weights, "divisors": cuts.divisors}
        return {"prices": self.records, **named, "penalties": self.penalties}


def regions(X: Floats, number: int) -> list[Ints]:
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


class Master(Relaxation):
    """The linear program over the groups so far, with the prices held in a box.

    Only the first n records have prices to be found; those of the others are `fixed`. A record may be covered
    without a group, or given back, at the box's ends.
    """

    def __init__(self, X: Floats, V, k: int, n: int, fixed: Floats):
        nothing = np.empty((0, 2 * k - 1), np.int32), np.empty(0), Cuts.none()
        super().__init__(n, *nothing, 0.0, signs=(1.0, -1.0))
        self.X, self.V = X, V
        self.fixed = np.append(np.where(np.arange(len(X)) < n, 0.0, fixed), 0.0)
        self.costs = np.empty(0)
        self.seen: set[bytes] = set()

    def add_new(self, rows: NDArray[np.signedinteger]) -> int:
        """Add those that are new (rows of records, filled up with -1); return how many."""
        rows = np.sort(rows, axis=1)[:, ::-1]
        rows = np.ascontiguousarray(rows[(rows >= 0).any(1)], np.int32)
        new = []
        for g, row in enumerate(rows):
            key = row.tobytes()
            if key not in self.seen and row[row >= 0].min() < self.n:
                self.seen.add(key)
                new.append(g)
        rows = rows[new]
        if new:
            weighted = self.V is not None
            costs = weighted_costs(self.X, self.V, rows) if weighted else group_costs(self.X, rows)
            self.costs = np.append(self.costs, costs)
            self.add(rows, costs - self.fixed[rows].sum(1))
        return len(new)

    def drop_cuts(self, keep: Bools) -> None:
        gone = np.flatnonzero(~keep)
        self.solver.deleteRows(len(gone), (self.n + gone).astype(np.int32))
        self.cuts = self.cuts[keep]

    def drop_groups(self, keep: Bools) -> None:
        gone = np.flatnonzero(~keep)
        for row in self.rows[gone]:
            self.seen.discard(row.tobytes())
        self.solver.deleteCols(len(gone), (self.spare + gone).astype(np.int32))
        self.rows, self.costs = self.rows[keep], self.costs[keep]

    def solve_within(self, centre: Floats, reach: Floats, seconds: float) -> Solution | None:
        """The solution whose prices are within `reach` of `centre`."""
        ends = np.concatenate([centre + reach, reach - centre])
        self.solver.changeColsCost(self.spare, np.arange(self.spare, dtype=np.int32), ends)
        return self.solve(seconds)


class Program:
    """The prices so far, and the steps that raise their value.

    Inside, the records are ordered by falling neighbours' price, so that the dearest leads its groups, and
    scaled by a power of two, so that prices are near 1 and nothing is rounded by it. Of more than `largest`
    records only the dearest have their prices found here; the others keep the neighbours' prices, which no
    group of them alone can undercut. shares: of a table whose values have weights.
    """

    def __init__(self, X: Floats, k: int, *, largest: int = 5000, shares: Shares | None = None):
        near = near_sums(X, k) if shares is None else np.empty((len(X), 0))
        prices = neighbour_prices(near, k) if shares is None else shares.prices
        self.order = np.argsort(-prices, kind="stable")
        self.back = np.argsort(self.order)
        mean = prices.mean()
        self.scale = 2.0 ** -np.round(np.log2(mean) / 2) if mean > 0 else 1.0
        self.X = np.ascontiguousarray(X[self.order]) * self.scale
        self.V = None if shares is None else np.ascontiguousarray(shares.V[self.order])
        self.near = near[self.order] * self.scale**2
        self.k, self.n, self.block = k, len(X), min(len(X), largest)
        self.best = prices[self.order] * self.scale**2 if shares else neighbour_prices(self.near, k)
        self.penalties = self.tried = np.empty(0)  # of the best prices, and of the program's last solution
        self.idle = np.empty(0, np.int64)  # rounds of cuts that each cut was without a penalty
        self.value = float(self.best.sum())
        self.target = np.inf  # of the linear program over the groups so far
        self.parts = regions(self.X[: self.block], REGIONS)
        self.master = Master(self.X, self.V, k, self.block, self.best)
        self.fractional = self.master.rows, np.empty(0)  # what its solution takes in part
        if shares is None:
            nearest = cKDTree(self.X).query(self.X[: self.block], k=2 * k - 1)[1]
        else:
            nearest = self.back[shares.nearest[self.order[: self.block]]]
        for s in range(k, 2 * k):
            self.master.add_new(np.where(np.arange(2 * k - 1) < s, nearest, -1))
        self.reach = REACH * self.best[: self.block] + REACH_MEAN * self.best[: self.block].mean()
        if self.V is not None:  # a light neighbour costs next to nothing, so all prices may be near 0
            self.reach += REACH_MEAN * total_sum_of_squares(self.X, self.V) / self.n
        self.last = 0.0  # seconds of the last pricing

    def add(self, rows: Ints) -> int:
        """Add groups, under the numbers that the records came with."""
        return self.master.add_new(np.where(rows >= 0, self.back[rows], -1))

    def lists(self, penalties: Floats | None = None) -> tuple:
        """The cuts as the kernels want them, with the best penalties or these."""
        return self.master.cuts.lists(self.n, self.penalties if penalties is None else penalties)

    def excess(self, rows: NDArray[np.int32], costs: Floats) -> Floats:
        """By how much at least a partition exceeds the value if it holds such a group."""
        return reduced_costs(rows, costs, self.best, self.lists())

    def undercut(self, prices, penalties, budget):
        """Feasible prices at most these, the groups that undercut, and whether every search was complete."""
        cuts = self.lists(penalties)

        def work(part):
            lowered = prices.copy()
            rows = np.empty((len(part), KEPT, 2 * self.k - 1), np.int32)
            costs, weighed = np.zeros((len(part), KEPT)), np.zeros(len(part), np.int64)
            given = self.X, self.V, part, lowered, self.near, self.k, cuts
            charge(*given, int(budget), rows, costs, weighed)
            return lowered[part], rows[costs < 0], bool((weighed >= 0).all())

        feasible = prices.copy()
        lowered, rows, complete = zip(*map_threads(work, self.parts))
        feasible[np.concatenate(self.parts)] = np.concatenate(lowered)
        return feasible, np.concatenate(rows), all(complete)

    def converge(self, deadline: float, enough: float, *, give_up: bool = False) -> bool:
        """Raise the value until it is within `enough` of the program's own; False if that was not reached.

        give_up: stop when a pricing is too much work to be finished.
        """
        block, share = self.block, FIRST_PRICING if give_up else ONE_PRICING
        seconds = deadline - time.perf_counter()
        budget = min(1e15, max(1e4, share * seconds * SPEED * thread_count() / block))
        idle = 0  # steps in a row without a gain or a new group
        while (self.value > 0.0 or self.V is not None) and idle < IDLE:  # at 0 every record has k - 1 copies
            left = deadline - time.perf_counter()
            if left <= SLOWER * self.last:
                return False
            answer = self.master.solve_within(self.best[:block], self.reach, left - self.last)
            if answer is None:
                return False
            target, prices, sigma, shares, spare = answer
            at_end = (spare > 1e-9).reshape(2, -1).any(axis=0)
            self.tried = sigma
            used = (shares > 1e-6) & (shares < 1 - 1e-6)
            self.fractional = self.master.rows[used], shares[used]
            self.target = target + float(self.best[block:].sum())
            if self.target - self.value <= enough and not at_end.any():
                return True
            centre = 0.0 if idle else CENTRE
            prices = np.append(centre * self.best[:block] + (1 - centre) * prices, self.best[block:])
            sigma = on_grid(centre * self.penalties + (1 - centre) * sigma)
            tick = time.perf_counter()
            feasible, undercutting, complete = self.undercut(prices, sigma, budget)
            self.last = time.perf_counter() - tick
            gained = float(feasible.sum() - sigma @ self.master.cuts.limits) - self.value
            if gained > 0:
                self.best, self.penalties, self.value = feasible, sigma, self.value + gained
            new = self.master.add_new(undercutting)
            idle = 0 if new or gained > 0 else idle + 1
            if give_up and not complete:
                return False
            if not complete and self.last < ONE_PRICING * left:
                budget *= 2
            missing = self.target - self.value
            if missing <= enough or gained > KEPT_PROMISE * (missing + gained):
                self.reach[at_end] *= 2
            elif gained <= 0:
                self.reach *= 0.5
        return True

    def cut(self) -> int:
        """Cut off the fractional solution; drop the cuts that have had no penalty for some rounds."""
        known = set(self.master.cuts.names())
        cuts = separate(*self.fractional, known, max(CUTS, self.n // 8))
        for draw, divisor in itertools.product(range(DRAWS), (2, 3)):
            random = np.random.default_rng(draw)
            cuts += eliminate(*self.fractional, divisor, random, known, LONGEST)
        used = (self.penalties > 0) | (self.tried > 0)
        self.idle = np.where(used, 0, self.idle + 1)
        keep = self.idle <= IDLE_ROUNDS
        self.master.drop_cuts(keep)
        self.master.add_cuts(cuts)
        self.idle = np.append(self.idle[keep], np.zeros(len(cuts), np.int64))
        self.penalties = np.append(self.penalties[keep], np.zeros(len(cuts)))
        return len(cuts)

    def purge(self, excess: float) -> None:
        """Drop the groups that no partition within `excess` of the value can hold."""
        self.master.drop_groups(self.excess(self.master.rows, self.master.costs) <= excess)

    def every_group(self, excess: float, most: int, deadline: float) -> NDArray[np.int32] | None:
        """All groups that a partition within `excess` of the value can hold; None if more than `most`."""
        cuts, width = self.lists(), 2 * self.k - 1
        room = most

        def work(leads):
            if time.perf_counter() > deadline or room < 0:
                return None
            rows, costs = np.empty((most, width), np.int32), np.empty(most)
            count = list_groups(self.X, leads, self.best, self.near, self.k, cuts, excess, rows, costs)
            return rows[:count].copy() if count <= most else None

        found = []
        for leads in np.array_split(np.arange(self.n), 16):
            for rows in map_threads(work, [leads[::2].copy(), leads[1::2].copy()]):
                if rows is None:
                    return None
                found.append(rows)
                room -= len(rows)
        return np.concatenate(found) if room >= 0 else None

    def most_groups(self, excess: float, most: int, share: float, deadline: float):
        """`every_group` of the largest excess, down to this share, that has at most so many; and which."""
        tried = excess
        while (rows := self.every_group(tried, most, deadline)) is None and tried * STEP >= share * excess:
            tried *= STEP
        return rows, tried

    def prices(self, optimal: bool = False) -> Prices:
        """The best so far, in the numbers and units that the records came with."""
        used, unit = self.penalties > 0, self.scale**-2
        cuts = self.master.cuts[used].renamed(self.order)
        return Prices(self.best[self.back] * unit, cuts, self.penalties[used] * unit, optimal)


def solve(
    X: Floats,
    k: int,
    *,
    seconds: float,
    start: Ints | None = None,
    largest: int = 5000,
    give_up: bool = False,
    goal: float = np.inf,
    shares: Shares | None = None,
) -> Prices:
    """Prices whose value is the best bound found in the time given.

    start: labels of a good partition, whose groups save time. goal: a value that is good enough.
    """
    deadline = time.perf_counter() + seconds
    program = Program(X, k, largest=largest, shares=shares)
    if start is not None:
        program.add(group_rows(start, k))
    enough, idle = ENOUGH, 0
    optimal, before = program.value <= 0.0 and shares is None, 0.0
    goal *= program.scale**2
    first = program.value or float(program.reach.sum())  # weights: nothing may be proven at first
    while not optimal and program.converge(deadline, enough * (program.value or first), give_up=give_up):
        if program.value >= goal:
            break
        gained, before = program.value - before, program.value
        idle = idle + 1 if gained <= CLOSE * before else 0
        if not program.cut() or idle > (0 if shares is None else PATIENCE):
            optimal = enough <= CLOSE
            enough = CLOSE
    return program.prices(optimal)
