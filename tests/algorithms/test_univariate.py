"""The exact optimum in one dimension, through the method's door."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from tests.sequence_reference import cost, optimum


def labels_by(key, x, k, **parameters):
    return run_method(get_method(key), np.asarray(x)[:, None], k, parameters=parameters).labels


def rounded(sums, sizes):
    """sums / sizes to the nearest whole number, half away from zero."""
    return np.sign(sums) * ((2 * np.abs(sums) + sizes) // (2 * sizes))


def whole_sse(x, labels):
    """SSE about the nearest whole centroids, exactly (the sums fit in 64 bits)."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    centroids = rounded(np.add.reduceat(x[order], starts), sizes[:, None] if x.ndim == 2 else sizes)
    return int(np.square(x - centroids[labels]).sum())


# --- a printed example ---------------------------------------------------------------------------------


def test_the_example_of_the_imhmi_paper():
    """Mortazavi 2020, section 3; the printed sequence lost one 6."""
    x = np.array([1, 2, 2, 3, 4, 4, 6, 6, 8, 10])
    assert whole_sse(x, labels_by("univariate_integer", x, 3)) == 13
    real = labels_by("univariate", x, 3)
    assert whole_sse(x, real) == 14
    rows = [[value] for value in x.tolist()]
    assert float(cost(rows, np.bincount(real).tolist())) == pytest.approx(12.33, abs=0.005)


# --- the optimum ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=12), st.sampled_from(["sse", "absolute", "range"]))
def test_least_cost_against_brute_force(values, kind):
    k = min(3, len(values) // 2)
    labels = labels_by("univariate", values, k, cost=kind)
    order = np.argsort(values, kind="stable")
    ordered = np.array(values)[order]
    sizes = [int((labels == g).sum()) for g in dict.fromkeys(labels[order].tolist())]
    best = float(optimum([[v] for v in ordered.tolist()], k, kind))
    assert float(cost([[v] for v in ordered.tolist()], sizes, kind)) == pytest.approx(
        best, rel=1e-9, abs=1e-200
    )


@numba.njit
def exact_optimum_of_three(v):
    """60 times the least SSE of groups of 3, 4 and 5 ascending whole numbers, without any rounding."""
    best = np.full(len(v) + 1, 2**62)
    best[0] = 0
    for end in range(3, len(v) + 1):
        for size in range(3, min(5, end) + 1):
            total = squares = 0
            for i in range(end - size, end):
                distance = v[i] - v[end - size]
                total += distance
                squares += distance * distance
            best[end] = min(best[end], best[end - size] + 60 * squares - 60 // size * total * total)
    return best[-1]


@pytest.mark.parametrize(("n", "unit"), [(300_000, 2.0**-22), (300_000, 1.0)])
def test_a_large_offset_costs_no_digits(n, unit):
    """Near 1e9 with spread near 1, many values between two doubles: against exact whole numbers."""
    steps = np.random.default_rng(1).integers(0, 2**23, n)
    x = 1e9 + steps * unit
    release = shoal.microaggregate(x, 3, method="univariate")
    best = Fraction(int(exact_optimum_of_three(np.sort(steps))), 60)
    mean = Fraction(int(steps.sum()), n)
    sst = sum((np.square(steps)).tolist()) - n * mean**2
    assert release.information_loss == pytest.approx(float(100 * best / sst), rel=1e-9)


def test_a_far_away_neighbour_costs_no_digits():
    x = np.array([1e-8, 2e-8, 4e-8, 5e-8, 9e-8, 1e8, 2e8, 4e8, 5e8, 1e8, 3e8])
    tiny, huge = x[:5], np.sort(x[5:])
    labels = labels_by("univariate", x, 2)
    for part, at in ((tiny, slice(0, 5)), (huge, 5 + np.argsort(x[5:], kind="stable"))):
        own = labels[at]
        sizes = [int((own == g).sum()) for g in dict.fromkeys(own.tolist())]
        rows = [[v] for v in part.tolist()]
        assert cost(rows, sizes) == optimum(rows, 2)


@pytest.mark.parametrize("magnitude", [10, 2**20, 2**23, 2**24, 2**25, 2**26, 2**40, 2**62, 2**63])
def test_whole_numbers_of_any_magnitude(magnitude):
    rng = np.random.default_rng(magnitude)
    for _ in range(10):
        x = rng.integers(-magnitude, magnitude, 11)
        rows = [[value] for value in np.sort(x).tolist()]
        labels = labels_by("univariate_integer", x, 3)[np.argsort(x, kind="stable")]
        sizes = [int((labels == g).sum()) for g in dict.fromkeys(labels.tolist())]
        assert cost(rows, sizes, "whole") == optimum(rows, 3, "whole")


def test_whole_numbers_beyond_the_doubles_keep_their_differences():
    near = np.array([0, 1, 2, 9, 10, 11, 30, 31, 33])
    for key in ("univariate", "univariate_integer"):
        assert np.array_equal(labels_by(key, near + 2**60, 3), labels_by(key, near, 3))


# --- ties ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=40), st.randoms(use_true_random=False))
@pytest.mark.parametrize("key", ["univariate", "univariate_integer"])
def test_the_order_of_the_records_does_not_matter(key, values, random):
    x = np.array(values)
    shuffled = x.copy()
    random.shuffle(shuffled)
    k = min(3, len(x) // 2)
    releases = [shoal.microaggregate(v.astype(float), k, method=key).table for v in (x, shuffled)]
    pairs = [sorted(zip(v, r.round(9))) for v, r in zip((x, shuffled), releases)]
    assert pairs[0] == pairs[1]


def test_of_equal_values_at_a_border_the_earlier_records_go_down():
    x = np.array([5.0, 5.0, 1.0, 5.0, 9.0, 5.0, 5.0])
    labels = labels_by("univariate", x, 3)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 1] or labels.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_minus_zero_is_zero():
    x = np.array([0.0, -0.0, 0.0, -0.0, 1.0, 1.0])
    assert labels_by("univariate", x, 2).tolist() == [0, 0, 1, 1, 2, 2]


# --- refusals ------------------------------------------------------------------------------------------


def test_only_whole_numbers_have_whole_centroids():
    with pytest.raises(InputError, match="whole numbers"):
        labels_by("univariate_integer", np.linspace(0, 1, 9), 3)
    x = np.array([3.0, 1.0, 2.0, 9.0, 8.0, 7.0])
    assert labels_by("univariate_integer", x, 3).tolist() == [0, 0, 0, 1, 1, 1]


def test_an_unknown_cost_is_refused():
    with pytest.raises(InputError, match="cost"):
        shoal.microaggregate(np.arange(9.0), 3, method="univariate", parameters={"cost": "sae"})
