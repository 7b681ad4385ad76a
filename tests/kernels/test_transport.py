"""The transportation problem against all assignments, and against an assignment to places."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from shoal.kernels.search.transport import transport


def solve(costs, low, high):
    n, groups = costs.shape
    labels = transport(np.tile(np.arange(groups), (n, 1)), costs, groups, low, high)
    sizes = np.bincount(labels, minlength=groups)
    assert sizes.min() >= low
    assert sizes.max() <= high
    return costs[np.arange(n), labels].sum()


@st.composite
def problems(draw, largest):
    k = draw(st.integers(2, 4))
    groups = draw(st.integers(1, max(1, largest // k)))
    n = draw(st.integers(groups * k, groups * (2 * k - 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    costs = rng.integers(0, 4, (n, groups)).astype(float) if draw(st.booleans()) else rng.random((n, groups))
    costs[:, 0] -= draw(st.sampled_from([0.0, 2.0, -2.0]))  # one group that all or none prefer
    return costs, k


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problems(largest=6))
def test_against_every_assignment(problem):
    costs, k = problem
    n, groups = costs.shape
    if groups**n > 20_000:
        return
    best = min(
        costs[np.arange(n), labels].sum()
        for labels in map(list, product(range(groups), repeat=n))
        if all(k <= labels.count(g) <= 2 * k - 1 for g in range(groups))
    )
    assert solve(costs, k, 2 * k - 1) == pytest.approx(best)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(largest=40))
def test_against_an_assignment_to_places(problem):
    costs, k = problem
    must = 1000.0
    places = np.hstack([np.repeat(costs - must, k, axis=1), np.repeat(costs, k - 1, axis=1)])
    chosen = linear_sum_assignment(places)
    best = places[chosen].sum() + must * k * costs.shape[1]
    assert solve(costs, k, 2 * k - 1) == pytest.approx(best)


def test_only_the_choices_given():
    # Record 3 would be cheapest in group 0, which may hold three at most; only 2 and 3 may leave it.
    choices = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    costs = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 5.0], [0.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
    assert transport(choices, costs, 2, 2, 3).tolist() == [0, 0, 0, 1, 1, 1]
