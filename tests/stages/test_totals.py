"""Totals are kept exactly whenever group sizes exist that allow it; if not, one sentence says so."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import chain, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.memory import foresee
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.stages import regroup
from shoal.stages.regroup import refuse_totals
from shoal.stages.totals import TotalLost, _bridge, _come_near, _useful, keep_total


def divisions(n, k):
    """All ways to write n as a sum of numbers from k up, largest last."""
    yield (n,)
    for first in range(k, n // 2 + 1):
        for rest in divisions(n - first, first):
            yield (first, *rest)


def reachable(sizes, low, high):
    """Every total that groups of these sizes can publish with whole numbers from low to high."""
    sums = {0}
    for size in sizes:
        sums = {total + size * value for total in sums for value in range(low, high + 1)}
    return sums


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 4), st.integers(0, 8), st.data())
def test_a_total_is_kept_if_and_only_if_some_sizes_allow_it(k, more, data):
    values = data.draw(st.lists(st.integers(-3, 6), min_size=k + more, max_size=k + more))
    x = np.array(values)
    possible = any(sum(values) in reachable(s, x.min(), x.max()) for s in divisions(len(x), k))
    if not possible:
        with pytest.raises(InputError, match="keep its total"):
            shoal.microaggregate(x, k, preserve="totals")
        return
    release = shoal.microaggregate(x, k, preserve="totals")
    assert release.table.sum() == x.sum()
    assert x.min() <= release.table.min() <= release.table.max() <= x.max()
    assert min(Counter(release.table.tolist()).values()) >= k


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 9), st.integers(3, 8), st.integers(1, 3), st.integers(0, 2**32))
def test_groups_of_one_size_give_way_so_that_every_column_keeps_its_total(k, groups, columns, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1000, 1000, (k * groups, columns))
    if k * groups == 6:  # 2+2+2, 3+3, 2+4: always a common divisor
        X[:, :] = 3
    plain = shoal.microaggregate(X, k, method="mdav")
    kept = shoal.microaggregate(X, k, method="mdav", preserve="totals")
    assert (kept.table.sum(axis=0) == X.sum(axis=0)).all()
    assert kept.group_sizes.min() >= k
    assert kept.group_sizes.max() < 2 * k
    if (X.sum(axis=0) % k == 0).all():
        assert np.array_equal(kept.labels, plain.labels)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 5), st.integers(0, 2**32), st.sampled_from(["group", "impute"]))
def test_totals_hold_over_the_table_with_strata_and_gaps(k, seed, missing):
    rng = np.random.default_rng(seed)
    n = 12 * k
    table = pa.table(
        {
            "s": np.repeat(["a", "b", "c"], 4 * k),
            "x": pa.array(rng.integers(0, 10**6, n), mask=rng.random(n) < 0.1),
            "y": rng.integers(-50, 50, n),
        }
    )
    release = shoal.microaggregate(
        table, k, columns=["x", "y"], strata="s", method="mdav", missing=missing, preserve="totals"
    )
    for name in "xy":
        after = release.table[name].filter(table[name].is_valid())  # gaps that were filled come on top
        assert pa.compute.sum(after) == pa.compute.sum(table[name])
    strata = np.array(table["s"])
    for group in range(len(release.group_sizes)):
        assert len(set(strata[release.labels == group])) == 1
    assert release.group_sizes.min() >= k


def test_little_is_lost_by_it():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10**5, (500, 3))
    X[0] += 1 - X.sum(axis=0) % 5  # no multiple of 5
    plain = shoal.microaggregate(X, 5, method="mdav")
    kept = shoal.microaggregate(X, 5, method="mdav", preserve="totals")
    assert set(plain.group_sizes) == {5}
    assert len(kept.group_sizes) == len(plain.group_sizes) - 1  # one was dissolved among the others
    assert kept.group_sizes.max() < 10
    assert (kept.table.sum(axis=0) == X.sum(axis=0)).all()
    assert kept.information_loss < 1.01 * plain.information_loss
    assert (kept.labels != plain.labels).any()
    assert "totals" in " ".join(kept.notes)


def test_decimals_keep_their_total_too():
    cells = [Decimal(v).scaleb(-2) for v in (101, 102, 104, 250, 251, 299, 301)]
    table = pa.table({"d": pa.array(cells, pa.decimal128(9, 2))})
    plain = shoal.microaggregate(table, 3).table["d"]
    kept = shoal.microaggregate(table, 3, preserve="totals").table["d"]
    assert pa.compute.sum(plain) != pa.compute.sum(table["d"])
    assert pa.compute.sum(kept) == pa.compute.sum(table["d"])


def test_one_group_only_says_so():
    with pytest.raises(InputError, match="with k=5 every group has a multiple of 5 records; lower k"):
        shoal.microaggregate(np.array([0, 0, 0, 0, 1]), 5, preserve="totals")
    with pytest.raises(InputError, match="leave preserve='totals' out"):
        shoal.microaggregate(np.r_[np.arange(9), 10], 5, preserve="totals")
    with pytest.raises(InputError, match="and no other grouping with k=5 was found that allows it"):
        shoal.microaggregate(np.array([3, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]), 5, preserve="totals")


def test_what_is_refused_before_the_work_no_grouping_keeps():
    rng, refused = np.random.default_rng(5), 0
    for _ in range(300):
        k = int(rng.integers(2, 5))
        sizes = [int(rng.integers(k, 2 * k + 2)) for _ in range(int(rng.integers(1, 3)))]
        values = rng.integers(0, rng.integers(2, 5), sum(sizes)) ** int(rng.integers(1, 3))
        strata = np.repeat(np.arange(len(sizes)), sizes) if len(sizes) > 1 else None
        try:
            refuse_totals([Column("x", "integer", values)], strata, k)
        except InputError:
            refused += 1
            low, high = int(values.min()), int(values.max())
            for groups in product(*(divisions(size, k) for size in sizes)):
                assert values.sum() not in reachable([*chain(*groups)], low, high), (values, k, groups)
    assert 30 < refused < 270


def test_totals_are_refused_without_grouping_any_records():
    table = pa.table({"a": np.arange(40) % 7, "b": np.r_[np.zeros(37, int), 1, 1, 1]})
    plan = shoal.Plan(5, columns=["a", "b"], preserve="totals", per_column=True)
    sentence = "column 'b' cannot keep its total 3 in whole numbers: all records together lie 3 above 0"
    with pytest.raises(InputError, match=sentence):
        foresee(plan, table)
    with pytest.raises(InputError, match=sentence):
        shoal.pipeline.run(plan, table)
    shoal.pipeline.run(replace(plan, k=3), table)


@pytest.mark.parametrize("k", [2, 10, 20, 45])
def test_two_neighbouring_sizes_bridge_any_difference(k):
    """k groups of k and k of k+1: a difference of half of k needs that many steps up and down."""
    labels = np.repeat(np.arange(2 * k), np.repeat([k, k + 1], k))
    values = np.zeros(len(labels), np.int64)
    values[:k] = 100 * k
    values[0] += k // 2
    values[-1] = -(10**6)
    published = np.bincount(labels, values) // np.bincount(labels)
    kept = keep_total("x", values, published, Partition(labels))
    assert int((kept * np.bincount(labels)).sum()) == values.sum()
    assert np.abs(kept - published).max() <= 1


def test_no_step_leaves_the_range_of_the_column():
    partition = Partition(np.repeat([0, 1, 2], [3, 3, 4]))
    values = np.array([0, 1, 0, 1, 1, 0, 1, 1, 0, 0])  # 5 is not a sum of some of 3, 3, 4
    with pytest.raises(TotalLost, match="from 0 to 1 in groups of 3 to 4 records"):
        keep_total("x", values, np.array([0, 1, 1]), partition)


def test_rare_sizes_are_looked_at_only_for_what_they_divide():
    sizes = np.array([2, 2, 2, 4, 4, 6, 3])
    assert _useful(sizes, 2).tolist() == [2, 4, 3]  # with 3 the common divisor is 1, and 6 adds nothing


def test_groups_at_the_end_of_the_range_take_no_step():
    sizes, rest = np.array([2, 3]), np.array([0.0, 0.0])
    full = {1: np.array([0, 0]), -1: np.array([5, 5])}
    steps, missing = _come_near(10, sizes, np.array([True, True]), rest, full, 3)
    assert (steps.tolist(), missing) == ([0, 0], 10)
    assert _bridge(10, [(1.0, 2), (1.0, 3)], 9) is None  # farther than any sum that is looked at
    assert _bridge(5, [(1.0, 2), (1.0, 3)], 9) == [1, 0]


def test_the_search_for_sizes_ends():
    """With one partition to go on from and two steps, no more than that is tried before it gives up."""
    points = np.arange(24.0)[:, None]
    labels = np.repeat(np.arange(4), 6)
    strata = np.zeros(24, np.int64)
    tried = []

    def never(found):
        tried.append(np.sort(np.bincount(found)).tolist())
        return False

    effort = regroup.Effort(beam=1, depth=2, groups=0)  # none is dissolved
    assert regroup._search(labels, points, 2, 11, strata, never, effort) is None
    assert len(tried) == 2
    assert tried[0] == [5, 6, 6, 7]


def test_the_search_for_sizes_takes_the_first_that_serves():
    tried = []

    def second(found):
        tried.append(np.sort(np.bincount(found)).tolist())
        return len(tried) == 2

    points, labels = np.arange(24.0)[:, None], np.repeat(np.arange(4), 6)
    found = regroup._search(labels, points, 2, 11, np.zeros(24, np.int64), second, regroup.Effort(beam=5))
    assert np.sort(np.bincount(found)).tolist() == tried[1]
    assert tried[0] != tried[1]
    assert (found != labels).sum() >= 1
