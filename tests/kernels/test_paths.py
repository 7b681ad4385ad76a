"""Paths against slow and obvious versions, also with ties: small whole numbers sum without rounding."""

import numpy as np
import pytest
from benchmarks.plain_orders import group_by_group, walk
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.orders import npn_order
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.sequence import paths

RULES = {"walk": paths.WALK, "nearest": paths.NEAREST, "cheapest": paths.CHEAPEST}


@st.composite
def tables(draw):
    n = draw(st.integers(4, 40))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    whole = draw(st.booleans())
    X = rng.integers(0, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    labels = np.unique(rng.integers(0, draw(st.integers(1, n)), n), return_inverse=True)[1]
    X.flags.writeable = False
    return X, labels, draw(st.integers(1, min(5, n - 1)))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tables())
def test_nearest_point_next(table):
    X, _, _ = table
    start = paths.farthest_from_centroid(X)
    assert npn_order(X).tolist() == walk(X, start, np.arange(len(X)))


@pytest.mark.parametrize("rule", RULES)
def test_group_by_group(rule):
    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(tables())
    def same(table):
        X, labels, m = table
        near = nearest(X, m)[0].astype(np.int64)  # as methods have it: one compiled version
        start = paths.farthest_from_centroid(X)
        path = paths.group_path(X, labels, near, start, RULES[rule], paths.LARGE)
        for lists in (near[:, :0].copy(), near):  # by the tree alone, and with lists of those near
            assert paths.group_path(X, labels, lists, start, RULES[rule], 2).tolist() == path.tolist()
        assert sorted(path) == list(range(len(X)))
        assert np.count_nonzero(np.diff(labels[path])) == labels.max()  # each group stands together
        if start == int(np.argmax(np.square(X - X.mean(0)).sum(1))):  # else rounding chose between equals
            assert path.tolist() == group_by_group(X, labels, rule)

    same()


def test_insertion_by_hand():
    # From 0 the farthest is 10. Nearest first: 9 (next to 10), then 1, 2. Cheapest: all add nothing, so in
    # row order; on a line the path is sorted either way. A record beyond the start turns back last.
    X = np.array([[0.0], [9.0], [2.0], [10.0], [1.0]])
    X.flags.writeable = False  # as methods get it: one compiled version
    near = nearest(X, 2)[0].astype(np.int64)
    for rule in (paths.NEAREST, paths.CHEAPEST):
        assert paths.group_path(X, np.zeros(5, np.int64), near, 0, rule, paths.LARGE).tolist() == [
            0,
            4,
            2,
            1,
            3,
        ]
    path = paths.group_path(X, np.array([0, 0, 1, 1, 1]), near, 0, paths.NEAREST, paths.LARGE)
    assert path.tolist() == [0, 1, 3, 2, 4]


def test_the_farthest_record_does_not_depend_on_an_offset():
    X = np.random.default_rng(0).integers(-100, 100, (50, 3)).astype(float)
    shifted = X + 1e9
    X.flags.writeable = shifted.flags.writeable = False
    assert paths.farthest_from_centroid(X) == paths.farthest_from_centroid(shifted)
