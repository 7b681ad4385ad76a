"""The bound of large tables: raised prices against brute force, a slow reference and lies."""

import dataclasses
import errno
import io
import itertools

import numpy as np
import pytest

import shoal
from shoal.bounds import Bound, Certificate, fingerprint, standardised
from shoal.bounds.blocks import PARTS, Blocks, raised_prices
from shoal.bounds.certificate import priced_value
from shoal.bounds.neighbours import near_sums, neighbour_prices, streamed_prices
from shoal.bounds.verify import by_blocks, by_neighbours
from shoal.bounds.verify_groups import cut_table, groups_below
from shoal.errors import MachineError
from shoal.kernels.neighbours.kd_tree import build_tree, within_reach
from shoal.testing import brute_force
from tests.bounds.test_bounds import random_table

HOUR = 3600.0


def raised(X, k):
    return raised_prices(X, near_sums(X, k), k, HOUR)


def none_below(X, k, prices):
    """What a proof says of prices without cuts."""
    none = np.empty((0, 3), np.int64), np.empty((0, 3), np.int64), np.empty(0, np.int64)
    return groups_below(X, k, prices, cut_table(len(X), *none), np.empty(0), 0.0, 0) is not None


def none_charged(X, k, prices):
    """What the search says of them: no block has to lower any."""
    order = np.argsort(-prices, kind="stable")
    blocks = Blocks(X[order], near_sums(X, k)[order], k)
    return (blocks.charged(prices[order], blocks.rows).prices == prices[order]).all()


def none_of_all(X, k, prices):
    """Each group, one by one."""
    for s in range(k, 2 * k):
        rows = np.array(list(itertools.combinations(range(len(X)), s)))
        costs = np.square(X[rows] - X[rows].mean(axis=1, keepdims=True)).sum(axis=(1, 2))
        if (costs < prices[rows].sum(axis=1)).any():
            return False
    return True


