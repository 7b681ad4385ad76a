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


def test_many_groups_with_few_choices_each():
    # Points and their nearest centres only: what a chain needs lies near, and must be found there.
    rng = np.random.default_rng(3)
    points, k, groups = rng.random((260, 2)), 4, 60
    own = np.arange(260) % groups
    squares = np.square(points[:, None] - points[rng.choice(260, groups, replace=False)]).sum(2)
    choices = np.column_stack([np.argsort(squares, axis=1)[:, :7], own])
    costs = np.take_along_axis(squares, choices, 1)
    labels = transport(choices, costs, groups, k, 2 * k - 1)
    assert set(np.bincount(labels, minlength=groups)) <= set(range(k, 2 * k))
    assert (choices == labels[:, None]).any(1).all()
    never, must = 1e4, 1e6
    allowed = np.full((260, groups), never)
    np.put_along_axis(allowed, choices, costs, 1)
    places = np.hstack([np.repeat(allowed - must, k, axis=1), np.repeat(allowed, k - 1, axis=1)])
    best = places[linear_sum_assignment(places)].sum() + must * k * groups
    assert squares[np.arange(260), labels].sum() == pytest.approx(best, abs=1e-5)
