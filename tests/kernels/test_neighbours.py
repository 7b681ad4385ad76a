"""Neighbour lists against sorting all distances."""

import numpy as np
import pytest

from shoal.kernels.neighbours.lists import inside, nearest
from tests.compiler import COMPILED


def plain(X, m):
    D = np.square(X[:, None] - X[None]).sum(2)
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :m]
    return order, np.take_along_axis(D, order, 1)


WAYS = pytest.mark.parametrize("few", [0, 10**9], ids=["tree", "sorted"])
#: Records that `build_at_once` needs: one for each subtree.
LEAST = 16


@WAYS
@pytest.mark.parametrize("d", [1, 3, 12])
@pytest.mark.parametrize("n", [2, 24, 25, 400])
def test_nearest_equals_sorting(n, d, few):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    X[n // 2 :] = np.round(X[n // 2 :])  # ties, and duplicates in one column
    ids, squares = nearest(X, 9, few=few)
    expected, distances = plain(X, min(9, n - 1))
    assert squares == pytest.approx(distances)
    assert (ids == expected).all()


@WAYS
def test_nearest_among_the_rows_of_another_table(few):
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 9, (60, 2)).astype(float), rng.integers(0, 9, (40, 2)).astype(float)
    squares = np.square(X[:, None] - Y[None]).sum(2)
    expected = np.argsort(squares, axis=1, kind="stable")[:, :5]
    ids, found = nearest(X, 5, few=few, among=Y)
    assert (ids == expected).all()
    assert (found == np.take_along_axis(squares, expected, 1)).all()
    assert nearest(X, 99, few=few, among=Y)[0].shape == (60, 40)


@pytest.mark.parametrize("n", [LEAST, 33, 700, 2500])
def test_the_tree_of_several_threads_finds_the_same(n):
    """With some slack the outcome depends on the tree itself: both must be cut alike."""
    rng = np.random.default_rng(n)
    X = np.concatenate([rng.normal(size=(n - n // 4, 3)), rng.integers(0, 3, (n // 4, 3)) / 3])
    for slack in (1.0, 4.0) if n > 64 * LEAST else (1.0,):
        ids, squares = nearest(X, 7, None, slack, few=0)
        others, distances = nearest(X, 7, None, slack, few=0, many=LEAST)
        assert np.array_equal(ids, others)
        assert np.array_equal(squares, distances)


@pytest.mark.parametrize("d", [1, 4])
def test_the_tree_and_the_sorting_agree_to_the_last_digit(d):
    rng = np.random.default_rng(d)
    X = np.concatenate([rng.normal(size=(150, d)), rng.integers(0, 3, (50, d)) / 3])
    ids, squares = nearest(X, 7)
    others, distances = nearest(X, 7, few=0)
    assert ids.dtype == others.dtype
    assert np.array_equal(ids, others)
    assert np.array_equal(squares, distances)


@WAYS
def test_all_records_alike_give_the_lowest_others(few):
    ids, squares = nearest(np.zeros((100, 2)), 3, few=few)
    assert (squares == 0).all()
    assert (ids[5] == [0, 1, 2]).all()
    assert (ids[1] == [0, 2, 3]).all()


def test_threads_change_nothing():
    X = np.random.default_rng(0).normal(size=(12_000 if COMPILED else 2000, 2))
    assert (nearest(X, 4, threads=1)[0] == nearest(X, 4, threads=3)[0]).all()


def test_lists_of_a_block_hold_its_own_records_only():
    near = np.array([[1, 2], [0, 3], [3, 0], [2, 1], [0, 1]], np.int32)
    place = np.array([0, 1, 0, 1, 0])  # of the blocks 0 and 1, 2 and 3, and 4
    assert inside(near, np.array([0, 1]), place).tolist() == [[1, 1], [0, 0]]
    assert inside(near, np.array([2, 3]), place).tolist() == [[1, 1], [0, 0]]
    assert inside(near, np.array([4]), place).tolist() == [[0, 0]]
    place = np.array([1, 0, 0, 2, 1])  # of the blocks 2, 0 and 3, and 1 and 4
    assert inside(near, np.array([2, 0, 3]), place).tolist() == [[2, 1], [0, 0], [0, 0]]