def clusters(seed, n, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 0.3 + 3 * rng.normal(size=(9, d))[rng.integers(0, 9, n)]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_never_above_the_optimum(k):
    gained = 0
    for seed in range(10):
        X = random_table(seed, 8 + seed % 4)
        prices = raised(X, k)
        proven = by_blocks(X, k, prices)
        assert by_neighbours(X, k) * (1 - 1e-12) <= proven <= brute_force(X, k) * (1 + 1e-12)
        gained += proven > 1.01 * by_neighbours(X, k)
    assert gained > 3


def charged_slowly(X, blocks, prices, k):
    """Parts from the last to the first; a block sees the charges of earlier parts, and its own."""
    n = len(X)
    led = {i: [] for i in range(n)}
    for s in range(k, 2 * k):
        rows = np.array(list(itertools.combinations(range(n), s)))
        costs = np.square(X[rows] - X[rows].mean(axis=1, keepdims=True)).sum(axis=(1, 2))
        for i in range(n):
            mine = rows[:, 0] == i
            led[i].append((rows[mine], costs[mine]))
    edges = np.linspace(0, n, PARTS + 1).astype(int)
    prices, shared = prices.copy(), prices.copy()
    for part in range(PARTS - 1, -1, -1):
        seen = prices.copy()
        for block in blocks:
            own = seen.copy()
            for i in block[(block >= edges[part]) & (block < edges[part + 1])][::-1]:
                reduced = [costs - own[rows].sum(axis=1) for rows, costs in led[i]]
                least = min([0.0, *(each.min() for each in reduced if len(each))])
                if least < 0:
                    best = next(j for j, each in enumerate(reduced) if len(each) and each.min() == least)
                    members = led[i][best][0][np.argmin(reduced[best])]
                    shared[members] += least / len(members)
                own[i] += least
                prices[i] = own[i]
    return prices, shared


@pytest.mark.parametrize("seed", range(4))
def test_a_pass_is_what_the_slow_reference_says(seed):
    k, n = 2 + seed % 2, 90 if seed % 2 == 0 else 40
    X = clusters(seed, n)
    near = near_sums(X, k)
    prices = neighbour_prices(near, k)
    order = np.argsort(-prices, kind="stable")
    X, near, prices = X[order], near[order], 1.4 * prices[order]
    blocks = Blocks(X, near, k, size=32)
    assert len(blocks.rows) > 1
    assert sorted(np.concatenate(blocks.rows)) == list(range(n))
    found = blocks.charged(prices, blocks.rows)
    expected, shared = charged_slowly(X, blocks.rows, prices, k)
    assert (expected < prices - 1e-9).sum() > 5
    np.testing.assert_allclose(found.prices, expected, atol=1e-12)
    np.testing.assert_allclose(found.shared, shared, atol=1e-12)
    assert found.shared.sum() == pytest.approx(found.prices.sum())  # a charge is shared, not changed


@pytest.mark.parametrize("k", [3, 5])
def test_raised_prices_gain_and_hold(k):
    for X in (clusters(1, 700), np.exp(clusters(2, 700, 3))):
        X = standardised(X)
        prices = raised(X, k)
        assert prices.sum() > 1.1 * neighbour_prices(near_sums(X, k), k).sum()
        assert by_blocks(X, k, prices) == pytest.approx(priced_value(prices, np.empty(0)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("n", "k", "reference"), [(450, 3, none_charged), (90, 2, none_of_all), (34, 3, none_of_all)]
)
def test_a_proof_misses_no_group(seed, n, k, reference):
    """On feasible prices, and on prices that one group undercuts, it says what the reference says."""
    X = clusters(seed, n, 3)
    prices = raised(X, k) * (1 - 1e-9)
    assert none_below(X, k, prices)
    assert reference(X, k, prices)
    rng = np.random.default_rng(seed)
    for i in rng.integers(0, len(X), 6):
        lie = prices.copy()
        lie[i] *= rng.choice([1.001, 1.3, 30.0])
        assert none_below(X, k, lie) == reference(X, k, lie)
    assert not none_below(X, k, 1.3 * prices)


def test_a_large_table_gets_raised_prices(tmp_path):
    X = clusters(0, 20_100)
    bound = shoal.lower_bound(X, 2, time_limit=HOUR)
    assert bound.certificate.proof == "blocks"
    assert bound.sse > 1.05 * by_neighbours(bound.records, 2)
    assert bound.verify()
    bound.save(tmp_path / "bound.npz")
    assert Bound.load(tmp_path / "bound.npz").verify(X)
    assert bound.information_loss <= shoal.microaggregate(X, 2, method="mdav").information_loss


@pytest.fixture(scope="module")
def proven():
    X = standardised(clusters(0, 700))
    prices = raised(X, 3)
    value = priced_value(prices, np.empty(0))
    loss = 100 * value / np.square(X - X.mean(axis=0)).sum()
    certificate = Certificate("blocks", 3, fingerprint(X, 3), {"prices": prices})
    return X, Bound(value, loss, "raised prices", certificate, 0.0, X)


def test_tampering_is_refused(proven):
    X, bound = proven
    prices = bound.certificate.arrays["prices"]

    def with_prices(changed, **figures):
        certificate = dataclasses.replace(bound.certificate, arrays={"prices": changed})
        return dataclasses.replace(bound, certificate=certificate, **figures)

    assert with_prices(prices).verify()
    for i in (0, 350, 699):
        for lie in (1.01, -1.0, np.nan, np.inf):
            changed = prices.copy()
            changed[i] *= lie
            assert not with_prices(changed).verify()
        changed = prices.copy()
        changed[i] += 0.01 * bound.sse  # and the figures follow
        figures = {"sse": 1.01 * bound.sse, "information_loss": 1.01 * bound.information_loss}
        assert not with_prices(changed, **figures).verify()
    for changed in (prices[:-1], prices[::-1], prices[:, None], prices.astype(int), np.full(700, 1e300)):
        assert not with_prices(changed).verify()
    assert not with_prices(prices, sse=bound.sse * 1.0001).verify()
    other = X.copy()
    other[7, 0] += 0.01
    assert not bound.verify(other)
    for proof in ("prices", "neighbours", "matrix", "one group"):
        certificate = dataclasses.replace(bound.certificate, proof=proof)
        assert not dataclasses.replace(bound, certificate=certificate).verify()


def test_a_hostile_k_is_refused():
    X = standardised(clusters(3, 60))
    for k in (1, 31, 60):
        certificate = Certificate("blocks", k, fingerprint(X, k), {"prices": np.zeros(60)})
        assert not Bound(0.0, 0.0, "raised prices", certificate, 0.0, X).verify()


def test_shift_and_scale_do_not_matter():
    X = np.round(1000 * clusters(4, 600))
    prices = raised(standardised(X), 3)
    for moved in (X + 1e9, X * 1e-9, X * [1e-9, 1e9]):
        np.testing.assert_allclose(raised(standardised(moved), 3), prices, rtol=1e-6, atol=1e-9)


def test_threads_do_not_matter(monkeypatch):
    X = standardised(clusters(5, 900))
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SHOAL_THREADS", threads)
        results.append(raised(X, 3))
    np.testing.assert_array_equal(*results)


def test_ties_duplicates_and_constant_columns():
    rng = np.random.default_rng(0)
    for X in (
        np.zeros((80, 2)),
        np.repeat(rng.normal(size=(10, 2)), 8, axis=0),
        np.column_stack([rng.integers(0, 4, 300), np.ones(300)]).astype(float),
        np.arange(200.0)[:, None],
    ):
        prices = raised(X, 4)
        assert by_blocks(X, 4, prices) >= by_neighbours(X, 4) * (1 - 1e-9)
        assert none_below(X, 4, prices * (1 - 1e-9))


def test_without_time_the_neighbours_prices_stay():
    X = clusters(6, 300)
    near = near_sums(X, 3)
    np.testing.assert_array_equal(raised_prices(X, near, 3, 0.0), neighbour_prices(near, 3))


def test_records_within_reach_of_a_box():
    X = clusters(7, 500)
    tree = build_tree(X)
    low, high = X[:5].min(axis=0), X[:5].max(axis=0)
    gap = np.square(np.maximum(np.maximum(X - high, low - X), 0)).sum(axis=1)
    for reach in (0.0, 0.3, 4.0, 1e9):
        for first in (0, 250):
            expected = np.flatnonzero((gap <= reach) & (np.arange(500) >= first))
            np.testing.assert_array_equal(within_reach(X, tree, low, high, reach, first), expected)


@pytest.mark.parametrize("k", [2, 5])
def test_a_table_that_memory_need_not_hold_has_the_same_prices(k):
    for X in (clusters(8, 900, 3), np.repeat(clusters(9, 60), 4, axis=0), np.arange(40.0)[:, None]):
        held = neighbour_prices(near_sums(X, k), k)
        np.testing.assert_array_equal(streamed_prices(X, k), held)
        assert by_neighbours(X, k) == pytest.approx(priced_value(held, np.empty(0)))


def test_near_sums_are_those_of_all_distances():
    for n, k in ((700, 4), (40, 3), (5, 4)):
        X = clusters(10, n)
        squares = np.sort(np.square(X[:, None] - X).sum(axis=2), axis=1)[:, : 2 * k - 1]
        near = near_sums(X, k)
        np.testing.assert_allclose(near[:, :n], np.cumsum(squares, axis=1), atol=1e-12)
        assert np.isinf(near[:, n:]).all()


def test_more_cells_than_prices_are_raised_for_have_the_neighbours_bound(monkeypatch):
    monkeypatch.setattr("shoal.bounds.HELD", 1000)
    X = clusters(11, 600)
    bound = shoal.lower_bound(X, 3)
    assert (bound.method, bound.certificate.proof) == ("neighbours", "neighbours")
    assert bound.verify()
    assert bound.information_loss <= shoal.microaggregate(X, 3, method="mdav").information_loss
    assert not dataclasses.replace(bound, sse=1.0001 * bound.sse).verify()


def test_a_disk_without_room_is_one_sentence(monkeypatch):
    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(MachineError, match="No space left on device; name another folder"):
        streamed_prices(clusters(0, 60), 3)
