"""Small tables are summed by numpy, larger ones by kernels: to the last bit alike."""

import numpy as np
import pytest

from shoal.kernels.groups import sums
from shoal.kernels.runtime.jit import WORTH_COMPILING


@pytest.mark.parametrize("n", [1, 7, WORTH_COMPILING])
@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_a_small_table_has_the_sums_of_the_kernels(n, shift):
    rng = np.random.default_rng(n)
    X = np.exp(3 * rng.normal(size=(n, 3))) + shift
    given = rng.integers(-5, 5 + n // 4, n)
    low, span = int(given.min()), int(np.ptp(given)) + 1
    labels, sizes = sums.relabel(given, low, span)
    assert all(map(np.array_equal, (labels, sizes), sums._relabel(given, low, span)))
    assert labels.dtype == sizes.dtype == np.int64
    parts = sums.pivot_and_shift(X, labels, sizes)
    assert np.array_equal(parts, sums._pivot_and_shift(X, labels, sizes))
    assert sums.squared_errors(X, labels, parts) == sums._squared_errors(X, labels, parts)
    for first, last in ((0, n), (n // 3, n), (0, 0)):
        centre = sums.sums_from_first(first, last, X)
        assert np.array_equal(centre, sums._sums_from_first(first, last, X))
        about = first, last, X, centre / n
        assert sums.squares_about(*about) == sums._squares_about(*about)
