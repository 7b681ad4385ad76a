"""Bounds beside printed figures."""

import numpy as np
import pytest

import shoal
from shoal.bounds import standardised
from shoal.bounds.neighbours import near_sums, neighbour_prices
from shoal.bounds.verify import by_neighbours
from tests.published.data import raw


@pytest.mark.figures(0)
def test_a_figure_close_to_a_bound():
    """Multi-DSort (paper 004, Table 6) prints 9.8572 for Tarragona at k = 3: neighbours nearly refute it."""
    X = standardised(raw("tarragona"))
    assert 100 * by_neighbours(X, 3) / np.square(X).sum() == pytest.approx(9.8551, abs=1e-4)
    assert neighbour_prices(near_sums(X, 3), 3).sum() >= by_neighbours(X, 3)


@pytest.mark.figures(0)
def test_the_optimum_of_census_is_proven():
    """The least loss that any grouping of Census with k = 3 can have; some 40 s of processor time."""
    found = shoal.optimum(raw("census"), 3, time_limit=900)
    assert found.proven
    assert found.information_loss == pytest.approx(4.66793585, abs=1e-8)
    assert found.verify()
