"""Every method gives the very partition of its plain numpy version (benchmarks/plain.py)."""

import numpy as np
import pytest
from benchmarks.plain import PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method

# Where two moves of equal worth differ only by rounding, IGD's plain version may take the other one.
TIES_BY_ROUNDING = {"igd"}


def partitions(key, X, k):
    fast = run_method(get_method(key), X, k)
    return fast.labels.tolist(), Partition(PLAIN[key](X, k)).labels.tolist()


@st.composite
def tables(draw):
    """Random reals, or small whole numbers: many equal distances and rows, and sums without rounding."""
    n = draw(st.integers(4, 60))
    k = draw(st.integers(2, min(7, n // 2)))
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    largest = draw(st.sampled_from([None, 1, 3, 20]))
    X = rng.normal(size=(n, d)) if largest is None else rng.integers(0, largest + 1, (n, d)).astype(float)
    return X, k, largest is not None


@pytest.mark.parametrize("key", sorted(PLAIN))
def test_small_tables(key):
    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(tables())
    def same(table):
        X, k, ties = table
        if not (ties and key in TIES_BY_ROUNDING):
            fast, plain = partitions(key, X, k)
            assert fast == plain

    same()


@pytest.mark.parametrize("key", sorted(set(PLAIN) - {"dba1", "dba2", "diameter", "md", "igd"}))
def test_many_blocks(key):
    X = np.random.default_rng(1).standard_t(3, size=(400, 6))
    fast, plain = partitions(key, X, 4)
    assert fast == plain


@pytest.mark.parametrize("key", ["dba1", "dba2", "diameter", "md", "igd"])
def test_several_blocks(key):
    X = np.random.default_rng(2).standard_t(3, size=(200, 6))
    fast, plain = partitions(key, X, 3)
    assert fast == plain


@pytest.mark.parametrize("key", sorted(PLAIN))
@pytest.mark.parametrize("groups", [2, 3])
def test_equal_rows_and_constant_columns(key, groups):
    for X in (np.zeros((groups * 5, 3)), np.repeat(np.eye(groups), 5, axis=0)):
        assert set(run_method(get_method(key), X, 5).sizes) == {5}
        fast, plain = partitions(key, X, 5)
        assert fast == plain


@pytest.mark.parametrize("key", sorted(PLAIN))
def test_rows_shifted_by_a_constant_are_grouped_alike(key):
    X = np.random.default_rng(3).integers(-50, 50, size=(60, 3)).astype(float)
    X += np.random.default_rng(4).normal(size=X.shape).round(3)
    method = get_method(key)
    assert run_method(method, X, 3).labels.tolist() == run_method(method, X + 1024.0, 3).labels.tolist()
