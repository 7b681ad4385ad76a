"""What is at risk: hand-computed cases, slow obvious references."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist

import shoal
from shoal.measures.groups import Groups, same
from shoal.measures.linkage import wilson


def test_interval_by_hand():
    before = np.array([0.0, 10, 20, 30])
    after = np.array([0.4, 11, 20, 30])
    sd = after.std(ddof=1)
    found = shoal.risk(before, after, interval=0.05)
    assert 0.4 < 0.05 * sd < 1  # so 0.4 is within, 1 is not
    assert found["interval_sd"].overall == 0.75
    # 0.4 lies between the first and the second rank: half a rank off; 11 between the second and the third
    assert found["interval_rank"].overall == 0.5
    assert shoal.risk(before, after, interval=0.25)["interval_rank"].overall == 1.0


def brute_linkage(X, Y):
    """An n x n matrix, ties counted at their chance."""
    centre, scale = Y.mean(0), Y.std(0, ddof=1)
    D = cdist((X - centre) / scale, (Y - centre) / scale)
    least = D.min(axis=1, keepdims=True)
    near = least * (1 + 1e-9) + 1e-12 >= D
    return np.mean(near.diagonal() / near.sum(axis=1))


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(["smooth", "grid"]))
def test_linkage_against_the_full_matrix(seed, k, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) if kind == "smooth" else rng.integers(0, 4, (60, 2)).astype(float)
    Y = shoal.microaggregate(X, k, method="mdav").table
    found = shoal.risk(X, Y)["linkage"]
    assert found.overall == pytest.approx(brute_linkage(X, Y))
    for j in range(2):
        assert found.columns[j] == pytest.approx(brute_linkage(X[:, [j]], Y[:, [j]]))
    assert found.overall <= 1 / k + 1e-12


def test_linkage_takes_nothing_from_the_order_of_rows():
    X = np.zeros((10, 1))
    X[9] = 1.0
    constant = np.full((10, 1), 0.1)
    assert shoal.risk(X, constant)["linkage"].overall == pytest.approx(0.1)
    # ten published points at the same distance from every record: one in ten, more than are looked at first
    corners = np.eye(10)
    assert shoal.risk(np.zeros((10, 10)), corners, sample=10)["linkage"].overall == pytest.approx(0.1)


def test_linkage_of_the_original_finds_everyone():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = shoal.risk(X, X)["linkage"]
    assert found.overall == 1.0
    levels = found.detail["by_known_columns"]
    assert [level["known"] for level in levels] == [1, 2, 3]
    assert [level["subsets"] for level in levels] == [3, 3, 1]


def test_linkage_by_categories():
    before = pa.table({"s": ["a", "b", "c", "c"], "x": [1.0, 1, 1, 1]})
    found = shoal.risk(before, before, ["s", "x"])["linkage"]
    assert found.columns == pytest.approx({"s": (1 + 1 + 0.5 + 0.5) / 4, "x": 0.25})
    many = pa.table({"s": [str(i) for i in range(100)], "x": np.arange(100.0)})
    assert "too many categories" in shoal.risk(many, many, ["s", "x"]).notes[0]


def test_a_sample_covers_the_truth():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 2))
    Y = shoal.microaggregate(X, 3, method="mdav").table
    truth = shoal.risk(X, Y)["linkage"]
    assert truth.detail["low"] == truth.overall == truth.detail["high"]
    hits = 0
    for seed in range(20):
        found = shoal.risk(X, Y, sample=300, seed=seed)["linkage"]
        assert found.detail["records"] == 300
        hits += found.detail["low"] <= truth.overall <= found.detail["high"]
    assert hits >= 18


def test_wilson_against_scipy():
    theirs = stats.binomtest(30, 200).proportion_ci(method="wilson")
    assert wilson(0.15, 200, 10**9) == pytest.approx((theirs.low, theirs.high), abs=1e-4)
    assert wilson(0.15, 200, 200) == (0.15, 0.15)


def test_achieved_k_by_hand():
    after = pa.table({"x": [1, 1, 1, 2, 2], "y": [1, 1, 2, 2, 2]})
    found = shoal.risk(after, after)["k"]
    assert found.overall == 1
    assert found.columns == {"x": 2, "y": 2}
    assert found.detail["sizes"] == {1: 1, 2: 2}
    assert found.detail["unique_records"] == 1


def test_published_gaps_count_towards_k():
    table = pa.table({"x": [1.0, 1, None, None], "y": [1, 1, 2, 2]})
    found = shoal.risk(table, table)
    assert found["k"].overall == 2
    assert found["k"].detail["groups"] == 2
    assert found.records == 4


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_magnitudes_change_nothing(scale):
    X = np.random.default_rng(0).lognormal(size=(60, 2))
    Y = shoal.microaggregate(X, 3, method="mdav").table
    plain, scaled = shoal.risk(X, Y), shoal.risk(X * scale, Y * scale)
    assert {k: m.overall for k, m in scaled.items()} == pytest.approx(
        {k: m.overall for k, m in plain.items()}
    )
    plain, scaled = (shoal.utility(X * s, Y * s, models=False) for s in (1, scale))
    assert {k: m.overall for k, m in scaled.items()} == pytest.approx(
        {k: m.overall for k, m in plain.items()}
    )


def test_dominance_by_hand():
    before = pa.table({"x": [90.0, 5, 5, 40, 30, 30, -10, 2, 1]})
    after = pa.table({"x": [100 / 3] * 3 + [100 / 3 + 1] * 3 + [-7 / 3] * 3})
    found = shoal.risk(before, after)["dominance"]
    # 90 % is more than 80 %; 40 % and 70 % are not; 10 of 13 is 77 %, but 12 of 13 more than 90 %
    assert found.overall == pytest.approx(6 / 9)
    assert found.detail["columns"]["x"]["groups"] == 2
    assert found.detail["columns"]["x"]["largest_one"] == pytest.approx(0.9)
    assert shoal.risk(before, after, dominance=(0.85, 0.95))["dominance"].overall == pytest.approx(3 / 9)


def test_confidential_values_by_hand():
    table = pa.table(
        {
            "q": [1, 1, 1, 2, 2, 2],
            "wage": [5.0, 5, 5, 1, 50, 99],
            "ill": ["no", "no", "yes", "no", "no", "no"],
        }
    )
    found = shoal.risk(table, table, "q", ["wage", "ill"])
    assert found["fixed"].columns == pytest.approx({"wage": 0.5, "ill": 0.5})
    assert found["fixed"].overall == 1.0
    assert found["l_diversity"].columns == {"wage": 1, "ill": 1}
    # ill: 5 of 6 say no; the first group 2 of 3: distance 1/6; the second 3 of 3: 1/6
    assert found["t_closeness"].columns["ill"] == pytest.approx(1 / 6)
    # wage: values 1 < 5 < 50 < 99 with distribution 1/6, 4/6, 5/6, 1; the first group 0, 1, 1, 1;
    # the second 1/3, 1/3, 2/3, 1
    first, second = (1 / 6 + 2 / 6 + 1 / 6) / 3, (1 / 6 + 2 / 6 + 1 / 6) / 3
    assert found["t_closeness"].columns["wage"] == pytest.approx(max(first, second))
    # everyone in the first group has three of three near; in the second only oneself
    assert found["proximity"].columns["wage"] == pytest.approx((3 * 1 + 3 * (1 / 3)) / 6)


def test_gaps_in_confidential_values():
    table = pa.table({"q": [1, 1, 2, 2], "wage": [5.0, None, 1, 3]})
    found = shoal.risk(table, table, "q", "wage")
    assert found["l_diversity"].overall == 2  # a gap is a value
    assert found["fixed"].overall == 0
    assert found["dominance"].columns["wage"] == 0.25  # 5 is all of the first group's total
    words = pa.table({"q": ["a", "a", "b"]})
    assert "dominance" not in shoal.risk(words, words, "q")


def test_per_column_watches_each_columns_own_groups():
    X = np.random.default_rng(8).lognormal(size=(60, 2))
    release = shoal.microaggregate(X, 5, method="univariate", per_column=True)
    alone = shoal.risk(X, release.table, per_column=True)
    assert alone["l_diversity"].overall == 5
    assert alone["k"].columns[0] == 5
    assert shoal.risk(X, release.table)["l_diversity"].overall < 5


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), st.booleans())
def test_groups_against_plain_loops(seed, n, kinds, tied):
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, kinds, n), return_inverse=True)[1]
    values = rng.integers(-3, 4, n).astype(float) if tied else rng.normal(size=n)
    groups = Groups(labels, values)
    levels = np.unique(values)
    whole = np.searchsorted(np.sort(values), levels, "right") / n
    one, two = groups.shares_of_largest()
    near = np.empty(n)
    near[np.lexsort((values, labels))] = groups.near(0.5)  # by group, then by value
    for g in range(labels.max() + 1):
        own = np.sort(values[labels == g])
        assert groups.ranges()[g] == own[-1] - own[0]
        assert groups.distinct()[g] == len(np.unique(own))
        size = np.sort(np.abs(own))[::-1]
        if size.sum() > 0:
            assert one[g] == pytest.approx(size[0] / size.sum())
            assert two[g] == pytest.approx(size[:2].sum() / size.sum())
        distribution = np.searchsorted(own, levels, "right") / len(own)
        if len(levels) > 1:
            moved = np.abs(distribution - whole)[:-1].sum() / (len(levels) - 1)
            assert groups.distances_ordered()[g] == pytest.approx(moved)
            by_rank = stats.wasserstein_distance(
                np.searchsorted(levels, own), np.searchsorted(levels, values)
            ) / (len(levels) - 1)
            assert groups.distances_ordered()[g] == pytest.approx(by_rank)
        apart = 0.5 * sum(abs((own == v).mean() - (values == v).mean()) for v in levels)
        assert groups.distances_unordered()[g] == pytest.approx(apart)
    for i in range(n):
        own = values[labels == labels[i]]
        assert near[i] == pytest.approx((np.abs(own - values[i]) <= 0.5 + 1e-9).mean(), abs=1e-6)


def test_same_joins_what_agrees():
    labels = same([np.array([1.0, 1, 2, 1]), np.array([5, 5, 5, 6])])
    assert labels[0] == labels[1]
    assert len(set(labels.tolist())) == 3
