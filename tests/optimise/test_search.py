"""The optimiser: finds the optimum where it can be counted out, keeps its promises everywhere else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.datasets import survey
from shoal.errors import InputError
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.optimise import blocks
from shoal.optimise.improve import optimise
from shoal.optimise.search import Clock, combine, cool, cool_region, pose, tidy
from shoal.testing import brute_force


def standardised(rng, n, d):
    X = rng.normal(size=(n, d))
    return np.ascontiguousarray((X - X.mean(0)) / X.std(0, ddof=1))


def sse(X, labels):
    return sum(np.square(X[labels == g] - X[labels == g].mean(0)).sum() for g in np.unique(labels))


def test_finds_the_optimum_of_small_tables():
    rng = np.random.default_rng(5)
    hits = 0
    for t in range(40):
        k = 2 + t % 3
        X = standardised(rng, int(rng.integers(2 * k, 13)), int(rng.integers(1, 4)))
        labels = optimise(X, k, effort=0.05, rng=np.random.default_rng(t))
        optimum = brute_force(X, k)
        assert sse(X, labels) >= optimum - 1e-9
        hits += sse(X, labels) <= optimum + 1e-9
    assert hits >= 38


def test_does_not_depend_on_the_number_of_threads(monkeypatch):
    X = standardised(np.random.default_rng(1), 200, 3)
    outcomes = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SHOAL_THREADS", threads)
        outcomes.append(optimise(X, 3, effort=0.05, rng=np.random.default_rng(9)))
    assert (outcomes[0] == outcomes[1]).all()
    assert (outcomes[0] == outcomes[2]).all()


def test_never_worse_than_its_start_whatever_that_is():
    rng = np.random.default_rng(2)
    X = standardised(rng, 150, 4)
    good = optimise(X, 3, effort=0.5, rng=np.random.default_rng(0))
    again = optimise(X, 3, start=good, effort=0.01, rng=np.random.default_rng(1))
    assert sse(X, again) <= sse(X, good) + 1e-9
    for start in (np.zeros(150, int), np.arange(150) // 10, np.arange(150) % 7, "mdav1"):
        labels = optimise(X, 3, start=start, effort=0.05, rng=np.random.default_rng(0))
        sizes = np.bincount(labels)
        assert sizes.min() >= 3
        assert sizes.max() <= 5
        if isinstance(start, np.ndarray):
            assert sse(X, labels) <= sse(X, start)


@pytest.mark.parametrize("start", ["auto", np.arange(20), np.zeros(3, int), np.zeros(20)])
def test_refuses_a_start_that_is_none(start):
    X = standardised(np.random.default_rng(0), 20, 2)
    with pytest.raises(InputError, match="start"):
        optimise(X, 3, start=start, rng=np.random.default_rng(0))


def test_splits_groups_that_are_too_large():
    X = standardised(np.random.default_rng(3), 40, 2)
    labels = tidy(X, np.repeat([4, 9], [33, 7]), 4)
    sizes = np.bincount(labels)
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    assert len(np.unique(labels[33:])) == 1


@pytest.mark.parametrize("name", ["optimise", "auto"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((30, 3)),
        np.repeat(np.arange(5.0), 8)[:, None] * [1.0, 0.0],
        np.column_stack([np.arange(24.0) ** 3, np.zeros(24)]),
        np.random.default_rng(0).normal(size=(25, 500)),
        1e9 + np.random.default_rng(1).normal(size=(30, 2)),
    ],
    ids=["duplicates", "five places", "constant column", "500 columns", "far from zero"],
)
@pytest.mark.parametrize("k", [2, 3, 8, 12])
def test_awkward_tables(name, X, k):
    parameters = {"effort": 0.02} if name == "optimise" else {}
    partition = run_method(get_method(name), X, k, parameters=parameters)
    partition.check(k, len(X), 2 * k - 1)


@given(st.integers(2, 6), st.sampled_from([2, 3]), st.integers(0, 10))
@settings(max_examples=15, deadline=None)
def test_few_groups(k, groups, seed):
    X = standardised(np.random.default_rng(seed), groups * k, 2)
    partition = run_method(get_method("optimise"), X, k, seed=seed, parameters={"effort": 0.02})
    partition.check(k, groups * k, 2 * k - 1)
    assert partition.sse(X) <= run_method(get_method("mdav"), X, k).sse(X) + 1e-9


def test_time_limit_returns_a_partition():
    X = standardised(np.random.default_rng(4), 300, 5)
    seen = []
    partition = run_method(get_method("optimise"), X, 4, time_limit=0.3, progress=seen.append)
    partition.check(4, 300, 7)
    assert all(0 <= fraction <= 1 for fraction in seen)
    nothing = run_method(get_method("optimise"), X, 4, time_limit=1e-6)
    nothing.check(4, 300, 7)


def test_combine_takes_the_better_of_each_part():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [10.0], [10.1], [15.0], [15.1]])
    X = np.hstack([X, np.zeros((8, 1))])
    problem = pose(X, 2)
    left = np.array([0, 0, 1, 1, 2, 3, 2, 3])
    right = np.array([0, 1, 0, 1, 2, 2, 3, 3])
    both = combine(problem, left, right)
    assert sse(X, both) == pytest.approx(4 * 0.005)
    assert (combine(problem, both, left) == both).all()


def test_blocks_keep_their_promises():
    rng = np.random.default_rng(6)
    X = standardised(rng, 2603, 3)
    for size, multiple in ((1000, 7), (100, 3), (10, 9)):
        parts = blocks.split(X, size, multiple)
        assert (np.sort(np.concatenate(parts)) == np.arange(2603)).all()
        assert sum(len(part) % multiple > 0 for part in parts) <= 1
        assert all(len(part) <= max(size, 2 * multiple - 1) for part in parts)
    seen = []
    small = blocks.Tuning(size=500)
    first = blocks.improve(X, 4, None, np.random.default_rng(0), 0.3, Clock(None), seen.append, small)
    sizes = np.bincount(first)
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    assert seen[-1] == 1
    assert sse(X, first) < run_method(get_method("mdav"), X, 4).sse(X)
    again = blocks.improve(X, 4, None, np.random.default_rng(0), 0.3, Clock(None), seen.append, small)
    assert (first == again).all()


def test_shift_of_all_rows_changes_nothing_that_matters():
    X = standardised(np.random.default_rng(8), 120, 3)
    labels = optimise(X, 3, effort=0.1, rng=np.random.default_rng(0))
    shifted = optimise(X + 1000.0, 3, effort=0.1, rng=np.random.default_rng(0))
    assert sse(X, shifted) == pytest.approx(sse(X, labels), rel=0.02)


def test_auto_loses_less_than_the_best_methods_of_the_papers():
    table = survey(300)
    names = ["employees", "turnover", "wages", "assets", "energy_use", "profit"]
    X = np.column_stack([table[name] for name in names]).astype(float)
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    for k in (3, 5, 10):
        best = min(run_method(get_method(key), Z, k).sse(Z) for key in ("mdav", "centroid", "igd", "imhm"))
        assert run_method(get_method("auto"), Z, k).sse(Z) < best


def test_one_run_is_reproducible_and_valid():
    X = standardised(np.random.default_rng(7), 500, 6)
    problem = pose(X, 5)
    start = run_method(get_method("mdav"), X, 5).labels
    once = cool(problem, start, 3, 100_000, 10.0, Clock(None))
    assert (once == cool(problem, start, 3, 100_000, 10.0, Clock(None))).all()
    assert np.bincount(once).min() >= 5
    assert np.bincount(once).max() <= 9
    assert sse(X, once) < sse(X, start)


@pytest.mark.parametrize("dear", [False, True])
def test_a_region_leaves_the_rest_alone(dear):
    X = standardised(np.random.default_rng(11), 300, 3)
    problem = pose(X, 4)
    start = run_method(get_method("mdav"), X, 4).labels
    each = [np.square(X[start == g] - X[start == g].mean(0)).sum(1).mean() for g in range(start.max() + 1)]
    for seed in range(5):
        new = cool_region(problem, start, 0.2, dear, seed, 50_000, 2.0, Clock(None))
        before = {frozenset(np.flatnonzero(start == g)) for g in range(start.max() + 1)}
        after = {frozenset(np.flatnonzero(new == g)) for g in range(new.max() + 1)}
        assert min(len(group) for group in after) >= 4
        assert max(len(group) for group in after) <= 7
        assert 200 <= sum(len(group) for group in before & after) < 300
        changed = {int(start[min(group)]) for group in before - after}
        assert not dear or changed <= set(np.argsort(each)[-len(each) // 3 :].tolist())


@pytest.mark.parametrize("effort", [0, -1, float("nan"), float("inf")])
def test_refuses_an_effort_that_never_ends_or_never_begins(effort):
    with pytest.raises(InputError, match="effort must be a number above 0"):
        run_method(get_method("optimise"), np.arange(24.0).reshape(12, 2), 3, parameters={"effort": effort})


def test_no_pass_over_the_blocks_once_time_is_over(monkeypatch):
    monkeypatch.setattr(blocks, "Table", None)  # whoever calls it fails
    X = np.random.default_rng(0).normal(size=(60, 2))
    over = Clock(-1.0)
    labels = blocks.improve(X, 3, None, np.random.default_rng(0), 1.0, over, lambda fraction: None)
    assert np.bincount(labels).min() >= 3
    assert blocks.improve(X, 3, labels, np.random.default_rng(0), 1.0, over, lambda fraction: None) is labels


class Watch(Clock):
    """A clock that goes on by one second whenever somebody looks."""

    def __init__(self, limit):
        self.limit, self.now = limit, 0.0

    def spent(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("limit", [1.0, 30.0, 300.0, 3000.0])
def test_blocks_against_the_clock(limit):
    X = standardised(np.random.default_rng(6), 1003, 3)
    clock = Watch(limit)
    rng, small = np.random.default_rng(0), blocks.Tuning(size=100)
    labels = blocks.improve(X, 4, None, rng, 1.0, clock, lambda fraction: None, small)
    assert np.bincount(labels).min() >= 4
    assert np.bincount(labels).max() <= 7
    looks_after_the_end = clock.now - limit
    assert looks_after_the_end <= 2 * -(-1003 // 50) + 2  # one for each block, and nothing is tried


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_blocks_of_odd_tables(data):
    k = data.draw(st.integers(2, 6))
    n = data.draw(st.integers(2 * k, 90))
    d = data.draw(st.sampled_from([1, 2, 3, 40]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    largest = data.draw(st.sampled_from([None, 0, 1, 3]))
    X = rng.normal(size=(n, d)) if largest is None else rng.integers(0, largest + 1, (n, d)).astype(float)
    tuning = blocks.Tuning(size=data.draw(st.integers(1, 40)))
    with pytest.MonkeyPatch.context() as patch:
        outcomes = []
        for threads in ("1", "3"):
            patch.setenv("SHOAL_THREADS", threads)
            rng = np.random.default_rng(1)
            outcomes.append(blocks.improve(X, k, None, rng, 0.1, Clock(None), lambda done: None, tuning))
    sizes = np.bincount(outcomes[0])
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert (outcomes[0] == outcomes[1]).all()


def test_large_tables_are_grouped_in_blocks_by_auto_and_optimise(monkeypatch):
    X = standardised(np.random.default_rng(12), 10_001, 2)
    called = []
    in_blocks = blocks.improve
    monkeypatch.setattr(blocks, "improve", lambda *given: called.append(1) or in_blocks(*given))
    for name, limit, parameters in (
        ("auto", None, {}),
        ("optimise", None, {"effort": 0.01}),
        ("auto", 0.2, {}),
        ("optimise", 0.2, {}),
    ):
        partition = run_method(get_method(name), X, 3, time_limit=limit, parameters=parameters)
        partition.check(3, len(X), 5)
    assert len(called) == 4
