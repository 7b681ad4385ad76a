"""The optimum itself: prices with cuts, dives, the list of all groups that matter, and a tree over it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.certificate import PROVEN
from shoal.bounds.program import ENOUGH, Program, group_rows
from shoal.bounds.tree import Tree
from shoal.optimise.dive import GROUPS, Diver
from shoal.optimise.recombine import labels_from

#: The prices are close enough when what they may still gain is this share of the distance to the partition.
CLOSE = 0.01
#: A round of cuts that gains less than this share of the distance is the last before the groups are listed.
GAIN = 0.05
#: A distance of this share of the loss needs no better partition: the groups are listed at once.
NEAR = 1e-7
#: Groups that are listed at most: 1.5 million of k = 4 take 100 MB and about a second.
LISTED = 1_500_000
#: The share of the time after which dives begin even if the first prices are not good yet.
FIRST = 0.5
#: Rounds of dives in a row that find nothing better, after which the search ends where no cut is left to add.
PATIENCE = 3


def solve(
    X: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    deadline: float,
    report: Callable[[str, float, float], None] = lambda stage, bound, cost: None,
) -> tuple[NDArray[np.int64], Program, Tree | None]:
    """The best partition found from `labels` on, the prices, and the tree if one was begun."""
    program = Program(X, k)
    program.add(group_rows(labels, k))
    diver = Diver(program, labels, 0)
    unit = program.scale**-2

    def told(stage: str) -> None:
        report(stage, program.value * unit, diver.cost * unit)

    def told_of(tree: Tree) -> None:
        report(f"{tree.nodes} nodes", tree.bound * unit, tree.cost * unit)

    tree, idle, added, before = None, 0, 1, program.value
    enough = ENOUGH * diver.cost
    now = time.perf_counter()
    if not program.converge(now + FIRST * (deadline - now), enough):
        diver.improve(deadline)
    while program.converge(deadline, enough):
        told("prices")
        gained, before = program.value - before, program.value
        near = diver.gap <= NEAR * diver.cost
        if near or gained < GAIN * diver.gap or not added:
            if not near and diver.improve(deadline):
                idle = 0
            else:
                idle += 1
                listed = None
                if near or idle > 1:
                    listed = program.every_group(diver.gap + PROVEN * diver.cost, LISTED, deadline)
                if listed is not None:
                    tree = _tree(program, diver, listed)
                    _dive_from(tree, diver, deadline)
                    tree.search(deadline, told_of)
                    break
                if idle > PATIENCE and not added:
                    break
            told("dives")
        enough = min(enough, CLOSE * diver.gap)
        program.purge(diver.gap)
        added = program.cut()
    if tree is not None and tree.best is not None:
        diver.take(labels_from(tree.best, program.n))
    return diver.labels[program.back], program, tree


def _dive_from(tree: Tree, diver: Diver, deadline: float) -> None:
    """Better partitions before the tree grows: its root has more cuts than the prices, and fewer groups."""
    tree.search(deadline, nodes=1)
    live, root = tree.root.live, tree.root
    paid = root.penalties > 0
    idle = 0
    while idle < PATIENCE and len(live) <= GROUPS and tree.open and time.perf_counter() < deadline:
        idle = 0 if diver.improve(deadline, (tree.listed[live], root.cuts[paid])) else idle + 1
        tree.cost = min(tree.cost, diver.cost)


def _tree(program: Program, diver: Diver, listed: NDArray[np.int32]) -> Tree:
    used = program.penalties > 0
    cuts, penalties = program.master.cuts[used], program.penalties[used]
    return Tree(program.X, program.k, listed, program.best, cuts, penalties, diver.cost)
