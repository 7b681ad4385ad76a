"""The round tour: always a permutation, never longer than its start, and optimal where that can be known."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.sequence.tour import FAR, improve_tour
from tests.compiler import COMPILED


def length(X, tour):
    return np.sqrt(np.square(X[tour] - X[np.roll(tour, -1)]).sum(1)).sum()


def improved(X, start, kicks, neighbours=10):
    X = X.view()
    X.flags.writeable = False  # as methods get it: one compiled version
    near = nearest(X, neighbours)[0].astype(np.int64)
    return improve_tour(X, near, np.asarray(start), kicks)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(4, 60), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_a_permutation_and_never_longer(n, d, ties, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if ties else rng.normal(size=(n, d))
    start = rng.permutation(n)
    tours = [improved(X, start, kicks) for kicks in (0, 50)]
    for tour in tours:
        assert sorted(tour) == list(range(n))
    assert length(X, tours[0]) <= length(X, start) + 1e-9
    assert length(X, tours[1]) <= length(X, tours[0]) + 1e-9


def test_no_improving_exchange_of_two_edges_is_left():
    X = np.random.default_rng(3).normal(size=(120, 2))
    tour = improved(X, np.random.default_rng(4).permutation(120), 0, neighbours=119)
    after = np.roll(tour, -1)
    D = np.sqrt(np.square(X[:, None] - X).sum(2))
    gain = D[tour, after][:, None] + D[tour, after] - D[np.ix_(tour, tour)] - D[np.ix_(after, after)]
    np.fill_diagonal(gain, 0.0)
    assert gain.max() < 1e-8


def test_no_better_place_for_a_short_segment_is_left():
    """None, that is, whose end comes nearer to its new neighbour than the way that its going saves."""
    X = np.random.default_rng(5).normal(size=(60, 2))
    tour = improved(X, np.random.default_rng(6).permutation(60), 0, neighbours=59).tolist()
    D = np.sqrt(np.square(X[:, None] - X).sum(2))
    now = length(X, np.array(tour))
    for size in (1, 2, 3):
        for i in range(60):
            turned = tour[i:] + tour[:i]
            segment, rest = turned[:size], turned[size:]
            saved = D[segment[0], rest[-1]] + D[segment[-1], rest[0]] - D[rest[0], rest[-1]]
            for j in range(1, len(rest)):
                for put in (segment, segment[::-1]):
                    if min(D[rest[j - 1], put[0]], D[put[-1], rest[j]]) < saved:
                        assert length(X, np.array(rest[:j] + put + rest[j:])) > now - 1e-8


def test_the_shortest_tour_of_eight():
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(8, 2))
        best = min(length(X, np.array((0, *rest))) for rest in permutations(range(1, 8)))
        assert length(X, improved(X, np.arange(8), 200)) == pytest.approx(best)


def test_points_on_a_circle():
    n = 200 if COMPILED else 60
    angle = 2 * np.pi * np.arange(n) / n
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    tour = improved(X, np.random.default_rng(0).permutation(n), 20 * n)
    assert length(X, tour) == pytest.approx(2 * n * np.sin(np.pi / n))


def test_only_records_that_are_far_apart_in_a_long_tour_are_not_joined():
    n = 60_000 if COMPILED else 600
    angle = 2 * np.pi * np.arange(n) / n
    start = np.arange(n)
    away = n // 2 - 20
    for a, b in ((10, 10 + away), (100, 150)):
        start[[a, b]] = b, a
    tour = improved(np.stack([np.cos(angle), np.sin(angle)], axis=1), start, 0, neighbours=4)
    assert np.array_equal(np.sort(tour), np.arange(n))
    steps = np.abs(tour - np.roll(tour, -1))
    long = np.minimum(steps, n - steps) > 1
    ends = {*tour[long].tolist(), *np.roll(tour, -1)[long].tolist()}
    assert not {100, 150} & ends
    assert ({10, 10 + away} <= ends) == (away > FAR)
