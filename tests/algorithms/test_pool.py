"""The pool of free records finds what a full scan finds, whatever has been taken before."""

import math

import numpy as np
import pytest
from benchmarks import plain
from benchmarks.plain_fused import FUSED
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms import mdav
from shoal.algorithms._pool import Pool
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.neighbours.pool import LEAF


def test_searches_equal_a_full_scan_while_records_leave():
    rng = np.random.default_rng(0)
    for X in (
        rng.normal(size=(700, 3)),
        rng.integers(0, 4, (500, 3)).astype(float),
        rng.normal(size=(90, 1)),
    ):
        pool = Pool(X)
        while len(pool) > 2:
            free = pool.records()
            assert len(free) == len(pool)
            assert all(r in pool for r in free)
            assert np.allclose(pool.centroid(), X[free].mean(0), atol=1e-13)
            assert pool.farthest_from_centroid() == plain.farthest(X, free, X[free].mean(0))
            r = int(rng.choice(free))
            assert pool.reach(r) >= plain.squares(X[free], X[r]).max()
            count = int(rng.integers(1, min(4 * LEAF, len(free))))
            assert pool.nearest(r, count).tolist() == plain.nearest(X, free, r, count)
            near, square = pool.nearest_to(r)
            assert near == plain.nearest(X, free, r, 1)[0]
            assert np.isclose(square, np.square(X[near] - X[r]).sum())
            far, square = pool.farthest_from(r)
            assert far == plain.farthest(X, free, X[r])
            assert np.isclose(square, np.square(X[far] - X[r]).sum())
            pool.take(rng.choice(free, size=min(int(rng.integers(1, 60)), len(free)), replace=False))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 150), st.integers(1, 9), st.integers(0, 2**32), st.booleans())
def test_groups_around_a_record(n, k, seed, whole):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, 2)).astype(float) if whole else rng.normal(size=(n, 2))
    k = min(k, n)
    r = int(rng.integers(n))
    for take, expected in ((Pool.take_around, plain.knn_group), (Pool.gather, plain.gathered_group)):
        pool = Pool(X)
        take(pool, r, k)
        assert np.flatnonzero(pool.labels == 0).tolist() == sorted(expected(X, np.arange(n), r, k))
        assert len(pool) == n - k


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(4, 200), st.integers(2, 9), st.integers(1, 4), st.integers(0, 2**32), st.booleans())
def test_few_records_are_grouped_as_many_are(n, k, d, seed, whole):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d)) / 3 if whole else rng.normal(size=(n, d)) + 1e3
    k = min(k, n // 2)
    pool = Pool(X)
    pool.peel(k, 2 * k, pairs=True)
    if len(pool) >= k:
        pool.take_rest()
    assert np.array_equal(mdav.few(X, k), pool.finish())


def test_records_left_over_join_the_nearest_centroid():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [5.4], [5.6], [5.5]])
    pool = Pool(X)
    pool.take([0, 1])
    pool.take([2, 3])
    assert pool.finish().tolist() == [0, 0, 1, 1, 0, 1, 0]  # 5.5 is as near to both: the first group


def test_one_more_record_for_the_last_group():
    pool = Pool(np.arange(6.0)[:, None])
    pool.take([0, 1])
    pool.take([4, 5])
    pool.add(3)
    assert pool.labels.tolist() == [0, 0, -1, 1, 1, 1]
    assert pool.groups == 2
    assert pool.nearest_to(3) == (2, 1.0)
    pool.add(2)
    assert pool.nearest_to(3) == (-1, np.inf)


def test_the_centroid_stays_exact_whatever_has_left():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 3)) * [1.0, 1e6, 1e-3] + [1e9, 0.0, 1.0]
    pool = Pool(X)
    for group in np.split(rng.permutation(4000)[:3900], 300):
        pool.take(group)
    free = X[pool.records()]
    exact = [math.fsum(column) / 100 for column in free.T]
    assert np.abs(pool.centroid() / exact - 1).max() <= 2**-52


REPORTING = ["mdav", "mdav1", "mdav2", "mdav_generic", "vmdav", "cbfs", "centroid", "tfrp1", "tfrp2"]


@pytest.mark.parametrize("key", [*REPORTING, "pairwise_systematic", "multi_dsort", "diameter", "md", "dba1"])
def test_classic_methods_report_their_progress(key):
    X = np.random.default_rng(4).normal(size=(1300, 2))
    seen = []
    run_method(get_method(key), X, 5, progress=seen.append)
    assert len(seen) >= 2
    assert seen == sorted(seen)
    assert seen[0] > 0
    assert seen[-1] <= 1


@pytest.mark.parametrize("key", sorted(FUSED))
def test_the_plain_loops_that_speed_is_measured_against(key):
    """Fused loops and methods agree: ties, equal rows, one column, 500 columns, more than one layout."""
    rng = np.random.default_rng(6)
    for X in (
        rng.integers(0, 3, (90, 2)).astype(float),
        np.repeat(rng.normal(size=(12, 3)), 9, axis=0),
        rng.normal(size=(150, 1)),
        rng.normal(size=(60, 500)),
        rng.standard_t(3, size=(2500, 4)),
    ):
        for k in (2, 5):
            for rows in (2 * k, 3 * k + 1, len(X)):
                labels = FUSED[key](np.ascontiguousarray(X[:rows]), k)
                expected = Partition(labels).labels.tolist()
                assert run_method(get_method(key), X[:rows], k).labels.tolist() == expected
