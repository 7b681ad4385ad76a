"""Branch and bound over a list of groups that holds every better partition.

A node decides of some pairs of records whether they share a group. Its linear program over the listed groups
that agree gives prices and penalties; they bound what the node can reach, and say which groups no better
partition in it can hold. A node that cannot be better than the best partition is closed; another is divided
at one more pair (Ryan and Foster's rule).
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.bounds.certificate import PROVEN, node_value
from shoal.bounds.cuts import Cuts, eliminate, on_grid, separate
from shoal.bounds.highs import Relaxation
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.cuts import group_costs, reduced_costs
from shoal.kernels.search.pricing import charge_list

#: Groups in the first linear program of a node, and those that one look at the others adds.
FIRST, MORE = 4000, 2000
#: Rounds of cuts at a node, cuts of a round, and the share of what is missing that a round must gain; rounds
#: at the root, where one takes 0.05 s on Tarragona with k = 3, a node 0.3 s.
ROUNDS, CUTS, GAIN, ROOT_ROUNDS = 6, 60, 0.03, 30
#: Pairs that are tried before one is chosen: so many that did best before and so many new ones, and new ones
#: at the root. On Tarragona with k = 3 the best of 90 raised the bound 80 times as much (by the product of
#: the two rises) as the best of the ten nearest to one half.
PAIRS, ROOT_PAIRS = 4, 60
#: Trials after which the mean of a pair's scores is believed.
TRIALS = 3
#: Steps of the simplex method that one side of a pair is tried with; they score pairs, and prove nothing.
TRIAL = 30
#: By how much prices may miss what they should be, in distances between partition and bound. With HiGHS's own
#: 1e-7 some small tables stop 2.4e-9 of the loss below the proof.
TOLERANCE = 1e-9
#: What it costs to leave a record over, in distances between partition and bound: no solution does.
LEFT_OVER = 100.0
#: Nodes that are worked on before the next are chosen. The number of threads does not change what is found;
#: two threads wait less for one another after four nodes than after two.
WAVE = 4


@dataclass
class Node:
    """What has been decided, and what it proves."""

    live: NDArray[np.int32]  # the listed groups that a better partition here can hold
    prices: Floats
    cuts: Cuts
    penalties: Floats
    value: float = -math.inf
    pair: tuple[int, int] = (-1, -1)  # where it is divided
    children: list[Node] = field(default_factory=list)  # with the pair together, and apart


class Tree:
    """All nodes over one list of groups, which holds every partition below `cost`; `best` is one, if met."""

    def __init__(self, X, k, listed, prices, cuts, penalties, cost: float):
        self.X, self.k, self.n = X, k, len(X)
        self.listed, self.costs = listed, group_costs(X, listed)
        if self.n < 3 * k:  # each group's partition is known: the rest is one group, or too small
            outside = (listed[:, :, None] != np.arange(self.n)).all(1)
            rest = np.argsort(~outside, axis=1, kind="stable")[:, : 2 * k - 1]
            rest = np.where(np.arange(2 * k - 1) < outside.sum(1)[:, None], rest, -1)
            both = np.where(outside.sum(1) >= k, self.costs + group_costs(X, rest.astype(np.int32)), np.inf)
            better = both < cost * (1 - PROVEN / 2)
            self.listed, self.costs = listed[better], self.costs[better]
        self.cost, self.best = cost, None
        self.root = Node(np.arange(len(self.listed), dtype=np.int32), prices, cuts, penalties)
        self.listing = replace(self.root)  # what the groups were listed by
        self.base = prices  # node programs work with costs beyond these, in units of the first distance
        self.root.value = node_value(prices, penalties * cuts.limits, cost)
        self.unit = max(cost - self.root.value, PROVEN * cost)
        self.open = [self.root]
        self.stuck: list[Node] = []  # solved, neither closed nor to be divided
        self.nodes = 1
        self.scores: dict[tuple[int, int], list[float]] = {}  # how much a pair raised the bound in its trials

    @property
    def bound(self) -> float:
        """What every partition costs at least."""
        return min([node.value for node in self.open + self.stuck], default=self.cost * (1 - PROVEN))

    def closed(self, node: Node) -> bool:
        return node.value >= self.cost * (1 - PROVEN)

    def search(self, deadline: float, progress=None, nodes: float = math.inf) -> bool:
        """Work until all nodes are closed, there are more than `nodes`, or time is over; True if all are."""
        while self.open and self.nodes <= nodes and time.perf_counter() < deadline:
            self.open.sort(key=lambda node: -node.value)
            wave = [self.open.pop() for _ in range(min(WAVE, len(self.open)))]
            answers = map_threads(lambda node: self._work(node, deadline), wave)
            for node, (finished, partition, scores) in zip(wave, answers):
                for pair, score in scores.items():
                    self.scores.setdefault(pair, []).append(score)
                if partition is not None:
                    cost = float(group_costs(self.X, partition).sum())
                    if cost < self.cost:
                        self.cost, self.best = cost, partition
                if finished and not node.children:
                    self.stuck.append(node)
                else:
                    self.open += node.children if finished else [node]
                self.nodes += len(node.children)
            self.open = [node for node in self.open if not self.closed(node)]
            self.stuck = [node for node in self.stuck if not self.closed(node)]
            if progress:
                progress()
        return not self.open and not self.stuck

    def _work(self, node: Node, deadline: float):
        """Solve and divide a node: (whether that was finished, a partition met or None, scores of pairs)."""
        if not len(node.live):
            node.value = self.cost
            return True, None, {}
        solver = _NodeProgram(self, node)
        partition = solver.solve(deadline)
        if time.perf_counter() >= deadline:
            return False, partition, {}
        if self.closed(node) or not len(solver.fractional[1]):
            return True, partition, {}
        pair = solver.choose_pair()
        if pair is None:
            return True, partition, {}
        node.pair = pair
        rows = self.listed[node.live]
        has = (rows == pair[0]).any(1).astype(int) + (rows == pair[1]).any(1)
        paid = node.penalties > 0
        cuts, penalties = node.cuts[paid], node.penalties[paid]
        for keep in (has != 1, has != 2):
            node.children.append(Node(node.live[keep], node.prices, cuts, penalties, node.value))
        return True, partition, solver.scores

    def walk(self) -> list[Node]:
        """Every node, each before its children."""
        found, stack = [], [self.root]
        while stack:
            node = stack.pop()
            found.append(node)
            stack += node.children[::-1]
        return found


class _NodeProgram:
    """The linear program of a node, its cuts, and what they prove."""

    def __init__(self, tree: Tree, node: Node):
        self.tree, self.node = tree, node
        self.rows = tree.listed[node.live]
        self.costs = tree.costs[node.live]
        self.excess = self._excess()
        self.inside = np.zeros(len(self.rows), bool)  # is it in the program
        self.columns = np.argsort(self.excess, kind="stable")[:FIRST]
        self.inside[self.columns] = True
        self.known: set[bytes] = set()
        self.fractional = self.rows[:0], np.empty(0)
        self.objective = 0.0
        self.scores: dict[tuple[int, int], float] = {}
        first = self.rows[self.columns], self._scaled(self.columns), node.cuts
        self.lp = Relaxation(tree.n, *first, LEFT_OVER, dual_feasibility_tolerance=TOLERANCE)

    def _excess(self) -> Floats:
        node = self.node
        lists = node.cuts.lists(self.tree.n, node.penalties)
        return reduced_costs(self.rows, self.costs, node.prices, lists)

    def _scaled(self, columns) -> Floats:
        base = np.append(self.tree.base, 0.0)
        return (self.costs[columns] - base[self.rows[columns]].sum(1)) / self.tree.unit

    def _add(self, fresh: Ints) -> None:
        self.lp.add(self.rows[fresh], self._scaled(fresh))
        self.columns = np.concatenate([self.columns, fresh])
        self.inside[fresh] = True

    def _run(self, deadline: float) -> Floats | None:
        """Solve over all live groups: the shares of the program's groups. The node gets the prices."""
        tree, node = self.tree, self.node
        while True:
            left = deadline - time.perf_counter()
            answer = self.lp.solve(left) if left > 0 else None
            if answer is None:
                return None
            self.objective = answer.value
            prices = tree.base + tree.unit * answer.prices
            penalties = on_grid(tree.unit * answer.penalties)
            excess = reduced_costs(self.rows, self.costs, prices, node.cuts.lists(tree.n, penalties))
            charge_list(self.rows, excess.copy(), prices)
            value = node_value(prices, penalties * node.cuts.limits, tree.cost)
            if value > node.value:
                node.prices, node.penalties, node.value = prices, penalties, value
            under = np.flatnonzero((excess < -1e-7 * tree.unit) & ~self.inside)
            if not len(under) or tree.closed(node):
                return answer.shares
            self._add(under[np.argsort(excess[under], kind="stable")[:MORE]])

    def solve(self, deadline: float) -> NDArray[np.int32] | None:
        """Solve and cut in turn; drop groups that no better partition holds. A partition, if one is met."""
        tree, node = self.tree, self.node
        rounds, gain = (ROOT_ROUNDS, GAIN / 10) if node is tree.root else (ROUNDS, GAIN)
        for number in range(rounds + 1):
            before = node.value
            shares = self._run(deadline)
            if shares is None or tree.closed(node):
                return None
            used = (shares > 1e-6) & (shares < 1 - 1e-6)
            self.fractional = self.rows[self.columns[used]], shares[used]
            if not used.any():
                chosen = self.rows[self.columns[shares > 0.5]]
                whole = np.array_equal(np.sort(chosen[chosen >= 0]), np.arange(tree.n))
                return chosen if whole else None
            if number == rounds or (number and node.value - before < gain * (tree.cost - before)):
                break
            cuts = separate(*self.fractional, self.known, CUTS)
            for divisor in (2, 3):
                random = np.random.default_rng(number)
                cuts += eliminate(*self.fractional, divisor, random, self.known)
            if not len(cuts):
                break
            self.lp.add_cuts(cuts)
            node.cuts += cuts
            node.penalties = np.append(node.penalties, np.zeros(len(cuts)))
        alive = self._excess() <= tree.cost - node.value
        node.live = node.live[alive]
        self.alive = alive[self.columns]
        self.lp.bound(np.flatnonzero(~self.alive), 0.0, 0.0)
        return None

    def choose_pair(self) -> tuple[int, int] | None:
        """The pair whose two decisions raise the bound most, of those that did before and some new ones."""
        known = self.tree.scores
        pairs = self._pairs()
        if not pairs:
            return None
        score = {pair: sum(known[pair]) / len(known[pair]) for pair in pairs if pair in known}
        old = sorted(score, key=lambda pair: (-score[pair], pair))[:PAIRS]
        new = [pair for pair in pairs if pair not in known]
        some = ROOT_PAIRS if self.node is self.tree.root else PAIRS
        tried = [pair for pair in old if len(known[pair]) < TRIALS] + new[:: -(-len(new) // some) or 1]
        solver, place = self.lp.solver, np.flatnonzero(self.alive)
        listed = self.lp.rows[place]
        missing = (self.tree.cost - self.node.value) / self.tree.unit
        basis = solver.getBasis()
        solver.setOptionValue("simplex_iteration_limit", TRIAL)
        solver.setOptionValue("objective_bound", self.objective + missing)
        for pair in tried:
            has = (listed == pair[0]).any(1).astype(int) + (listed == pair[1]).any(1)
            rises = []
            for out in (place[has == 1], place[has == 2]):
                self.lp.bound(out, 0.0, 0.0)
                solver.run()
                rise = solver.getInfo().objective_function_value - self.objective
                rises.append(min(max(rise, 1e-6), missing))
                self.lp.bound(out, 0.0, np.inf)
                solver.setBasis(basis)
            self.scores[pair] = rises[0] * rises[1]
        return max([*old, *tried], key=lambda pair: self.scores.get(pair, score.get(pair, 0.0)))

    def _pairs(self) -> list[tuple[int, int]]:
        """Pairs of records that the solution takes together in part, by rising share.

        One of those that the same groups hold: these decisions are nearly the same.
        """
        rows, shares = self.fractional
        holders: dict[tuple[int, int], list[int]] = {}
        for g, row in enumerate(rows):
            for pair in itertools.combinations(sorted(row[row >= 0].tolist()), 2):
                holders.setdefault(pair, []).append(g)
        first: dict[tuple[int, ...], tuple[int, int]] = {}
        for pair in sorted(holders):
            first.setdefault(tuple(holders[pair]), pair)
        share = {pair: shares[holders[pair]].sum() for pair in first.values()}
        return sorted((p for p in share if share[p] < 1 - 1e-4), key=lambda pair: (share[pair], pair))
