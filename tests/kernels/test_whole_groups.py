"""Blocks of whole groups, against numpy."""

import numpy as np
import pytest

from shoal.kernels.search.whole_groups import group_up, halve, members


@pytest.mark.parametrize(("n", "multiple"), [(2, 1), (101, 1), (100, 7), (5, 2)])
def test_halves_lie_apart_along_the_widest_column(n, multiple):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(150, 3)) * [1, 5, 2] + [1e6, 0, 0]
    X[:20] = X[20]  # ties
    rows = rng.choice(150, n, replace=False)
    chosen = set(rows.tolist())
    half = halve(X, rows, multiple)
    assert half == max(1, n // 2 // multiple) * multiple
    assert set(rows.tolist()) == chosen
    widest = np.argmax(X[rows].var(0))
    assert X[rows[:half], widest].max() <= X[rows[half:], widest].min()


def test_groups_and_what_there_is_to_say_of_them():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(60, 4)) + 1e6
    rows = rng.permutation(60)[:40]
    labels = rng.permutation(np.arange(40) % 7)
    order, sizes, means, sse = group_up(P, rows, labels, 7)
    assert (sizes == np.bincount(labels)).all()
    for g, own in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        assert (own == rows[labels == g]).all()
        assert means[g] == pytest.approx(P[own].mean(0))
        assert sse[g] == pytest.approx(np.square(P[own] - P[own].mean(0)).sum())
    place = np.full(60, -1, np.int32)
    chosen = members(order, np.cumsum(sizes) - sizes, sizes, np.array([5, 2]), place)
    assert chosen.tolist() == [*rows[labels == 5], *rows[labels == 2]]
    assert (place[chosen] == np.arange(len(chosen))).all()
    assert (np.delete(place, chosen) == -1).all()
