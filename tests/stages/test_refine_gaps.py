"""Records with and without a value are grouped by the distance over what both have."""

import numpy as np
import pytest

import shoal
from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_within
from shoal.stages.encode import encode
from shoal.stages.gap_patterns import gap_patterns
from shoal.stages.impute import impute
from shoal.stages.refine_gaps import refine_gaps

NAN = np.nan


def unrefined(monkeypatch):
    monkeypatch.setattr("shoal.stages.group.refine_gaps", lambda partition, *others: partition)


def there(X, labels):
    """The SSE over the values that are there."""
    return sum(
        np.square(own - own.mean()).sum()
        for g in np.unique(labels)
        for column in X[labels == g].T
        if len(own := column[~np.isnan(column)])
    )


def test_the_distance_over_what_both_have_decides():
    """The last record is at x = 4, nearer to the group around 0 in x: its only shared column.

    At the column's mean of y it would lie far from that group, and near the other.
    """
    low, high = [[0.0, 0.0], [1, 1], [2, 0], [3, 1]], [[9.0, 20.0], [10, 21], [11, 20], [12, 21]]
    X = np.array([*low, *high, [4.0, NAN]])
    columns = [Column(j, "continuous", np.nan_to_num(X[:, j]), np.isnan(X[:, j])) for j in range(2)]
    space = encode(columns)
    misplaced = Partition(np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]))
    found = refine_gaps(misplaced, space.matrix, columns, space.spans, None, 3)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0]


def test_who_lacks_the_column_costs_nothing_in_it():
    """A 9 among zeros changes places with the record that has no such value: at any place that would cost."""
    X = np.array([[0.0, 5.0], [0, 5], [9, NAN], [7, 5.0], [8, 5], [9, 5], [NAN, 5]])
    columns = [Column(j, "continuous", np.nan_to_num(X[:, j]), np.isnan(X[:, j])) for j in range(2)]
    space = encode(columns)
    start = Partition(np.array([0, 0, 0, 1, 1, 1, 1]))
    found = refine_gaps(start, space.matrix, columns, space.spans, None, 3)
    assert found.labels.tolist() == [0, 0, 1, 1, 1, 1, 0]
    assert there(X, found.labels) < there(X, start.labels)


def test_no_move_leaves_a_mean_of_one_value():
    """The gap could go for free where it left 0 or 100 alone in its column."""
    X = np.array([[0.0], [10], [NAN], [100], [110]])
    columns = [Column(0, "continuous", np.nan_to_num(X[:, 0]), np.isnan(X[:, 0]))]
    space = encode(columns)
    start = Partition(np.array([0, 0, 1, 1, 1]))
    found = refine_gaps(start, space.matrix, columns, space.spans, None, 2)
    counts = [int((~np.isnan(X[found.labels == g])).sum()) for g in range(2)]
    assert counts == [2, 2]


@pytest.mark.parametrize("method", ["mdav", "auto", "multi_dsort", "k_ward"])
@pytest.mark.parametrize("missing", ["group", "impute"])
def test_every_method_loses_no_more_than_before(monkeypatch, method, missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) @ rng.normal(size=(4, 4))
    X[rng.random(X.shape) < 0.1] = NAN
    options = {"method": method, "missing": missing, "contributors": 1}
    release = shoal.microaggregate(X, 4, **options)
    again = shoal.microaggregate(X, 4, **options)
    assert np.array_equal(release.labels, again.labels)
    assert release.group_sizes.min() >= 4
    unrefined(monkeypatch)
    before = shoal.microaggregate(X, 4, **options)
    assert release.information_loss < before.information_loss
    Z = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0, ddof=1)
    assert there(Z, release.labels) < there(Z, before.labels)


def test_sets_of_one_pattern_and_strata_stay_as_they_are():
    rng = np.random.default_rng(3)
    n = 200
    gaps = np.zeros((n, 3), bool)
    gaps[:60, 0] = True  # a pattern of its own
    gaps[60:62, 1] = True  # too rare
    strata = rng.integers(0, 2, n)
    columns = [
        Column(j, "continuous", np.where(gaps[:, j], 0, rng.normal(size=n)), gaps[:, j]) for j in (0, 1)
    ]
    columns.append(categories("c", "nominal", rng.integers(0, 4, n), None))
    space = encode(columns)
    patterns = gap_patterns(columns, strata, 3)
    points = impute(space.matrix, columns, space.spans, patterns)
    start = run_within(get_method("mdav"), points, 3, patterns)
    found = refine_gaps(start, points, columns, space.spans, patterns, 3)
    assert all(len(set(patterns[found.labels == g])) == 1 for g in range(len(found)))
    assert found.sizes.min() >= 3
    plain = np.flatnonzero(gaps[:, 0])
    assert np.array_equal(Partition(found.labels[plain]).labels, Partition(start.labels[plain]).labels)
    assert not np.array_equal(found.labels, start.labels)


def test_tables_without_gaps_are_left_alone():
    x = Column("x", "continuous", np.arange(6.0))
    start = Partition(np.array([0, 1, 0, 1, 0, 1]))
    assert refine_gaps(start, np.arange(6.0)[:, None], [x], [slice(0, 1)], None, 3) is start


def test_a_limit_in_time_ends_it_early():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 2)) < 0.2, NAN, rng.normal(size=(60, 2)))
    columns = [Column(j, "continuous", np.nan_to_num(X[:, j]), np.isnan(X[:, j])) for j in range(2)]
    space = encode(columns)
    start = Partition(rng.permutation(60) // 5)
    assert np.array_equal(
        refine_gaps(start, space.matrix, columns, space.spans, None, 3, -1.0).labels, start.labels
    )
    assert shoal.microaggregate(X, 3, missing="impute", time_limit=0.2).group_sizes.min() >= 3


def test_categories_move_with_all_their_coordinates():
    """Two categories are unknown; their records go where the number that they have belongs."""
    gaps = np.isin(np.arange(11), [3, 7])
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 2])
    x = np.array([0.0, 1, 2, 1, 50, 51, 52, 51, 100, 101, 102])
    columns = [categories("c", "nominal", codes, gaps), Column("x", "continuous", x)]
    space = encode(columns)
    assert space.matrix.shape[1] == 4
    start = Partition(np.array([0, 0, 0, 1, 1, 1, 1, 0, 2, 2, 2]))
    found = refine_gaps(start, space.matrix, columns, space.spans, None, 3)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


def test_after_so_many_visits_it_ends():
    X = np.array([[0.0, 0.0], [1, 1], [2, 0], [9, 20], [10, 21], [11, 20], [1, NAN]])
    columns = [Column(j, "continuous", np.nan_to_num(X[:, j]), np.isnan(X[:, j])) for j in range(2)]
    space = encode(columns)
    misplaced = Partition(np.array([0, 0, 0, 1, 1, 1, 1]))
    found = refine_gaps(misplaced, space.matrix, columns, space.spans, None, 3, passes=1)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 0]
