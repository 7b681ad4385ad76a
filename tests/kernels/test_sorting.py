"""The sort of many numbers against numpy's stable sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.kernels.sequence import sorting
from tests.compiler import COMPILED


def same_as_numpy(x, few=0):
    expected = np.argsort(x, kind="stable")
    if x.dtype.kind == "i":
        values, order = sorting.sort_whole(x, few)
        wanted = [float(int(value) - int(x.min())) for value in x[expected]]
    else:
        values, order = sorting.sort(x, few)
        wanted = x[expected]
        assert np.array_equal(np.signbit(values), np.signbit(wanted))
    assert np.array_equal(order, expected)
    assert np.array_equal(values, wanted)


finite = st.floats(allow_nan=False, allow_infinity=False)
near_one = st.integers(0, 40).map(lambda i: 1 + i * 2.0**-52)


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 70), elements=st.one_of(finite, near_one, st.just(-0.0))))
def test_doubles(x):
    same_as_numpy(x)


@settings(deadline=None)
@given(arrays(np.int64, st.integers(1, 70), elements=st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers(x):
    same_as_numpy(x)


@pytest.mark.parametrize("n", [5000, 150_000] if COMPILED else [1000])
def test_many_values_of_every_shape(n):
    rng = np.random.default_rng(n)
    same_as_numpy(rng.normal(size=n))
    same_as_numpy(np.exp(5 * rng.normal(size=n)))
    same_as_numpy(rng.integers(-50, 50, n))
    same_as_numpy(rng.normal(size=n), few=10 * n)
    same_as_numpy(np.exp(20 * rng.normal(size=n)) * rng.choice([-1, 0, 1], n))
    same_as_numpy(rng.uniform(-1.7e308, 0, n) * rng.choice([-1, 1], n))  # distances pass the largest double
    same_as_numpy(rng.integers(-9, 9, n) * 5e-324)  # no division tells these apart
    same_as_numpy(np.r_[-5.0, 1e9 + rng.normal(size=n - 1)])
    same_as_numpy(np.r_[-5.0, 1e9 + rng.integers(0, 60, n - 1) + rng.integers(0, 9, n - 1) * 2.0**-22])
    same_as_numpy(np.r_[np.zeros(n - 200), 1e-9 * rng.normal(size=199), 1.0])  # one bucket has nearly all
    same_as_numpy(np.repeat([0.0, 1.0], n // 2) + 1e-12 * np.exp(40 * rng.random(2 * (n // 2))))
    same_as_numpy(np.zeros(n))
    same_as_numpy(rng.integers(-(2**63), 2**63 - 1, n))
    same_as_numpy(rng.integers(-3, 3, n) * 2**60 + rng.integers(-3, 3, n))


@pytest.mark.skipif(not COMPILED, reason="slow without the compiler")
def test_large_buckets_are_dealt_again():
    rng = np.random.default_rng(1)
    near = [place + 1e-6 * rng.normal(size=200_000) for place in (1.0, 2.0, 3.0)]
    same_as_numpy(rng.permutation(np.r_[0.0, 1e6, *near, np.full(200_000, 2.5)]))


def test_read_only_input():
    x = np.array([3.0, 1.0, 2.0])
    x.flags.writeable = False
    same_as_numpy(x)
