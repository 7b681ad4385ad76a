"""The optimal partition of a sequence in any number of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.sequence.cut import cut, labels_of, whole_cost, whole_sizes
from tests.sequence_reference import cost, group_cost, optimum


@st.composite
def sequences(draw, largest=12):
    k = draw(st.integers(2, 4))
    n = draw(st.integers(2 * k, max(largest, 2 * k)))
    d = draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(st.integers(-9, 9), min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(rows), k


def sizes_of(labels):
    """Group sizes of labels, which must be 0, 0, .., 1, 1, .."""
    assert (np.diff(labels) >= 0).all()
    assert labels[0] == 0
    return np.bincount(labels).tolist()


@settings(deadline=None, max_examples=60)
@given(sequences())
def test_cut_is_optimal_in_order(case):
    X, k = case
    assert cost(X.tolist(), sizes_of(cut(X.astype(float), k))) == optimum(X.tolist(), k)


@settings(deadline=None, max_examples=60)
@given(sequences())
def test_cut_integer_is_optimal_for_whole_centroids(case):
    X, k = case
    expected = optimum(X.tolist(), k, "whole")
    assert cost(X.tolist(), sizes_of(labels_of(whole_sizes(X, k))), "whole") == expected
    in_stretches = labels_of(whole_sizes(X, k, stretch=3))
    assert cost(X.tolist(), sizes_of(in_stretches), "whole") == expected


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9), st.integers(-100, 100))
def test_whole_cost_is_the_least_over_all_whole_centroids(values, pivot):
    distances = [pivot - v for v in values]
    found = whole_cost(sum(distances), sum(d * d for d in distances), len(values), 1 / len(values))
    assert found == min(sum((v - c) ** 2 for v in values) for c in range(-50, 51))
    assert found == group_cost(values, "whole")


@pytest.mark.parametrize("magnitude", [2**31, 2**40, 2**62])
def test_cut_integer_is_exact_where_doubles_are_not(magnitude):
    rng = np.random.default_rng(5)
    X = rng.integers(-magnitude, magnitude, (11, 2))
    X[2:7] %= 100  # doubles are exact among these
    for stretch in (1, 3, 1024):
        found = cost(X.tolist(), sizes_of(labels_of(whole_sizes(X, 3, stretch))), "whole")
        assert found == optimum(X.tolist(), 3, "whole")


def test_an_offset_or_a_far_neighbour_costs_no_digits():
    rng = np.random.default_rng(6)
    near = np.round(rng.normal(size=(12, 2)), 3)
    for rows in (near + 1e9, np.vstack([near[:6] * 1e-3, near[6:] * 1e-3 + 1e12])):
        found = float(cost(rows.tolist(), sizes_of(cut(rows, 3))))
        assert found == pytest.approx(float(optimum(rows.tolist(), 3)), rel=1e-9)


def test_equal_rows_cost_nothing_and_short_groups_win_ties():
    assert sizes_of(cut(np.ones((11, 2)), 3)) == [5, 3, 3]
    assert sizes_of(labels_of(whole_sizes(np.ones((11, 2), np.int64), 3))) == [5, 3, 3]
