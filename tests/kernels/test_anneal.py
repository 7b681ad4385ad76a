"""The annealing kernel: what a move promises is what the SSE does."""

import numpy as np
import pytest

from shoal.kernels.runtime.jit import packed
from shoal.kernels.search import anneal as kernels
from shoal.kernels.search.anneal import PATIENCE, anneal, refresh
from shoal.optimise.search import pose
from tests.compiler import COMPILED

MOVES = 20_000 if COMPILED else 300


def sse(X, groups):
    parts = [X[np.array(list(g), int)] for g in groups]
    return sum(np.square(part - part.mean(0)).sum() for part in parts)


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(60, 5)) * [1, 10, 0.1, 1, 1]


def state_of(X, k, labels):
    problem = pose(X, k)
    state = problem.state(labels)
    refresh(*state[:4])
    return problem, state


def test_changes_of_exchanges_equal_the_recomputed_sse(table):
    labels = np.repeat(np.arange(12), 5)
    _, (P, C, *_) = state_of(table, 3, labels)
    groups = [set(range(5 * g, 5 * g + 5)) for g in range(12)]
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = rng.choice(12, 2, replace=False).astype(np.uint64)
        x, z = (np.uint64(rng.choice(list(groups[g]))) for g in (a, b))
        before = sse(table, groups)
        after = [set(g) for g in groups]
        after[a] = groups[a] - {x} | {z}
        after[b] = groups[b] - {z} | {x}
        expected = sse(table, after) - before
        assert kernels._exchange(P, C, x, z, a, b, 2 / 5) == pytest.approx(expected, abs=1e-9)
        parts = kernels._replaced(P, C, a, x, z, 1 / 5) + kernels._replaced(P, C, b, z, x, 1 / 5)
        assert parts == pytest.approx(expected, abs=1e-9)


def test_put_and_take_keep_the_means(table):
    labels = np.repeat(np.arange(15), 4)
    _, (P, C, sizes, members, own, places) = state_of(table, 3, labels)
    kernels._take(P, C, sizes, members, places, np.uint64(2), np.uint64(9))
    kernels._put(P, C, sizes, members, own, places, np.uint64(5), np.uint64(9))
    X = P[:, :5]
    assert C[2, :5] == pytest.approx(X[[8, 10, 11]].mean(0))
    assert C[5, :5] == pytest.approx(X[[20, 21, 22, 23, 9]].mean(0))
    assert sorted(members[2, :3]) == [8, 10, 11]
    assert sizes[5] == 5
    assert own[9] == 5
    assert members[5, places[9]] == 9


@pytest.mark.parametrize("accept", [True, False])
def test_dissolve_and_create_do_all_or_nothing(table, accept):
    labels = np.repeat(np.arange(15), 4)
    problem, state = state_of(table, 3, labels)
    _, C, sizes, members, own, _ = state
    before = refresh(*state[:4]).sum()
    limit = 1e9 if accept else -1e9
    assert kernels._dissolve(*state, problem.neighbours, 3, np.uint64(4), limit) == accept
    means = C.copy()
    after = refresh(*state[:4]).sum()
    assert means[sizes > 0] == pytest.approx(C[sizes > 0], abs=1e-9)
    assert (own == 4).any() != accept
    if not accept:
        assert after == pytest.approx(before)
        return
    came = np.empty(6, np.uint64)
    x, group = np.uint64(members[0, 0]), np.uint64(4)
    assert kernels._create(*state, problem.neighbours, 3, x, group, limit, came)
    assert sizes[4] == 3
    for g in range(15):
        assert sorted(np.flatnonzero(own == g)) == sorted(members[g, : sizes[g]])


@pytest.mark.parametrize("ahead", [1, 64])
@pytest.mark.parametrize("temperature", [0.0, 0.3, 30.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_annealing_keeps_its_books(table, k, temperature, ahead):
    labels = np.arange(60) // k
    problem, state = state_of(table, k, labels % (60 // k))
    before = refresh(*state[:4]).sum()
    seed = np.array([99], np.uint64)
    fixed = problem.neighbours, problem.draw, problem.heat, PATIENCE, k
    given = *state, *fixed, temperature, MOVES, seed, ahead
    packed(anneal, *given)(*given)
    _, C, sizes, members, own, places = state
    kept = C.copy()
    after = refresh(*state[:4]).sum()
    assert (own != labels % (60 // k)).any()
    assert kept[sizes > 0] == pytest.approx(C[sizes > 0], abs=1e-9)
    assert set(sizes) <= {0, *range(k, 2 * k)}
    assert sizes.sum() == 60
    for x in range(60):
        assert members[own[x], places[x]] == x
    if temperature == 0:
        assert after <= before + 1e-9
