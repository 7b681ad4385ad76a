"""Checks that every registered method must pass; for people who add methods, and for our own tests.

`check_method("my_method")` runs them all and raises AssertionError, with the table that showed it, on the
first promise that is broken. Needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.grouping.partition import Partition
from shoal.grouping.registry import MethodInfo, get_method
from shoal.grouping.runner import run_method
from shoal.pipeline import microaggregate
from shoal.stages.encode import standardise

_settings = settings(max_examples=25, deadline=None, derandomize=True, database=None)


def check_method(key: str) -> None:
    """Run every check over the method of that key."""
    info = get_method(key)
    for check in CHECKS:
        check(info)


def brute_force(X: NDArray, k: int, integer: bool = False) -> float:
    """The least SSE of any partition of at most a dozen records into groups of at least k."""
    n = len(X)
    groups = [
        (sum(1 << i for i in group), _sse(X[list(group)], integer))
        for size in range(k, min(2 * k, n + 1))
        for group in combinations(range(n), size)
    ]
    best = [0.0] + [np.inf] * ((1 << n) - 1)
    for mask in range(1, 1 << n):
        first = mask & -mask
        for group, sse in groups:
            if group & first and group & mask == group:
                best[mask] = min(best[mask], best[mask ^ group] + sse)
    return best[-1]


def _sse(group: NDArray, integer: bool) -> float:
    mean = group.mean(axis=0)
    if integer:
        mean = np.sign(mean) * np.floor(np.abs(mean) + 0.5)
    return float(np.square(group - mean).sum())


def _run(info: MethodInfo, X: NDArray, k: int, seed: int = 0) -> Partition:
    return run_method(info, _matrix(info, X), k, seed=seed)


def _matrix(info: MethodInfo, X: NDArray) -> NDArray:
    """What the pipeline would hand to the method: standardised, or whole numbers as they are."""
    X = X[:, :1] if info.columns == "one" else X
    return np.rint(X).astype(np.int64) if info.input == "raw" else standardise(list(X.T))[0]


def _untied(n: int, d: int, seed: int = 0) -> NDArray:
    """Whole numbers without ties, so that a shift by 1e9 is exact."""
    return np.random.default_rng(seed).permutation(1_000_000)[: n * d].reshape(n, d).astype(float)


@st.composite
def tables(draw: Any, largest: int = 40) -> tuple[NDArray, int]:
    """A table and a k: few or many records, tied or not, a spread or a constant column."""
    k = draw(st.integers(2, 6))
    n = draw(st.integers(k, max(largest, k)))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["untied", "grid", "heavy tail", "constant column", "duplicates"]))
    if kind == "untied":
        return rng.normal(size=(n, d)), k
    if kind == "grid":
        return rng.integers(0, 3, (n, d)).astype(float), k
    if kind == "heavy tail":
        return np.exp(3 * rng.normal(size=(n, d))), k
    if kind == "constant column":
        X = rng.normal(size=(n, d))
        X[:, 0] = 7.0
        return X, k
    return rng.normal(size=(1 + n // 5, d))[rng.integers(0, 1 + n // 5, n)], k


def check_partition(info: MethodInfo) -> None:
    """Every record in exactly one group, every group at least k, and at most 2k-1 where promised."""

    @_settings
    @given(tables())
    def holds(case: tuple[NDArray, int]) -> None:
        X, k = case
        labels = _run(info, X, k).labels
        sizes = np.bincount(labels)
        assert len(labels) == len(X)
        assert labels.dtype == np.int64
        assert sizes.min() >= k
        if info.sizes == "k..2k-1":
            assert sizes.max() <= 2 * k - 1

    holds()


def check_sizes(info: MethodInfo) -> None:
    """The sizes at which the arithmetic of groups turns over."""
    for k in (2, 3, 5):
        for n in (k, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 4 * k + 1):
            for X in (_untied(n, 2), np.ones((n, 2)), np.arange(2.0 * n).reshape(n, 2) // 3):
                assert _run(info, X, k).sizes.min() >= k, f"n={n}, k={k}"


def check_identity(info: MethodInfo) -> None:
    """k = 1 leaves every record alone, and loses nothing."""
    X = _untied(7, 2)[:, : 1 if info.columns == "one" else 2]
    release = microaggregate(X, 1, method=info.key)
    assert np.array_equal(release.table, X)
    assert release.information_loss == 0.0
    assert np.array_equal(release.labels, np.arange(7))


def check_input_untouched(info: MethodInfo) -> None:
    """Any memory layout and read-only input give the same labels, and the input stays as it was."""
    X = _untied(31, 2)[:, : 1 if info.columns == "one" else 2]
    if info.input == "raw":
        X = X.astype(np.int64)
    before = X.copy()
    expected = microaggregate(X, 3, method=info.key).labels
    assert np.array_equal(X, before)
    wide = np.zeros((62, 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    for same in (np.asfortranarray(X), wide[::2, ::2], locked):
        assert np.array_equal(microaggregate(same, 3, method=info.key).labels, expected)


def check_seed(info: MethodInfo) -> None:
    """The same seed gives the same labels."""
    X = _untied(60, 3)
    assert np.array_equal(_run(info, X, 4, seed=7).labels, _run(info, X, 4, seed=7).labels)


def check_means(info: MethodInfo) -> None:
    """The columns' means are those of the original."""
    X = np.exp(np.random.default_rng(1).normal(size=(50, 1 if info.columns == "one" else 3)))
    X = np.rint(1e6 * X) if info.input == "raw" else X
    release = microaggregate(X, 3, method=info.key)
    assert np.allclose(release.table.mean(axis=0), X.mean(axis=0), rtol=1e-12)


def check_shift_and_scale(info: MethodInfo) -> None:
    """Adding 1e9 to a column or scaling it by 1e-9 leaves the labels as they were."""
    X = _untied(60, 1 if info.columns == "one" else 3)
    X = X.astype(np.int64) if info.input == "raw" else X
    expected = microaggregate(X, 3, method=info.key).labels
    shifted = X.copy()
    shifted[:, 0] += 10**9
    assert np.array_equal(microaggregate(shifted, 3, method=info.key).labels, expected)
    if info.input == "standard":
        scaled = X.copy()
        scaled[:, 0] *= 1e-9
        assert np.array_equal(microaggregate(scaled, 3, method=info.key).labels, expected)


def check_never_below_the_optimum(info: MethodInfo) -> None:
    """On a few records the SSE is never below the brute-force optimum, and equal to it where claimed."""

    @settings(_settings, max_examples=10)
    @given(tables(largest=9))
    def holds(case: tuple[NDArray, int]) -> None:
        X, k = case
        matrix = _matrix(info, X)
        labels = _run(info, X, k).labels
        sse = sum(_sse(matrix[labels == g], info.whole) for g in range(labels.max() + 1))
        optimum = brute_force(matrix, k, info.whole)
        assert sse >= optimum * (1 - 1e-9)
        if info.optimal:
            assert sse <= optimum * (1 + 1e-9) + 1e-12

    holds()


CHECKS: tuple[Callable[[MethodInfo], None], ...] = (
    check_partition,
    check_sizes,
    check_identity,
    check_input_untouched,
    check_seed,
    check_means,
    check_shift_and_scale,
    check_never_below_the_optimum,
)
