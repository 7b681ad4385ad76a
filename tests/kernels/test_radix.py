"""The radix sort against numpy's stable sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.kernels.sequence import radix
from tests.compiler import COMPILED


def same_as_numpy(x):
    values, order = radix.sort(x)
    expected = np.argsort(x, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(values, x[expected])


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
    same_as_numpy(np.r_[-5.0, 1e9 + rng.normal(size=n - 1)])  # one long run of equal leading bits
    same_as_numpy(np.r_[-5.0, 1e9 + rng.integers(0, 60, n - 1) + rng.integers(0, 9, n - 1) * 2.0**-22])
    same_as_numpy(np.zeros(n))
    same_as_numpy(rng.integers(-(2**63), 2**63 - 1, n))


def test_read_only_input():
    x = np.array([3.0, 1.0, 2.0])
    x.flags.writeable = False
    same_as_numpy(x)
