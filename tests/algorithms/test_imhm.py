"""IMHM and fuzzy c-means."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from shoal.algorithms.fuzzy import FAINT, _raise, fuzzy_c_means
from shoal.algorithms.imhm import reassign
from shoal.algorithms.orders import npn_order, partition_along
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method


def test_reassignment_is_the_best_for_these_centroids():
    X = np.random.default_rng(0).standard_t(2, size=(60, 2))
    X.flags.writeable = False
    k = 3
    partition = Partition(partition_along(X, k, npn_order(X)))
    means = partition.means(X)
    costs = np.square(X[:, None] - means).sum(2)
    must = 1e6
    places = np.hstack([np.repeat(costs - must, k, axis=1), np.repeat(costs, k - 1, axis=1)])
    best = places[linear_sum_assignment(places)].sum() + must * k * len(means)
    for choices in (60, 32, 1):
        labels = reassign(X, k, partition.labels, choices)
        Partition(labels).check(k, 60, 2 * k - 1)
        cost = costs[np.arange(60), labels].sum()
        assert cost <= partition.sse(X) + 1e-9
        assert cost >= best - 1e-6
        if choices >= len(means):
            assert cost == pytest.approx(best)
        assert Partition(labels).sse(X) <= cost + 1e-9


def test_imhm_never_loses_more_than_the_partition_along_its_order():
    X = np.random.default_rng(1).normal(size=(70, 3))
    X.flags.writeable = False
    for k in (2, 5):
        for order, key in (
            ("mdav", "mdav_mhm"),
            ("npn", "npn_mhm"),
            ("tour", "tsp_mhm"),
            (np.arange(70), None),
        ):
            sse = run_method(get_method("imhm"), X, k, parameters={"order": order}).sse(X)
            before = run_method(get_method(key), X, k).labels if key else partition_along(X, k, order)
            assert sse <= Partition(before).sse(X) + 1e-9


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match="unknown order 'npm': did you mean 'npn'"):
        run_method(get_method("imhm"), np.arange(20.0)[:, None], 3, parameters={"order": "npm"})


def test_fuzzy_c_means_finds_well_separated_clusters():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 20)
    X = 50.0 * np.eye(3)[truth] + rng.normal(size=(60, 3))
    for m in (1.1, 2.0):
        labels = Partition(fuzzy_c_means(X, np.array([0, 25, 50]), m)).labels
        assert labels.tolist() == truth.tolist()


@pytest.mark.parametrize("m", [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 2.0])
def test_memberships_by_roots_and_products_are_powers(m):
    power = 1 / (m - 1)
    ratio = np.geomspace(FAINT ** (m - 1), 1.0, 200)
    base, part = np.empty((2, 200))
    _raise(ratio, 200, power, base, part)
    assert part == pytest.approx(ratio**power, rel=1e-13)
    assert part[-1] == 1.0


@pytest.mark.parametrize("m", [1.1, 1.2])
def test_the_tree_of_the_centres_changes_no_label(m):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(150, 3)) * 0.1 + 5.0 * centre for centre in range(4)])
    X[::7] = np.round(X[::7], 1)  # ties, and records on a centre
    seeds = np.sort(rng.choice(len(X), 40, replace=False))
    assert (fuzzy_c_means(X, seeds, m, least=16) == fuzzy_c_means(X, seeds, m, least=10**9)).all()


def test_fuzzy_groups_by_its_seed():
    X = np.random.default_rng(1).normal(size=(150, 3))
    fuzzy = get_method("fuzzy")
    one, same, other = (run_method(fuzzy, X, 4, seed=seed).labels.tolist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_fuzzy_keeps_what_lies_apart_apart():
    truth = np.repeat(np.arange(6), 5)
    X = 100.0 * np.eye(6)[truth] + np.random.default_rng(2).normal(size=(30, 6))
    labels = run_method(get_method("fuzzy"), X, 3).labels
    assert all(len(set(truth[labels == g])) == 1 for g in set(labels))
