"""Both searches over sorted values, for every cost, against brute force and exact fractions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.sequence import line
from tests.compiler import COMPILED
from tests.sequence_reference import cost, dynamic_optimum, optimum

#: Records and k; smaller where the searches run as plain Python.
SIZES = [(3000, 3), (3000, 30), (3000, 150), (3000, 700), (3001, 40)]
SIZES = SIZES if COMPILED else [(n // 10, max(k // 10, 3)) for n, k in SIZES]
KINDS = {"sse": line.SSE, "absolute": line.ABSOLUTE, "range": line.RANGE, "whole": line.WHOLE}


def both_searches(v, k, kind):
    """Group sizes by the near and by the far search, and by `cut_sorted`."""
    inverse = line.inverses(k)
    outcomes = []
    for far in (False, True):
        size = line.search(v, k, KINDS[kind], inverse, far)[1]
        outcomes.append(np.diff(line.borders(size, len(v), size[:1], len(v), k)))
    return [*outcomes, np.diff(line.cut_sorted(v, k, KINDS[kind]))]


def costs(v, outcomes, kind):
    return [float(cost([[x] for x in v.tolist()], sizes.tolist(), kind)) for sizes in outcomes]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-20, 20), min_size=4, max_size=13), st.integers(2, 4))
def test_optimal_against_brute_force(kind, values, k):
    k = min(k, len(values) // 2)
    v = np.sort(np.array(values, float))
    best = float(optimum([[x] for x in v.tolist()], k, kind))
    for sizes, found in zip(outcomes := both_searches(v, k, kind), costs(v, outcomes, kind)):
        assert found == pytest.approx(best, rel=1e-12, abs=1e-12)
        assert sizes.min() >= k
        assert sizes.max() <= 2 * k - 1


def shapes(rng, n):
    """Sequences that stretch the search: smooth, clustered, heavy-tailed, full of ties, with far jumps."""
    yield rng.normal(size=n)
    yield rng.normal(size=n) * 1e-3 + rng.integers(0, n // 25 + 1, n)
    yield np.exp(4 * rng.normal(size=n))
    yield rng.integers(0, 6, n)
    yield np.where(np.arange(n) < n // 3, 1e-7 * rng.normal(size=n), 1e9 + rng.normal(size=n))
    yield np.arange(n) ** 2.0
    yield np.ones(n)


def prepared(x, kind):
    """Sorted; whole numbers small enough for exact sums of squares."""
    return np.sort(np.rint(100 * x.clip(-1e4, 1e4)) if kind == "whole" else x.astype(float))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 6, 13])
def test_optimal_against_the_shortest_path_in_fractions(kind, k):
    rng = np.random.default_rng(k)
    for x in shapes(rng, 3 * k + 25):
        v = prepared(x, kind)
        best = float(dynamic_optimum(v.tolist(), k, kind))
        for found in costs(v, both_searches(v, k, kind), kind):
            assert found == pytest.approx(best, rel=1e-10, abs=0)


@pytest.mark.parametrize("kind", KINDS)
def test_both_searches_agree_at_larger_sizes(kind):
    """Many stretches, long leaps, and two halves that meet."""
    rng = np.random.default_rng(8)
    for n, k in SIZES:
        in_halves = line.Tuning(two_threads=1000 if COMPILED else 100)
        for x in shapes(rng, n):
            v = prepared(x, kind)
            inverse = line.inverses(k)
            near = line.search(v, k, KINDS[kind], inverse, False)[0][-1]
            far = line.search(v, k, KINDS[kind], inverse, True)[0][-1]
            sizes = np.diff(line.cut_sorted(v, k, KINDS[kind], in_halves))
            joined = float(cost([[value] for value in v.tolist()], sizes.tolist(), kind))
            assert far == pytest.approx(near, rel=1e-10)
            assert joined == pytest.approx(float(near), rel=1e-10)


def test_the_two_halves_meet_in_the_optimum():
    rng = np.random.default_rng(9)
    for n in range(12, 60):
        v = np.sort(rng.normal(size=n))
        alone, met = (
            np.diff(line.cut_sorted(v, 3, line.SSE, line.Tuning(two_threads=least))) for least in (10**9, 0)
        )
        assert costs(v, [met], "sse") == pytest.approx(costs(v, [alone], "sse"), rel=1e-13)
        assert met.min() >= 3
        assert met.max() <= 5
        assert met.sum() == n


@pytest.mark.parametrize("k", [2, 3, 6, 9])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("kind", ["sse", "whole"])
def test_the_search_compiled_for_one_k_is_the_near_search(k, mirrored, kind):
    """Also in short stretches, and from the last value on; of the costs it gives the last 2k."""
    at_once = line.Tuning(side_by_side_from=0, stretch=8)
    for n in (1, k, 2 * k - 1, 2 * k + 8, 40 * k + 1):
        for x in shapes(np.random.default_rng(n), n):
            v = prepared(x, kind)
            arguments = v, k, KINDS[kind], line.inverses(k), None, mirrored
            near = line.search(*arguments)
            together = line.search(*arguments, at_once)
            assert np.array_equal(near[0][-2 * k :], together[0][-2 * k :])
            if not mirrored:
                assert np.array_equal(near[1], together[1])
            elif n >= k:  # where small costs vanish beside large ones, sizes that cost the same may differ
                sizes = [np.diff(line.borders(size, n, size[:1], n, k))[::-1] for _, size in (near, together)]
                assert costs(v, sizes[:1], kind) == pytest.approx(costs(v, sizes[1:], kind), rel=1e-12)
