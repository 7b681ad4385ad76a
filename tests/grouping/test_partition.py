"""Partition against a slow and obvious reference, in exact fractions."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from benchmarks._published import count_partitions
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.errors import CheckFailed
from shoal.grouping.partition import Partition, Tuning
from tests.compiler import COMPILED


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
    pairs = 1_000_000 if COMPILED else 50_000
    x = np.full((2 * pairs, 1), 0.1)
    x[::2] = 0.3
    labels = np.arange(len(x)) // 2
    half = Fraction(0.3) - Fraction(0.1)
    assert Partition(labels).sse(x) == pytest.approx(float(half**2 / 2 * pairs), rel=1e-13)


def test_check_names_what_is_wrong():
    partition = Partition([0, 0, 0, 1, 1])
    partition.check(2, 5)
    with pytest.raises(CheckFailed, match="6 records went in, 5 labels"):
        partition.check(2, 6)
    with pytest.raises(CheckFailed, match="1 groups have fewer than k=3"):
        partition.check(3, 5)
    with pytest.raises(CheckFailed, match="a group has 3 records, more than the 2"):
        partition.check(2, 5, 2)


WAYS = pytest.mark.parametrize(
    "tuning", [Tuning(0, 0, 37), Tuning(10**9, 10**9)], ids=["many records", "few records"]
)


@WAYS
def test_a_partition_in_order_is_the_same_partition(tuning):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2)) + 1e6
    labels = Partition(rng.integers(0, 9, 60)).labels
    order = np.argsort(labels, kind="stable").astype(np.uint32)
    starts = np.r_[0, np.cumsum(np.bincount(labels))]
    plain, ordered = Partition(labels, tuning), Partition.in_order(order, starts, tuning=tuning)
    assert np.array_equal(ordered.labels, plain.labels)
    assert np.array_equal(ordered.sizes, plain.sizes)
    means, sse = ordered.means_and_sse(X)
    np.testing.assert_allclose(means, plain.means(X), rtol=1e-15)
    assert sse == pytest.approx(plain.sse(X), rel=1e-13)
    assert np.array_equal(ordered.means(X), means)
    assert ordered.moments is None
    moments = Partition.in_order(order, starts, X[order, 0], tuning).moments
    assert np.array_equal(moments.means, means[:, 0])
    assert moments.sse == pytest.approx(plain.sse(X[:, :1]), rel=1e-13)
    for partition in (plain, ordered):
        for published in (means[:, 0], np.arange(len(plain)), np.arange(len(plain), dtype=np.float32)):
            assert np.array_equal(partition.spread(published), published[plain.labels])


@WAYS
@pytest.mark.parametrize("offset", [0.0, -1e9])
def test_a_partition_of_sorted_values_has_the_moments_of_its_column(tuning, offset):
    x = np.random.default_rng(6).exponential(size=1000) + offset
    order = np.argsort(x).astype(np.uint32)
    starts = np.r_[np.arange(0, 1000, 3)[:-1], 1000]
    partition = Partition.in_order(order, starts, x[order], tuning)
    labels = np.empty(1000, np.int64)
    labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    assert np.array_equal(partition.labels, labels)
    moments = partition.moments
    assert moments.sse == pytest.approx(Partition(labels).sse(x[:, None]), rel=1e-12)
    assert moments.sst == pytest.approx(Partition(np.zeros(1000, int)).sse(x[:, None]), rel=1e-12)
    assert (moments.by_record is not None) == (tuning.many_groups == 0)
    if moments.by_record is not None:
        assert np.array_equal(moments.by_record, moments.means[labels])
    for published in (np.arange(len(partition), dtype=np.float64), moments.means, moments.means):
        spread = partition.spread(published)
        assert np.array_equal(spread, published[labels])
        spread[:] = 0  # the caller's array: the partition stays as it is


@WAYS
def test_nothing_of_a_partition_can_be_changed(tuning):
    order, starts = np.arange(6, dtype=np.uint32), np.array([0, 3, 6])
    partition = Partition.in_order(order, starts, np.arange(6.0), tuning)
    moments = partition.moments
    for array in (partition.labels, partition.sizes, moments.means):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for name in ("labels", "sizes", "moments", "another"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(partition, name, None)
    copied = pickle.loads(pickle.dumps(partition))
    assert np.array_equal(copied.labels, partition.labels)


@pytest.mark.parametrize("kind", [bool, np.int16, object, "datetime64[D]", "U3"])
def test_whatever_a_group_publishes_is_spread(kind):
    published = np.array([0, 1], int).astype(kind)
    spread = Partition([0, 1, 1, 0]).spread(published)
    assert spread.dtype == published.dtype
    assert spread.tolist() == published[[0, 1, 1, 0]].tolist()


def test_total_squares_are_those_of_one_group():
    X = np.random.default_rng(5).normal(size=(3000, 2)) + 1e9
    partition = Partition(np.zeros(3000, np.int64))
    assert partition.sst(X) == pytest.approx(partition.sse(X), rel=1e-13)


# Laszlo and Mukherjee 2005, Table 11
@pytest.mark.parametrize(
    ("n", "printed"),
    [
        (10, ("2226", "336", "126", "1")),
        (15, ("10461451", "981981", "137566", "1")),
        (20, ("182285304201", "13519012221", "790940436", "92378")),
        (50, ("1.425e+43", "4.529e+41", "3.429e+39", "4.245e+29")),
        (100, ("7.697e+108", "4.425e+107", "2.900e+104", "2.066e+87")),
        (200, ("1.163e+263", "8.639e+263", "3.621e+259", "1.094e+230")),
    ],
)
def test_printed_numbers_of_partitions(n, printed):
    for k, figure in zip((3, 4, 5, 10), printed):
        count = count_partitions(n, k)
        assert (f"{count:.3e}" if "e" in figure else str(count)) == figure


def test_number_of_partitions_by_listing_them():
    def partitions(n):
        """Group sizes of all set partitions of n records."""
        found = [()]
        for _ in range(n):
            found = [
                (*sizes[:g], sizes[g] + 1, *sizes[g + 1 :]) if g < len(sizes) else (*sizes, 1)
                for sizes in found
                for g in range(len(sizes) + 1)
            ]
        return found

    for n in range(10):
        for k in (1, 2, 3, 4):
            allowed = [sizes for sizes in partitions(n) if all(k <= size < 2 * k for size in sizes)]
            assert count_partitions(n, k) == len(allowed)


def test_groups_in_another_order_than_they_appear():
    X = np.array([[1.0], [3.0], [10.0], [30.0]])
    partition = Partition.in_order(np.array([2, 3, 0, 1]), np.array([0, 2, 4]))
    assert partition.means(X).ravel().tolist() == [20, 2]
    assert partition.labels.tolist() == [1, 1, 0, 0]


def test_unsigned_labels_however_large():
    for kind, high in ((np.uint8, 255), (np.uint64, 2**63), (np.uint64, 2**64 - 1)):
        for low in (0, high - 2):
            partition = Partition(np.array([high, low, high, high - 1], kind))
            assert partition.labels.tolist() == [0, 1, 0, 2]
            assert partition.sizes.tolist() == [2, 1, 1]


def test_a_group_may_have_just_as_many_as_promised():
    Partition([0, 0, 0]).check(3, 3, 3)
    with pytest.raises(CheckFailed, match="more than the 2"):
        Partition([0, 0, 0]).check(2, 3, 2)
