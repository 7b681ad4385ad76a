"""What the check counts, against numpy."""

import numpy as np
import pytest

from shoal.kernels.groups.counts import count_and_compare
from shoal.kernels.runtime.jit import WORTH_COMPILING
from tests.compiler import COMPILED

TYPES = [np.float64, np.float32, np.int64, np.uint64, np.int8, np.bool_]  # for each, a kernel is compiled


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize("dtype", TYPES if COMPILED else TYPES[::4])
def test_counts_and_finds_the_one_value_that_differs(few, dtype):
    rng = np.random.default_rng(1)
    groups = 20_000  # two piles
    labels = rng.permutation(np.arange(60_000) % (groups - 1) + np.arange(60_000) // 59_999)
    published = rng.integers(0, 2**62, groups).astype(dtype)
    values = published[labels]
    sizes, alike = count_and_compare(labels, values, few)
    assert alike
    assert np.array_equal(sizes, np.bincount(labels))
    for row in (0, 29_999, 30_000, 59_999):
        changed = values.copy()
        changed[row] = not changed[row] if dtype is np.bool_ else changed[row] + changed.dtype.type(1)
        changed[row] = np.nextafter(values[row], dtype(0)) if changed.dtype.kind == "f" else changed[row]
        assert not count_and_compare(labels, changed, few)[1]


@pytest.mark.parametrize("times", [1, WORTH_COMPILING])
@pytest.mark.parametrize("few", [0, 10**9])
def test_a_group_without_records_and_a_label_out_of_range_count_as_none(few, times):
    values = np.zeros(4 * times)
    assert count_and_compare(np.tile([0, 2, 2, 0], times), values, few)[0].tolist() == [
        2 * times,
        0,
        2 * times,
    ]
    assert count_and_compare(np.tile([0, 1, -5, 0], times), values, few)[0].min() == 0
    assert count_and_compare(np.tile([0, 0, 0, 4 * times], times), values, few)[0].min() == 0
    assert count_and_compare(np.empty(0, np.int64), np.empty(0), few)[0].min() == 0


@pytest.mark.parametrize("times", [1, WORTH_COMPILING])
@pytest.mark.parametrize("few", [0, 10**9])
def test_a_number_that_equals_nothing_is_not_alike(few, times):
    labels = np.zeros(4 * times, np.int64)
    assert count_and_compare(labels, np.tile([0.0, -0.0, 0.0, 0.0], times), few)[1]
    assert not count_and_compare(labels, np.tile([1.0, np.nan, 1.0, 1.0], times), few)[1]
    assert not count_and_compare(labels, np.append(np.ones(4 * times - 1), 2.0), few)[1]
