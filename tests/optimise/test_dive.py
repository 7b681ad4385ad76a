"""Dives into the bound's linear program: what they exclude, and what they are put together to."""

import itertools
import time

import numpy as np
import pytest

from shoal.algorithms.mdav import mdav
from shoal.bounds.program import Program
from shoal.grouping.partition import group_rows
from shoal.optimise.dive import Diver
from shoal.optimise.prove import solve
from shoal.optimise.recombine import groups_of
from shoal.testing import brute_force
from tests.optimise.test_search import sse, standardised


def every_group(X, k):
    """All groups of k..2k-1 records, filled up with -1, and their costs."""
    rows, costs = [], []
    for s in range(k, 2 * k):
        for group in itertools.combinations(range(len(X)), s):
            rows.append([*group, *[-1] * (2 * k - 1 - s)])
            costs.append(np.square(X[list(group)] - X[list(group)].mean(0)).sum())
    return np.array(rows), np.array(costs)


def converged(X, k):
    program = Program(X, k)
    while program.converge(np.inf, 1e-7) and program.cut():
        pass
    return program


@pytest.mark.parametrize("seed", range(6))
def test_excess_is_what_a_group_costs_a_partition_at_least(seed):
    X = standardised(np.random.default_rng(seed), 10, 2)
    program = converged(X, 3)
    X = program.X
    members, costs = every_group(X, 3)
    excess = program.excess(members, costs)
    assert excess.min() > -1e-9
    for g in range(0, len(members), 7):
        rest = np.setdiff1d(np.arange(10), members[g])
        if len(rest) >= 3:
            least = costs[g] + (
                brute_force(X[rest], 3) if len(rest) > 5 else sse(X[rest], np.zeros(len(rest)))
            )
            assert least >= program.value + excess[g] - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_integer_program_finds_the_optimum_among_all_groups(seed):
    X = standardised(np.random.default_rng(seed), 11, 3)
    diver = Diver(Program(X, 3), mdav(X, 3), 0)
    members, _ = every_group(X, 3)
    labels = diver._choose(members, 60.0)[diver.program.back]
    assert sse(X, labels) == pytest.approx(brute_force(X, 3))


def test_the_groups_of_a_partition_are_known_among_all_groups():
    X = standardised(np.random.default_rng(2), 11, 3)
    labels = mdav(X, 3)
    members, _ = every_group(X, 3)
    own = {tuple(row[row >= 0].tolist()) for row in members[groups_of(labels, members)]}
    assert own == {tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)}
    assert {tuple(row[row >= 0].tolist()) for row in group_rows(labels, 3)} == own


def test_no_time_leaves_the_partition_as_it_was():
    X = standardised(np.random.default_rng(1), 40, 3)
    start = mdav(X, 3)
    labels, program, tree = solve(X, 3, start, time.perf_counter())
    assert tree is None
    assert sse(X, labels) == pytest.approx(sse(X, start))
    assert 0 < program.value * program.scale**-2 <= sse(X, start)


def test_dives_never_lose_and_keep_to_the_sizes():
    X = standardised(np.random.default_rng(4), 120, 2)
    start = mdav(X, 3)
    diver = Diver(converged(X, 3), start, 7)
    assert diver.improve(np.inf)
    labels = diver.labels[diver.program.back]
    sizes = np.bincount(labels)
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert sse(X, labels) < 0.99 * sse(X, start)
    assert sse(X, labels) == pytest.approx(diver.cost * diver.program.scale**-2)
