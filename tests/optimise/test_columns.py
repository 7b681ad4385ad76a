"""Groups of the bound's linear program: what they exclude, and what they are put together to."""

import itertools

import numpy as np
import pytest

from shoal.algorithms.mdav import mdav
from shoal.bounds.program import solve
from shoal.optimise.columns import _cheapest, _reduced_costs, recombine
from shoal.optimise.recombine import Pool, groups_of
from shoal.optimise.search import Clock, pose
from tests.optimise.test_search import least_sse, sse, standardised


def every_group(X, k):
    """All groups of k..2k-1 records, filled up with -1, and their costs."""
    rows, costs = [], []
    for s in range(k, 2 * k):
        for group in itertools.combinations(range(len(X)), s):
            rows.append([*group, *[-1] * (2 * k - 1 - s)])
            costs.append(np.square(X[list(group)] - X[list(group)].mean(0)).sum())
    return np.array(rows), np.array(costs)


@pytest.mark.parametrize("seed", range(6))
def test_reduced_cost_is_what_a_group_costs_a_partition_at_least(seed):
    X = standardised(np.random.default_rng(seed), 10, 2)
    members, costs = every_group(X, 3)
    prices = solve(X, 3, seconds=60)
    reduced = _reduced_costs(members, costs, prices)
    assert reduced.min() > -1e-9
    for g in range(0, len(members), 7):
        rest = np.setdiff1d(np.arange(10), members[g])
        if len(rest) >= 3:
            least = costs[g] + (least_sse(X[rest], 3) if len(rest) > 5 else sse(X[rest], np.zeros(len(rest))))
            assert least >= prices.value + reduced[g] - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_integer_program_finds_the_optimum_among_all_groups(seed):
    X = standardised(np.random.default_rng(seed), 11, 3)
    members, costs = every_group(X, 3)
    labels = _cheapest(members, costs, mdav(X, 3), seconds=60)
    assert sse(X, labels) == pytest.approx(least_sse(X, 3))


def test_thegroups_of_a_partition_are_known_among_all_groups():
    X = standardised(np.random.default_rng(2), 11, 3)
    labels = mdav(X, 3)
    members, _ = every_group(X, 3)
    own = {tuple(row[row >= 0].tolist()) for row in members[groups_of(labels, members)]}
    assert own == {tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)}


def test_no_time_leaves_the_partition_as_it_was():
    X = standardised(np.random.default_rng(1), 11, 3)
    start = mdav(X, 3)
    members, costs = every_group(X, 3)
    labels = _cheapest(members, costs, start, seconds=0.0)
    assert sse(X, labels) <= sse(X, start) + 1e-12
    assert np.bincount(labels).min() >= 3


def test_recombining_never_loses_and_keeps_to_the_sizes():
    X = standardised(np.random.default_rng(4), 120, 2)
    problem = pose(X, 3)
    start = mdav(X, 3)
    pool = Pool(problem)
    pool.add(start)
    labels = recombine(pool, start, Clock(120.0))
    sizes = np.bincount(labels)
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert sse(X, labels) < 0.99 * sse(X, start)
