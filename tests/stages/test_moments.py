"""Mean and spread of a column, from one pass or from many."""

import numpy as np
import pytest

from shoal.stages.moments import UNCHANGED, Moments, Scale


def test_moments_add_only_to_moments():
    with pytest.raises(TypeError):
        Moments() + 1


def test_nothing_and_something():
    assert Moments.of(np.empty(0), 3) == Moments(gaps=3)
    assert Moments() + Moments.of(np.array([1.0, 2.0]), 1) == Moments.of(np.array([1.0, 2.0]), 1)
    assert Moments.of(np.array([4, 4])).scale() == Scale(4, 0, 0.0, 1.0)
    assert UNCHANGED.apply(np.array([1, 2])).tolist() == [1.0, 2.0]
    assert Moments.of(np.array([1, 4])).middle() == 3  # 2.5, of which the even neighbour of 1.5 steps counts
    assert Moments.of(np.array([1.0, 2.0])).middle() == 1.5


def test_squares_in_percent_of_others():
    values = np.array([1.0, 2.0, 4.0])
    moved, flat = Moments.of(np.array([0.0, 1e-3, -2e-3])), Moments.of(np.ones(3))
    assert moved.percent_of(Moments.of(values)) == pytest.approx(100 * 5e-6 / np.square(values - 7 / 3).sum())
    assert moved.percent_of(flat) == Moments().percent_of(Moments.of(values)) == 0.0
