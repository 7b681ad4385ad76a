"""Partition against a slow and obvious reference, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.errors import CheckFailed
from shoal.partition import Partition


def exact(X, labels):
    """Group means (in order of first appearance) and SSE as fractions."""
    means, sse = [], Fraction(0)
    for g in dict.fromkeys(labels.tolist()):
        rows = [[Fraction(v) for v in row] for row in X[labels == g].tolist()]
        mean = [sum(column) / len(rows) for column in zip(*rows)]
        sse += sum((v - m) ** 2 for row in rows for v, m in zip(row, mean))
        means.append(mean)
    return means, sse


@settings(deadline=None)
@given(arrays(np.int64, st.integers(1, 30), elements=st.sampled_from([-(2**62), -3, 0, 1, 7, 2**62])))
def test_labels_are_renamed_in_order_of_first_appearance(given_labels):
    partition = Partition(given_labels)
    names = {old: new for new, old in enumerate(dict.fromkeys(given_labels.tolist()))}
    assert partition.labels.tolist() == [names[old] for old in given_labels.tolist()]
    assert partition.sizes.tolist() == [given_labels.tolist().count(old) for old in names]
    assert len(partition) == len(names)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_labels_of_any_whole_type(dtype):
    partition = Partition(np.array([5, 3, 5, 9, 3, 3], dtype))
    assert partition.labels.tolist() == [0, 1, 0, 2, 1, 1]
    assert partition.labels.dtype == np.int64
    assert partition.sizes.tolist() == [2, 3, 1]


def test_labels_and_sizes_cannot_be_changed():
    partition = Partition([0, 0, 1, 1])
    for array in (partition.labels, partition.sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_labels_must_be_whole_numbers_in_one_row():
    for labels in ([0.0, 1.0], [[0, 1]]):
        with pytest.raises(TypeError, match="whole number"):
            Partition(labels)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e15])
@pytest.mark.parametrize("d", [1, 3])
def test_means_and_sse_keep_their_digits_under_an_offset(offset, d):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, d)) + offset
    labels = rng.integers(0, 40, 200)
    means, sse = exact(X, labels)
    partition = Partition(labels)
    np.testing.assert_allclose(partition.means(X), np.array(means, float), rtol=4e-16, atol=1e-15)
    assert partition.sse(X) == pytest.approx(float(sse), rel=1e-13)


def test_sse_to_given_means():
    X = np.array([[0.0], [2.0], [10.0], [14.0]])
    assert Partition([0, 0, 1, 1]).sse(X, np.array([[0.0], [13.0]])) == 4 + 9 + 1


def test_sse_of_very_many_records_is_not_eaten_by_rounding():
    x = np.full((2_000_000, 1), 0.1)
    x[::2] = 0.3
    labels = np.arange(len(x)) // 2
    half = Fraction(0.3) - Fraction(0.1)
    assert Partition(labels).sse(x) == pytest.approx(float(half**2 / 2 * 1_000_000), rel=1e-13)


def test_check_names_what_is_wrong():
    partition = Partition([0, 0, 0, 1, 1])
    partition.check(2, 5)
    with pytest.raises(CheckFailed, match="6 records went in, 5 labels"):
        partition.check(2, 6)
    with pytest.raises(CheckFailed, match="1 groups have fewer than k=3"):
        partition.check(3, 5)
    with pytest.raises(CheckFailed, match="a group has 3 records, more than the 2"):
        partition.check(2, 5, 2)
