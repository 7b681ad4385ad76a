"""The bound of large tables: the neighbours' prices, raised, and charged block by block till they hold.

The neighbours' prices forget that a record's neighbours must lie near one another too. So all are raised, and
`charge` lowers them again where a group is worth more than it costs. Only records near a block can share such
a group with its records (`reaches`), so each block is charged with these alone: a table of any size needs
little more memory than its neighbours' sums. docs/optimality.md has the proof.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.bounds.cuts import Cuts
from shoal.bounds.neighbours import neighbour_prices
from shoal.kernels.neighbours.kd_tree import Tree, build_tree, within_reach
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.pricing import charge

#: Records of a block at most. Of a million SIM records raised by 1.3, a pass over some blocks of 512 gained
#: 21.9 %, of 256 20.8 %, for a record in the same time: a block sees its own charges, not those of others.
BLOCK = 512
#: Parts of the order of records, charged one after another. Within a part blocks do not see what others were
#: charged, so prices fall a little too far: with 16 parts the bound rises by 0.1 %, the time by a quarter.
PARTS = 8
#: Blocks that try how far prices should be raised, and the factors tried, until one gains less than before.
TRIED, FACTORS = 24, (1.1, 1.2, 1.3, 1.4, 1.5)
#: By how much prices are raised again after each pass.
AGAIN = 1.08
#: A pass that gains less than this share is the last.
GAIN = 0.005
#: How many times as long as the last pass the next may take; with less time left it is not begun.
SLOWER = 1.6
#: Candidates weighed for one lead, at most; k = 5 takes a thousand on average. Beyond, the lead pays more
#: than it must.
BUDGET = 20_000


class Charged(NamedTuple):
    """What became of prices: feasible ones, and what each would pay if a charge were shared by its group."""

    prices: Floats
    shared: Floats


def raised_prices(X: Floats, near: Floats, k: int, seconds: float) -> Floats:
    """Feasible prices, not below the neighbours' in sum, the best that the time allows."""
    deadline = time.perf_counter() + seconds
    best = neighbour_prices(near, k)
    order = np.argsort(-best, kind="stable")
    best = best[order]
    blocks = Blocks(np.ascontiguousarray(X[order]), near[order], k, deadline)
    factor, took = blocks.best_factor(best)
    trial = factor * best
    while factor > 1 and time.perf_counter() + SLOWER * took < deadline:
        began = time.perf_counter()
        charged = blocks.charged(trial, blocks.rows)
        if charged is None or charged.prices.sum() <= best.sum():
            break
        gain = charged.prices.sum() / best.sum() - 1
        best, took = charged.prices, time.perf_counter() - began
        if gain < GAIN:
            break
        trial = AGAIN * charged.shared
    back = np.empty(len(best))
    back[order] = best
    return back


def reaches(prices: Floats, near: Floats, k: int, most: Callable[[Floats], Floats]) -> Floats:
    """The squared distance within which each lead finds every partner of a group that undercuts the prices.

    In a group of s records that i leads, i and a partner c pay d2(i, c) / s for one another, and each at
    least half of its s - 2 smallest distances; each of the s - 2 others pays half of its s - 1 smallest.
    `most` says how much more than that a price can be: the greatest value among those that may come.
    """
    reach = np.zeros(len(prices))
    for s in range(k, 2 * k):
        pair = prices - near[:, s - 2] / (2 * s)
        rest = prices - near[:, s - 1] / (2 * s)
        reach = np.maximum(reach, s * (pair + most(pair) + (s - 2) * most(rest)))
    return reach


def most_of_later(values: Floats) -> Floats:
    """For each place the greatest of the values behind it; 0 for the last, which leads no group."""
    return np.append(np.maximum.accumulate(values[::-1])[::-1][1:], 0.0)


