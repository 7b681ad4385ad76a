"""The optimum itself: prices with cuts, dives, the list of all groups that matter, and a tree over it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.certificate import PROVEN
from shoal.bounds.program import ENOUGH, Program
from shoal.bounds.tree import Tree
from shoal.grouping.partition import group_rows
from shoal.kernels.search.cuts import reduced_costs
from shoal.optimise.dive import GROUPS, Diver
from shoal.optimise.recombine import labels_from

#: The prices are close enough when what they may still gain is this share of what the last round of cuts
#: gained, or of the loss.
CLOSE, CLOSEST = 0.1, 2e-6
#: Dives begin after a round of cuts that gains less than this share of what all have gained: they find little
#: before. Tarragona with k = 4: 17.0842 at the bound 17.0793, 17.0804 at 17.0802.
GAIN = 1e-3
#: Groups that are listed at most: 1.5 million of k = 4 take 100 MB and about a second.
LISTED = 1_500_000
#: So few groups, or as many as can be listed if the table has no more, need no further cuts.
FEW = 60_000
#: If the partitions below the best one have more groups, a target between the bound and it takes its place,
#: at this share of the way at least, unless dives have found nothing for long.
SHARE = 0.2
#: The share of the time after which dives begin even if cuts still gain.
FIRST = 0.5
#: Dives in a round where the time left is too short for another round of cuts.
SHORT = 2
#: Rounds of dives in a row that find nothing better, after which the search ends where no cut is left to add.
PATIENCE = 3


def solve(
    X: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    deadline: float,
    report: Callable[[], None] = lambda: None,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], Program, Tree | None]:
    """The best partition found from `labels` on, the prices, and the tree if one was begun.

    groups: rows of others that good partitions have.
    """
    program = Program(X, k)
    program.add(group_rows(labels, k))
    if groups is not None:
        program.add(groups)
    diver = Diver(program, labels, 0)
    tree, idle, added = None, 0, 1
    enough = ENOUGH * diver.cost
    now = time.perf_counter()
    late = now + FIRST * (deadline - now)
    if not program.converge(late, enough):
        diver.improve(deadline)
    few = FEW if sum(math.comb(program.n, size) for size in range(k, 2 * k)) > LISTED else LISTED
    values: list[float] = []
    began = time.perf_counter()
    while program.converge(deadline, enough):
        took = time.perf_counter() - began
        report()
        gained = program.value - values[-1] if values else np.inf
        values.append(program.value)
        near = program.every_group(diver.gap + PROVEN * diver.cost, few, deadline) is not None
        if near or gained < GAIN * (values[-1] - values[0]) or not added or time.perf_counter() > late:
            if diver.improve(deadline):
                idle = 0
                while deadline - time.perf_counter() < took and diver.improve(deadline, dives=SHORT):
                    pass
            else:
                idle += 1
                tree = _tree(program, diver, SHARE if idle <= PATIENCE else 1e-3, deadline)
                if tree is not None:
                    _dive_from(tree, diver, deadline)
                    tree.search(deadline, report)
                    break
                if idle > PATIENCE and not added:
                    break
            report()
        if len(values) > 1:
            enough = min(enough, max(CLOSE * gained, CLOSEST * diver.cost))
        program.purge(diver.gap)
        added = program.cut()
        began = time.perf_counter()
    if tree is not None and tree.best is not None:
        diver.take(labels_from(tree.best, program.n))
    return diver.labels[program.back], program, tree


def _dive_from(tree: Tree, diver: Diver, deadline: float) -> None:
    """Better partitions before the tree grows: its root has more cuts than the prices, and fewer groups."""
    tree.search(deadline, nodes=1)
    root = tree.root
    rows, cuts = tree.listed[root.live], root.cuts[root.penalties > 0]
    if len(rows) > GROUPS:
        lists = root.cuts.lists(tree.n, root.penalties)
        excess = reduced_costs(rows, tree.costs[root.live], root.prices, lists)
        rows = rows[np.argsort(excess, kind="stable")[:GROUPS]]
    while tree.open and time.perf_counter() < deadline and diver.improve(deadline, (rows, cuts)):
        tree.cost = min(tree.cost, diver.cost)


def _tree(program: Program, diver: Diver, share: float, deadline: float) -> Tree | None:
    """All partitions below the best one, or below a target; None if it lies below this share of the way."""
    used, margin = program.penalties > 0, PROVEN * diver.cost
    listed, excess = program.most_groups(diver.gap + margin, LISTED, share, deadline)
    if listed is None:
        return None
    cuts, penalties = program.master.cuts[used], program.penalties[used]
    target = min(diver.cost, program.value + excess - margin)
    return Tree(program.X, program.k, listed, program.best, cuts, penalties, target)
