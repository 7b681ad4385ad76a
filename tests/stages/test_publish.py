"""What groups publish, against plain Python with exact fractions. Quick: every flip is tried here."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.frame.column import Column
from shoal.grouping.partition import ColumnMoments, Partition
from shoal.stages.publish import centroids, has_whole_total, publish, round_half_away

LABELS = Partition([0, 0, 0, 1, 1, 1, 1, 2, 2])
GROUPS = [[0, 1, 2], [3, 4, 5, 6], [7, 8]]
WEIGHT = np.array([1.0, 2, 3, 0, 0, 0, 0, 5, 1])


def away(number):
    """Half away from zero, exactly."""
    number = Fraction(number)
    return int(abs(number) + Fraction(1, 2)) * (1 if number >= 0 else -1)


def mean(values, weights):
    values, weights = [Fraction(v) for v in values], [Fraction(w) for w in weights]
    weights = weights if sum(weights) else [Fraction(1)] * len(values)
    return sum(v * w for v, w in zip(values, weights)) / sum(weights)


def median(values, weights, lower):
    weights = weights if sum(weights) else [1] * len(values)
    pairs = sorted(zip(values, weights))
    total, reached = sum(weights), 0
    for j, (value, weight) in enumerate(pairs):
        reached += weight
        if 2 * reached > total or (2 * reached == total and lower):
            return Fraction(value)
        if 2 * reached == total:
            return (Fraction(value) + Fraction(pairs[j + 1][0])) / 2
    raise AssertionError


def trimmed(values, weights):
    cut = max(len(values) // 5, 1) if len(values) >= 3 else 0
    order = sorted(range(len(values)), key=lambda i: values[i])[cut : len(values) - cut]
    return mean([values[i] for i in order], [weights[i] for i in order])


whole = st.integers(-50, 50)
lists = st.lists(whole, min_size=9, max_size=9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(lists, st.sampled_from(["mean", "median", "trimmed"]), st.booleans(), st.sampled_from("if"))
def test_centroids_of_numbers(numbers, how, weighted, kind):
    column = Column(
        "a", {"i": "integer", "f": "continuous"}[kind], np.array(numbers, {"i": int, "f": float}[kind])
    )
    weight = WEIGHT if weighted else None
    found, empty = publish(column, LABELS, how, weight)[:2]
    assert empty is None
    weights = (WEIGHT if weighted else np.ones(9)).astype(int).tolist()
    for group, value in zip(GROUPS, found.tolist()):
        own, its = [numbers[i] for i in group], [weights[i] for i in group]
        if how == "median" and not any(its):
            its = [1] * len(own)
        expected = {
            "mean": lambda own=own, its=its: mean(own, its),
            "median": lambda own=own, its=its: median(own, its, lower=False),
            "trimmed": lambda own=own, its=its: trimmed(own, its),
        }[how]()
        assert value == pytest.approx(float(expected), abs=1e-9) if kind == "f" else value == away(expected)


def test_what_a_method_knows_is_used_only_for_plain_means_of_real_numbers():
    moments = ColumnMoments(np.array([10.0, 20.0, 30.0]), 0.0, 1.0)
    real = Column("a", "continuous", np.arange(9.0))
    assert publish(real, LABELS, "mean", moments=moments)[0].tolist() == [10, 20, 30]
    assert publish(real, LABELS, moments=moments)[0].tolist() == [10, 20, 30]
    assert publish(real, LABELS, "median", moments=moments)[0].tolist() == [1, 4.5, 7.5]
    assert publish(real, LABELS, "mean", np.ones(9), moments=moments)[0].tolist() == [1, 4.5, 7.5]
    assert publish(real, LABELS, "mean", preserve="totals", moments=moments)[0].tolist() == [1, 4.5, 7.5]
    numbers = Column("a", "integer", np.arange(9))
    assert publish(numbers, LABELS, "mean", moments=moments)[0].tolist() == [1, 5, 8]


def test_gaps_are_left_out_and_a_group_of_gaps_keeps_one():
    gaps = np.array([1, 0, 0, 1, 1, 1, 1, 0, 0], bool)
    column = Column("a", "continuous", np.arange(9.0), gaps)
    values, empty = publish(column, LABELS)[:2]
    assert values[[0, 2]].tolist() == [1.5, 7.5]
    assert empty.tolist() == [False, True, False]
    values, empty = publish(column, LABELS, weight=WEIGHT)[:2]
    assert values[[0, 2]].tolist() == [pytest.approx(1.6), pytest.approx((35 + 8) / 6)]
    none = publish(Column("a", "continuous", np.zeros(9), np.ones(9, bool)), LABELS)[1]
    assert none.all()
    few = Column("a", "continuous", np.arange(9.0), np.arange(9) == 0)
    assert publish(few, LABELS)[1] is None


def test_types_decide_the_usual_centroid():
    codes = np.array([0, 2, 2, 1, 1, 0, 2, 0, 1])
    assert publish(Column("a", "nominal", codes), LABELS)[0].tolist() == [2, 1, 0]
    assert publish(Column("a", "nominal", codes), LABELS, "mean")[0].tolist() == [2, 1, 0]
    assert publish(Column("a", "ordinal", codes), LABELS)[0].tolist() == [2, 1, 0]
    assert publish(Column("a", "ordinal", codes), LABELS, "mean")[0].tolist() == [1, 1, 1]
    assert publish(Column("a", "boolean", codes % 2), LABELS)[0].tolist() == [0, 0, 0]
    assert publish(Column("a", "date", codes), LABELS)[0].tolist() == [1, 1, 1]
    assert publish(Column("a", "integer", codes), LABELS, "mode")[0].tolist() == [2, 1, 0]
    assert publish(Column("a", "integer", codes.astype(float)), LABELS)[0].tolist() == [1, 1, 1]
    assert publish(Column("a", "integer", codes.astype(float)), LABELS, "median")[0].tolist() == [2, 1, 1]
    assert publish(Column("a", "nominal", codes), LABELS, weight=WEIGHT)[0].tolist() == [2, 1, 0]


def test_totals_are_kept_for_whole_numbers_only():
    numbers = np.array([0, 0, 1, 0, 0, 0, 1, 0, 1])
    for kind in (int, float):
        values = publish(Column("a", "integer", numbers.astype(kind)), LABELS, preserve="totals").values
        assert values.dtype == kind
        assert (values * LABELS.sizes).sum() == 3
        below = publish(Column("a", "integer", (numbers - 5).astype(kind)), LABELS, preserve="totals").values
        assert (below * LABELS.sizes).sum() == 3 - 45
    assert (centroids(numbers, LABELS) * LABELS.sizes).sum() == 2
    values = publish(Column("a", "continuous", numbers.astype(float)), LABELS, preserve="totals").values
    assert values.tolist() == pytest.approx([1 / 3, 1 / 4, 1 / 2])


def test_which_columns_have_a_total():
    numbers = {"i": np.arange(3), "f": np.arange(3.0)}
    kept = [("integer", "i"), ("integer", "f"), ("continuous", "i")]  # the last are decimals
    for kind in ("integer", "continuous", "date", "ordinal", "nominal", "boolean"):
        for stored, values in numbers.items():
            assert has_whole_total(Column("a", kind, values)) == ((kind, stored) in kept)


def test_rounding_half_away_from_zero():
    assert round_half_away(np.array([0.5, -0.5, 1.5, -1.5, 0.49, 2.0])).tolist() == [1, -1, 2, -2, 0, 2]
    assert round_half_away(np.array([3, -4])).tolist() == [3, -4]
    pairs = Partition([0, 0, 1, 1, 2, 2, 3, 3])
    assert centroids(np.array([0, 1, -1, 0, -2, -1, 1, 2]), pairs).tolist() == [1, -1, -2, 2]
    assert centroids(np.array([0, 1, 2, 3, 4, 5, 6, 8], np.uint64), pairs).tolist() == [1, 3, 5, 7]
    thirds = Partition([0, 0, 0, 1, 1, 1])
    assert centroids(np.array([-1, -1, -2, -1, -2, -2]), thirds).tolist() == [-1, -2]


def test_sums_at_the_border_of_sixty_four_bits():
    quads = Partition([0] * 4 + [1] * 4)
    assert centroids(np.array([2**62] * 4 + [0] * 4), quads).tolist() == [2**62, 0]
    assert centroids(np.array([2**63] * 4 + [0] * 4, np.uint64), quads).tolist() == [2**63, 0]
    far = np.array([-(2**63)] * 4 + [2**63 - 1, 2**63 - 1, 2**63 - 2, 2**63 - 2])
    assert centroids(far, quads).tolist() == [-(2**63), 2**63 - 1]
    low = np.array([2**63 - 1] * 4 + [-(2**63), -(2**63), -(2**63) + 1, -(2**63) + 1])
    assert centroids(low, quads).tolist() == [2**63 - 1, -(2**63)]


def test_tiny_huge_and_far_values():
    pairs = Partition([0, 0, 1, 1])
    tiny = 5e-324
    assert centroids(np.array([tiny, 3 * tiny, tiny, tiny]), pairs).tolist() == [2 * tiny, tiny]
    assert centroids(np.array([-1.7e308, -1.7e308, 0.0, 0.0]), pairs).tolist() == [-1.7e308, 0]
    assert centroids(np.array([1.7e308, -1.7e308, 1.0, 3.0]), pairs).tolist() == [0, 2]
    ones = np.ones(4)
    for big in (1e200, 1.7e308):
        column = Column("a", "continuous", np.array([big, -big, big, big]))
        assert publish(column, pairs, "mean", ones)[0].tolist() == pytest.approx([0, big])
        assert publish(column, pairs, "median", ones)[0].tolist() == pytest.approx([0, big])
    small = Column("a", "continuous", np.array([tiny, 3 * tiny, tiny, tiny]))
    assert publish(small, pairs, "mean", ones)[0].tolist() == [2 * tiny, tiny]
    whole = Column("a", "integer", np.array([2**53 + 1, 2**53 + 3, -(2**60) - 1, -(2**60) - 1]))
    assert publish(whole, pairs, "mean", ones)[0].tolist() == [2**53 + 2, -(2**60) - 1]
    assert publish(whole, pairs, "median", ones)[0].tolist() == [2**53 + 2, -(2**60) - 1]
    for far in (1, 2, 2**52, 2**53 - 1, 2**53 + 1, 2**60, 2**63 - 1):
        ends = Column("a", "integer", np.array([-far, 1 - far, far - 1, far]))
        assert publish(ends, pairs, "mean", ones)[0].tolist() == [-far, far]
    for kind, last in (("mean", 1e300), ("weighted", 1e150)):  # up to here tiny values keep their digits
        for sign in (1, -1):
            column = Column("a", "continuous", np.array([tiny, 3 * tiny, sign * last, sign * last]))
            found = publish(column, pairs, "mean", ones if kind == "weighted" else None).values
            assert found.tolist() == [2 * tiny, sign * last]
    for near in (1, 2048):  # what a difference of 64 bits can be, rounded to a double
        ends = Column("a", "integer", np.array([-(2**63), 2**63 - near, 2**63 - 1, 2**63 - 1]))
        assert publish(ends, pairs, "mean", np.array([0.0, 1, 1, 1]))[0].tolist() == [2**63 - near, 2**63 - 1]
    top = Column("a", "integer", np.array([2**63 - 1] * 4))
    assert publish(top, pairs, "mean", ones)[0].tolist() == [2**63 - 1] * 2
    unsigned = Column("a", "integer", np.array([2**64 - 1, 2**64 - 1, 0, 2], np.uint64))
    assert publish(unsigned, pairs, "mean", ones)[0].tolist() == [2**64 - 1, 1]
    heavy = Column("a", "continuous", np.array([0.0, 4.0, 1.0, 1.0]))
    assert publish(heavy, pairs, "mean", np.array([1e308, 1e308, 1.0, 1.0]))[0].tolist() == [2, 1]


def test_medians_of_halves_and_negatives():
    pairs = Partition([0, 0, 1, 1])
    column = Column("a", "integer", np.array([-2, -1, 1, 2]))
    assert publish(column, pairs, "median")[0].tolist() == [-2, 2]
    column = Column("a", "integer", np.array([-1, 2, -2, 2]))
    assert publish(column, pairs, "median")[0].tolist() == [1, 0]
    codes = Column("a", "ordinal", np.array([0, 3, 1, 2]))
    assert publish(codes, pairs, "median")[0].tolist() == [0, 1]
    for slip in (-2e-12, 2e-12):  # the most that still counts as rounding
        halves = np.array([1.0 + slip, 1.0 - slip, 1, 1])
        column = Column("a", "continuous", np.array([1.0, 2.0, 5.0, 9.0]))
        assert publish(column, pairs, "median", halves)[0].tolist() == [1.5, 7]
    sevens = Partition([0] * 7)
    last = Column("a", "continuous", np.arange(7.0))
    assert publish(last, sevens, "median", np.array([0, 0, 0, 0, 0, 0, 1.0]))[0].tolist() == [6]


@pytest.mark.parametrize(("kind", "exact"), [(np.float64, True), (np.float32, False)])
def test_means_that_a_method_left_are_published_in_the_type_of_the_column(kind, exact):
    """Doubles are the means to the last digit, as they are by record; others are rounded."""
    column = Column("x", "continuous", np.array([0.1, 0.2, 0.4], kind))
    means = np.array([0.7 / 3])
    found = publish(column, Partition([0, 0, 0]), moments=ColumnMoments(means, 0.0, 1.0, means[[0, 0, 0]]))
    assert (found.values.dtype, found.exact, found.by_record is not None) == (kind, exact, exact)
    assert found.values[0] == kind(0.7 / 3)


@pytest.mark.parametrize(
    ("type_", "kind", "value", "at_hand"),
    [
        ("integer", np.int64, 2, True),
        ("integer", np.int32, 2, False),
        ("integer", np.float64, 2.0, False),
        ("continuous", np.float64, 7 / 3, False),
    ],
)
def test_whole_means_that_a_method_left_are_published_where_whole_numbers_are(type_, kind, value, at_hand):
    moments = ColumnMoments(np.array([7 / 3]), 0.0, 1.0, np.array([2, 2, 2]), np.array([2]))
    column = Column("x", type_, np.array([1, 2, 4], kind))
    found = publish(column, Partition([0, 0, 0]), moments=moments)
    assert (found.values.dtype, found.values[0], found.by_record is not None) == (kind, value, at_hand)
