"""Numbers at the ends of their types are published without a lost digit."""

import numpy as np
import pyarrow as pa
import pytest

import shoal

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(("kind", "top"), [(np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)])
def test_weighted_means_of_whole_numbers_that_no_double_holds(kind, top):
    values = np.array([top - i for i in range(6)], kind)
    table = pa.table({"x": values, "w": np.ones(6)})
    release = shoal.microaggregate(table, 3, columns=["x"], weight="w")
    assert release.table["x"].to_pylist() == [top - 1] * 3 + [top - 4] * 3


def test_weighted_means_lose_no_digits_to_far_values():
    table = pa.table({"x": [0.125, 0.25, 0.375, -1e17, -1e17, -1e17], "w": [1.0, 2, 1, 1, 1, 1]})
    release = shoal.microaggregate(table, 3, columns=["x"], weight="w")
    assert release.table["x"].to_pylist() == [0.25] * 3 + [-1e17] * 3


def test_weighted_means_of_the_largest_doubles_are_finite():
    table = pa.table({"x": [1.7e308, 1.7e308, -1.7e308, -1.7e308], "w": [1e9, 2.0, 0.0, 1.0]})
    release = shoal.microaggregate(table, 2, columns=["x"], weight="w", contributors=1, contributor_share=1.0)
    assert release.table["x"].to_pylist() == pytest.approx([1.7e308] * 2 + [-1.7e308] * 2, rel=1e-12)


def test_totals_of_whole_numbers_beyond_int64_are_kept():
    values = [2**63 + v for v in (0, 1, 5, 9, 10, 12, 20)]
    table = pa.table({"x": pa.array(values, pa.uint64())})
    release = shoal.microaggregate(table, 2, preserve="totals")
    assert sum(release.table["x"].to_pylist()) == sum(values)
