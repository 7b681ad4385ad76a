"""Moves of records with gaps: what a move promises is what the SSE over the values that are there does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.search.gaps import _swap, change, leaves_one, means
from shoal.stages.refine_gaps import candidates, refine_stratum
from tests.compiler import COMPILED


def sse(X, has, labels):
    """Over pairs: the squared distance of all that both have, over how many of the group have the column."""
    total = 0.0
    for g in set(labels.tolist()):
        rows = np.flatnonzero(labels == g)
        for j in range(X.shape[1]):
            there = X[rows[has[rows, j]], j]
            total += np.square(there[:, None] - there).sum() / (2 * max(len(there), 1))
    return total


def lone(has, labels):
    """The columns of each group that rest on one value."""
    return np.stack([np.bincount(labels, column) for column in has.T], axis=1) == 1


def holey(seed, n, d, groups, share=0.3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d), 3)
    has = rng.random((n, d)) > share
    return np.where(has, X, 77.0), has, rng.permutation(np.arange(n) % groups)


def with_nobody(X, has, labels):
    """The state that the kernels work on."""
    P, there = np.vstack([X, X[:1]]), np.vstack([has, ~has[:1] & has[:1]]).astype(np.int8)
    groups = int(labels.max()) + 1
    C, counts = np.zeros((groups, X.shape[1])), np.zeros((groups, X.shape[1]), np.int64)
    means(P, there, labels, C, counts)
    return P, there, C, counts


@settings(deadline=None, max_examples=200 if COMPILED else 30)
@given(st.integers(0, 10**6), st.integers(8, 24), st.integers(1, 5))
def test_the_change_of_a_move_is_the_difference_of_the_sse(seed, n, d):
    X, has, labels = holey(seed, n, d, 3)
    P, there, C, counts = with_nobody(X, has, labels)
    scale = np.square(X[has]).sum() + 1
    x = int(np.flatnonzero(labels == 0)[0])
    for z in [n, *np.flatnonzero(labels == 1).tolist()]:
        moved = labels.copy()
        moved[x] = 1
        if z < n:
            moved[z] = 0
        promised = change(P, there, C, counts, 0, x, z) + change(P, there, C, counts, 1, z, x)
        assert promised == pytest.approx(sse(X, has, moved) - sse(X, has, labels), abs=1e-12 * scale)
        alone = leaves_one(there, counts, 0, x, z) or leaves_one(there, counts, 1, z, x)
        assert alone == (lone(has, moved) & ~lone(has, labels)).any()


@settings(deadline=None, max_examples=100 if COMPILED else 20)
@given(st.integers(0, 10**6), st.integers(8, 24), st.integers(1, 5))
def test_without_gaps_the_short_sum_of_a_swap_is_the_difference_of_the_sse(seed, n, d):
    X, has, labels = holey(seed, n, d, 3, share=0.0)
    P, there, C, counts = with_nobody(X, has, labels)
    shares = sum(1 / np.count_nonzero(labels == g) for g in (0, 1))
    x, z = (int(np.flatnonzero(labels == g)[0]) for g in (0, 1))
    moved = labels.copy()
    moved[x], moved[z] = 1, 0
    promised = _swap(P, there, C, counts, 0, 1, x, z, True, shares)
    scale = np.square(X).sum() + 1
    assert promised == pytest.approx(sse(X, has, moved) - sse(X, has, labels), abs=1e-12 * scale)


@settings(deadline=None, max_examples=60 if COMPILED else 8)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 4), st.booleans())
def test_in_the_end_no_move_helps(seed, k, d, uneven):
    n = 6 * k + 1
    X, has, labels = holey(seed, n, d, 6 - uneven)
    found = refine_stratum(X, has, labels, k)
    sizes = np.bincount(found)
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    least = sse(X, has, found)
    assert least <= sse(X, has, labels) * (1 + 1e-12)
    near = candidates(X, k)
    for x in range(n):
        for B in {int(found[y]) for y in near[x]} - {int(found[x])}:
            for z in [None, *np.flatnonzero(found == B)]:
                moved = found.copy()
                moved[x] = B
                if z is not None:
                    moved[z] = found[x]
                after = np.bincount(moved)
                if after.min() < k or after.max() > 2 * k - 1:
                    continue
                if not (lone(has, moved) & ~lone(has, found)).any():
                    assert sse(X, has, moved) >= least * (1 - 2e-9)


@pytest.mark.parametrize("ones", [3, 5])
def test_a_group_beyond_its_size_gives_records_away_and_does_not_grow(ones):
    X, has = np.array([[0.0]] * (12 - ones) + [[1.0]] * ones), np.ones((12, 1), bool)
    expected = [0] * 8 + [1] * 4 if ones == 3 else [0] * 7 + [1] * 5
    assert refine_stratum(X, has, np.array([0] * 8 + [1] * 4), 3).tolist() == expected
