"""Orders, and the optimal partition along them: exact integers, brute force."""

from itertools import combinations

import numpy as np
import pytest
from benchmarks.integer_table import exact_cut, whole_sse
from benchmarks.plain_orders import SAME
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms import orders
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.sequence.cut import cut

MHM = ["npn_mhm", "mdav_mhm", "md_mhm", "cbfs_mhm", "pca_mhm", "zscore_mhm", "tsp_mhm"]


def test_exact_cut_finds_what_cut_finds():
    V = np.random.default_rng(0).integers(-50, 50, (300, 3))
    for k in (2, 3, 7):
        exact, rounded = (Partition(f).sse(V) for f in (exact_cut(V, k), cut(V.astype(float), k)))
        assert exact == pytest.approx(rounded, rel=1e-12)


def test_whole_centroids_by_hand():
    # Means 2.5 and -2.5 are rounded away from zero, to 3 and -3.
    V = np.array([[2], [3], [-2], [-3]])
    assert whole_sse(V, np.array([0, 0, 1, 1])) == 2


@pytest.mark.parametrize("key", ["mdav_mhm", "md_mhm", "cbfs_mhm"])
def test_chained_groups_lose_no_more_than_the_groups(key):
    X = np.random.default_rng(3).lognormal(size=(250, 4))
    for k in (3, 5, 10):
        chained, plain = (run_method(get_method(m), X, k).sse(X) for m in (key, key.removesuffix("_mhm")))
        assert chained <= plain * (1 + 1e-12)


@pytest.mark.parametrize("key", MHM)
def test_an_order_given_once_serves_every_k(key):
    X = np.random.default_rng(1).normal(size=(90, 3))
    X.flags.writeable = False  # as methods get it: one compiled version
    order = orders.npn_order(X)
    for k in (2, 3, 8):
        partition = run_method(get_method(key), X, k, parameters={"order": order})
        assert partition.labels.tolist() == run_method(get_method("npn_mhm"), X, k).labels.tolist()


@pytest.mark.parametrize("order", [np.arange(9), np.zeros(10, int), np.arange(10) + 0.5, np.arange(1, 11)])
def test_what_is_no_order_is_refused(order):
    with pytest.raises(InputError, match="each of the rows 0 to 9 exactly once"):
        run_method(get_method("npn_mhm"), np.arange(10.0)[:, None], 2, parameters={"order": order})


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(4, 11), st.integers(2, 4), st.integers(0, 2**32))
def test_the_partition_along_an_order_is_the_best(n, k, seed):
    if n < 2 * k:
        return
    rng = np.random.default_rng(seed)
    X, order = rng.integers(0, 6, (n, 2)).astype(float), rng.permutation(n)
    best = np.inf
    for count in range(n // k):
        for cuts in combinations(range(k, n - k + 1), count):
            parts = np.split(order, cuts)
            if min(map(len, parts)) >= k:
                best = min(best, sum(np.square(X[part] - X[part].mean(0)).sum() for part in parts))
    assert Partition(orders.partition_along(X, k, order)).sse(X) == pytest.approx(best, abs=1e-9)


def test_orders_by_hand():
    X = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0], [1.0, 1.0], [-9.0, -9.0]])
    X.flags.writeable = False  # as methods get it: one compiled version
    assert orders.npn_order(X).tolist() == [4, 0, 2, 3, 1]
    assert orders.pca_order(X).tolist() == [4, 0, 2, 3, 1]
    assert orders.zscore_order(X).tolist() == [4, 0, 2, 3, 1]
    assert X[orders.tour_order(X), 0].tolist() == [-9.0, 0.0, 1.0, 1.0, 3.0]
    assert orders.group_order(X, [7, 5, 5, 7, 9]).tolist() == [4, 0, 3, 2, 1]


def test_pca_order_has_a_fixed_direction():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 5.0, 2.0]
    order = orders.pca_order(X)
    assert X[order[0], 1] < X[order[-1], 1]
    assert orders.pca_order(-X).tolist() == order[::-1].tolist()


def test_the_tour_starts_at_the_farthest_record_and_skips_the_longer_way_there():
    X = np.random.default_rng(2).normal(size=(50, 2))
    X.flags.writeable = False  # as methods get it: one compiled version
    order = orders.tour_order(X)
    assert order[0] == np.argmax(np.square(X - X.mean(0)).sum(1))
    there, back = np.square(X[order[[1, -1]]] - X[order[0]]).sum(1)
    assert there <= back


@pytest.mark.parametrize("key", sorted(SAME))
def test_the_partition_of_the_plain_version(key):
    for seed, n, k in ((0, 26, 2), (1, 45, 3), (2, 60, 5)):
        X = np.random.default_rng(seed).standard_t(3, size=(n, 3))
        fast = run_method(get_method(key), X, k).labels
        assert fast.tolist() == Partition(SAME[key](X, k)).labels.tolist()
