"""What the check counts, against numpy."""

import numpy as np
import pytest

from shoal.kernels.groups.counts import count_and_compare
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


@pytest.mark.parametrize("few", [0, 10**9])
def test_a_group_without_records_and_a_label_out_of_range_count_as_none(few):
    values = np.zeros(4)
    assert count_and_compare(np.array([0, 2, 2, 0]), values, few)[0].tolist() == [2, 0, 2]
    assert count_and_compare(np.array([0, 1, -5, 0]), values, few)[0].min() == 0
    assert count_and_compare(np.array([0, 0, 0, 4]), values, few)[0].min() == 0


@pytest.mark.parametrize("few", [0, 10**9])
def test_a_number_that_equals_nothing_is_not_alike(few):
    labels = np.zeros(4, np.int64)
    assert count_and_compare(labels, np.array([0.0, -0.0, 0.0, 0.0]), few)[1]
    assert not count_and_compare(labels, np.array([1.0, np.nan, 1.0, 1.0]), few)[1]