class Blocks:
    """A table whose records come dearest first, cut into compact blocks by a k-d tree."""

    def __init__(self, X: Floats, near: Floats, k: int, deadline: float = np.inf, size: int = BLOCK):
        self.X, self.near, self.k, self.deadline = X, near, k, deadline
        self.tree: Tree = build_tree(X)
        self.rows = self._cut(size)

    def _cut(self, size: int) -> list[Ints]:
        """The records of each block, in rising order: the largest nodes of at most `size` records."""
        tree, waiting, rows = self.tree, [0], []
        while waiting:
            node = waiting.pop()
            start, end, child = int(tree.start[node]), int(tree.end[node]), int(tree.child[node])
            if end - start <= size or child < 0:
                rows.append(np.sort(tree.order[start:end]))
            else:
                waiting += [child + 1, child]
        return rows

    def best_factor(self, prices: Floats) -> tuple[float, float]:
        """The factor that gains most on some blocks, and the seconds that all blocks would take with it.

        1 if none gains. The choice depends on the records alone, unless the time is over.
        """
        step = -(-len(self.rows) // TRIED)
        some = self.rows[::step]
        records = np.concatenate(some)
        best, before, seconds = 1.0, float(prices[records].sum()), 0.0
        began = time.perf_counter()
        self.charged(prices, [])
        apart = time.perf_counter() - began  # what does not grow with the blocks
        for factor in FACTORS:
            began = time.perf_counter()
            charged = self.charged(factor * prices, some)
            if charged is None or charged.prices[records].sum() <= before:
                break
            best, before = factor, float(charged.prices[records].sum())
            seconds = apart + step * (time.perf_counter() - began - apart)
        return best, seconds

    def charged(self, prices: Floats, blocks: list[Ints]) -> Charged | None:
        """Lower the prices until no group led from these blocks undercuts them; None if the time is over.

        The cheapest records come first. Prices only fall, so what was settled stays settled.
        """
        feasible, shared = prices.copy(), prices.copy()
        edges = np.linspace(0, len(prices), PARTS + 1).astype(np.int64)
        for first, last in zip(edges[-2::-1], edges[:0:-1]):
            reach = reaches(feasible, self.near, self.k, most_of_later)
            parts = [rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)] for rows in blocks]
            parts = [leads for rows in parts if len(leads := rows[reach[rows] > 0])]
            work = partial(self._charge_block, prices=feasible, reach=reach)
            for done in map_threads(work, parts):
                if done is None:
                    return None
                leads, lowered, members, shares = done
                feasible[leads] = lowered
                np.subtract.at(shared, members, shares)
        return Charged(feasible, shared)

    def _charge_block(self, leads: Ints, prices: Floats, reach: Floats):
        """(leads, their feasible prices, members of groups that undercut, what each would pay)."""
        if time.perf_counter() > self.deadline:
            return None
        k, low, high = self.k, self.X[leads].min(axis=0), self.X[leads].max(axis=0)
        far = reach[leads].max()
        for _ in range(4):  # the dearest record of all made the first reach: look again with those near by
            near_by = within_reach(self.X, self.tree, low, high, far, leads[0])
            own, near = prices[near_by], self.near[near_by]
            closer = reaches(own, near, k, np.max)[np.searchsorted(near_by, leads)].max()
            if closer >= 0.8 * far:
                break
            far = closer
        places = np.searchsorted(near_by, leads)
        rows = np.full((len(leads), 1, 2 * k - 1), -1, np.int32)
        costs, weighed = np.zeros((len(leads), 1)), np.zeros(len(leads), np.int64)
        cuts = Cuts.none().lists(len(near_by), np.empty(0))
        own_X = np.ascontiguousarray(self.X[near_by])
        charge(own_X, None, places, own, near, k, cuts, BUDGET, rows, costs, weighed)
        paid = prices[leads] - own[places]
        groups = np.where(costs < 0, rows[:, 0], -1)
        groups[costs[:, 0] >= 0, 0] = places[costs[:, 0] >= 0]  # a search cut short: the lead pays alone
        inside = groups >= 0
        shares = np.repeat(paid / inside.sum(axis=1), inside.sum(axis=1))
        return leads, own[places], near_by[groups[inside]], shares
