"""Orders, and the optimal partition along them: printed figures, exact integers, brute force."""

from itertools import combinations

import numpy as np
import pytest
from benchmarks.integer_table import ORDERS, PUBLISHED, exact_cut, integer_sse, printed, whole_sse
from benchmarks.plain_orders import SAME
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms import orders
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.sequence.cut import cut
from tests.benchmark_data import information_loss, load

MHM = ["npn_mhm", "mdav_mhm", "md_mhm", "cbfs_mhm", "pca_mhm", "zscore_mhm", "tsp_mhm"]


def loss(key, dataset, k, **parameters):
    Z = load(dataset)
    return information_loss(Z, run_method(get_method(key), Z, k, parameters=parameters).labels)


# IMHMI paper (shared/papers/003), Table 3: the columns IMHM and IMHMI for k = 2, 3, 4, 5, 10, as exact
# integers: 90 cells. Settings: shared/published/NOTES.md.
@pytest.mark.parametrize("order", ["NPN", "PCA", "Z-score"])
@pytest.mark.parametrize("dataset", ["tarragona", "census", "eia"])
def test_integer_sse_table(dataset, order):
    Z = load(dataset)
    if not PUBLISHED.exists():
        pytest.skip(f"the printed table {PUBLISHED} is absent")
    rows = ORDERS[order](Z)
    for k in (2, 3, 4, 5, 10):
        assert integer_sse(Z, k, rows) == printed()[dataset, k, order]


# The same table's TSP columns: the paper's tour is another. Ours must come within 3 % of them, or below.
@pytest.mark.parametrize("dataset", ["tarragona", "census", "eia"])
def test_tour_against_the_printed_tours(dataset):
    Z = load(dataset)
    if not PUBLISHED.exists():
        pytest.skip(f"the printed table {PUBLISHED} is absent")
    rows = orders.tour_order(Z)
    for k in (2, 3, 4, 5, 10):
        for ours, theirs in zip(integer_sse(Z, k, rows), printed()[dataset, k, "TSP"]):
            assert ours <= 1.03 * theirs


def test_exact_cut_finds_what_cut_finds():
    V = np.random.default_rng(0).integers(-50, 50, (300, 3))
    for k in (2, 3, 7):
        exact, rounded = (Partition(f).sse(V) for f in (exact_cut(V, k), cut(V.astype(float), k)))
        assert exact == pytest.approx(rounded, rel=1e-12)


def test_whole_centroids_by_hand():
    # Means 2.5 and -2.5 are rounded away from zero, to 3 and -3.
    V = np.array([[2], [3], [-2], [-3]])
    assert whole_sse(V, np.array([0, 0, 1, 1])) == 2


# NPN from the record farthest from the centroid (shared/notes/methods.md, NPN-MHM).
@pytest.mark.parametrize(("k", "figure"), [(3, "17.5258"), (5, "28.17"), (10, "38.72")])
def test_npn_on_tarragona(k, figure):
    assert f"{loss('npn_mhm', 'tarragona', k):.{len(figure) - 3}f}" == figure


# Multi-DSort paper (shared/papers/004), Tables 6 to 8, k = 3, 5, 10. The originals' chains are not known
# (shared/notes/methods.md): ours come within 2 %, or below. NPN-MHM there is another path: see test above.
CHAINED = {
    ("mdav_mhm", "tarragona"): (16.9326, 22.4617, 33.1923),
    ("mdav_mhm", "census"): (5.6523, 9.087, 14.2239),
    ("mdav_mhm", "eia"): (0.4081, 1.2563, 3.7725),
    ("md_mhm", "tarragona"): (16.9829, 22.5269, 33.1834),
    ("md_mhm", "census"): (5.69724, 8.98594, 14.3965),
    ("md_mhm", "eia"): (0.4422, 1.2627, 3.6374),
    ("cbfs_mhm", "tarragona"): (16.9714, 22.8227, 33.2188),
    ("cbfs_mhm", "census"): (5.6734, 8.8942, 13.8925),
}


@pytest.mark.parametrize(("key", "dataset"), CHAINED)
def test_chained_groups_against_the_printed_figures(key, dataset):
    for k, figure in zip((3, 5, 10), CHAINED[key, dataset]):
        chained = loss(key, dataset, k)
        assert chained <= 1.02 * figure
        if dataset != "eia":  # spares the slow MD
            assert chained <= loss(key.removesuffix("_mhm"), dataset, k) + 1e-9


@pytest.mark.parametrize("key", MHM)
def test_an_order_given_once_serves_every_k(key):
    X = np.random.default_rng(1).normal(size=(90, 3))
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
