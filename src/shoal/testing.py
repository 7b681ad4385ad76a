"""Checks that every registered method must pass; for people who add methods, and for our own tests.

`check_method("my_method")` runs them all. Whatever a method does wrong, returns or raises, is an
AssertionError that shows the table. Needs hypothesis.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.errors import CheckFailed
from shoal.grouping.partition import Partition
from shoal.grouping.registry import Confidential, MethodInfo, get_method
from shoal.grouping.runner import run_method
from shoal.pipeline import microaggregate
from shoal.release import Release
from shoal.stages.encode import standardise

_settings = settings(max_examples=25, deadline=None, derandomize=True, database=None)


def check_method(key: str) -> None:
    """Run every check over the method of that key.

    Parameters
    ----------
    key : str
        The name of a registered function: see `shoal.grouping.registry.method`.

    Raises
    ------
    AssertionError
        At the first promise that the method breaks: it says which, and shows k and the table. What the
        method itself raised, or what the check of its labels said, is the `__cause__`.
    InputError
        If there is no method of that key.

    Examples
    --------
    >>> from shoal.testing import check_method
    >>> check_method("mdav")
    """
    info = get_method(key)
    for check in CHECKS:
        check(info)


def brute_force(X: NDArray, k: int, integer: bool = False) -> float:
    """The least SSE of any partition of at most a dozen records into groups of at least k.

    Parameters
    ----------
    X : array of numbers
        One row for each record.
    k : int
        How many records each group has, at least.
    integer : bool
        Whether a group's value is the whole number nearest to its mean.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.testing import brute_force
    >>> brute_force(np.array([[0.0], [1.0], [10.0], [12.0]]), 2)
    2.5
    """
    everyone = (1 << len(X)) - 1
    costs: dict[int, float] = {}
    groups: dict[int, list[int]] = {1 << i: [] for i in range(len(X))}  # by their first record
    for size in range(k, min(2 * k, len(X) + 1)):
        for group in combinations(range(len(X)), size):
            members = sum(1 << i for i in group)
            costs[members] = _sse(X[list(group)], integer)
            groups[1 << group[0]].append(members)

    @cache
    def least(left: int) -> float:
        if left.bit_count() < 2 * k:  # one group, or none
            return costs.get(left, np.inf) if left else 0.0
        first = groups[left & -left]
        return min((least(left ^ one) + costs[one] for one in first if one & left == one), default=np.inf)

    return least(everyone)


def _sse(group: NDArray, integer: bool) -> float:
    mean = group.mean(axis=0)
    if integer:
        mean = np.sign(mean) * np.floor(np.abs(mean) + 0.5)
    return float(np.square(group - mean).sum())


@contextmanager
def _showing(info: MethodInfo, X: NDArray, k: int) -> Iterator[None]:
    """Whatever goes wrong inside is an AssertionError that shows the table."""
    try:
        yield
    except Exception as error:
        reason = str(error) if isinstance(error, AssertionError | CheckFailed) else repr(error)
        shown = f"shown by this table of {len(X)} records with k={k}:\n{X.tolist()}"
        raise AssertionError(f"method {info.key!r} breaks a promise: {reason}; {shown}") from error


def _require(holds: bool | np.bool_, otherwise: str) -> None:
    """`assert` that Python's -O does not switch off."""
    if not holds:
        raise AssertionError(otherwise)


def _run(info: MethodInfo, X: NDArray, k: int, seed: int = 0) -> Partition:
    levels = np.arange(len(X)) % 5
    shares = np.bincount(levels) / len(X)
    column = Confidential(levels, shares, shares, False, 0.4) if info.needs else None
    return run_method(info, _matrix(info, X), k, seed=seed, confidential=column)


def _protect(info: MethodInfo, X: NDArray, k: int) -> Release:
    """The release of a table; for a method that needs closeness, with a column that any group holds."""
    if info.needs is None:
        return microaggregate(X, k, method=info.key)
    table, last = np.column_stack([X, np.arange(len(X)) % 5]), X.shape[1]
    release = microaggregate(table, k, columns=list(range(last)), method=info.key, closeness={last: 1.0})
    return replace(release, table=release.table[:, :last])


def _same_labels(info: MethodInfo, X: NDArray, k: int, expected: NDArray, when: str) -> None:
    with _showing(info, X, k):
        labels = _protect(info, X, k).labels
        _require(np.array_equal(labels, expected), f"the labels differ {when}")


def _matrix(info: MethodInfo, X: NDArray) -> NDArray:
    """What the pipeline would hand to the method: standardised, or whole numbers as they are."""
    X = X[:, :1] if info.columns == "one" else X
    return np.rint(X).astype(np.int64) if info.input == "raw" else standardise(list(X.T))[0]


def _most(info: MethodInfo, n: int) -> int:
    """So many records, or few for a method that proves its outcome: with each more it takes longer."""
    return min(n, 13) if info.proves else n


def _untied(info: MethodInfo, n: int) -> NDArray:
    """A table for the method, of whole numbers without ties: a shift by 1e9 is exact."""
    shape = (_most(info, n), 1 if info.columns == "one" else 3)
    X = np.random.default_rng(0).choice(1_000_000, shape, replace=False)
    return X if info.input == "raw" else X.astype(float)


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
        return 7.0 + rng.normal(size=(n, d)) * (np.arange(d) > 0), k
    return rng.normal(size=(1 + n // 5, d))[rng.integers(0, 1 + n // 5, n)], k


def check_partition(info: MethodInfo) -> None:
    """Every record in exactly one group, every group at least k, and at most 2k-1 where promised."""

    @_settings
    @given(tables(_most(info, 40)))
    def holds(case: tuple[NDArray, int]) -> None:
        X, k = case
        with _showing(info, X, k):
            labels = _run(info, X, k).labels
            sizes = np.bincount(labels)
            _require(len(labels) == len(X), f"{len(X)} records have {len(labels)} labels")
            _require(labels.dtype == np.int64, f"labels are {labels.dtype}, not int64")
            _require(sizes.min() >= k, f"a group has {sizes.min()} records, fewer than k")
            if info.sizes == "k..2k-1":
                _require(sizes.max() < 2 * k, f"a group has {sizes.max()} records, more than 2k-1")

    holds()


def check_sizes(info: MethodInfo) -> None:
    """The sizes at which the arithmetic of groups turns over."""
    for k in (2, 3) if info.proves else (2, 3, 5):
        for n in (k, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 4 * k + 1):
            for X in (_untied(info, n), np.ones((n, 2)), np.arange(2.0 * n).reshape(n, 2) // 3):
                with _showing(info, X, k):
                    smallest = _run(info, X, k).sizes.min()
                    _require(smallest >= k, f"a group has {smallest} records, fewer than k")


def check_identity(info: MethodInfo) -> None:
    """k = 1 leaves every record alone, and loses nothing."""
    X = _untied(info, 7)
    with _showing(info, X, 1):
        release = _protect(info, X, 1)
        _require(np.array_equal(release.table, X), "k = 1 changes values")
        _require(release.information_loss == 0.0, "k = 1 loses information")
        _require(np.array_equal(release.labels, np.arange(7)), "k = 1 joins records")


def check_input_untouched(info: MethodInfo) -> None:
    """Any memory layout and read-only input give the same labels, and the input stays as it was."""
    X = _untied(info, 31)
    before = X.copy()
    with _showing(info, before, 3):
        expected = _protect(info, X, 3).labels
        _require(np.array_equal(X, before), "the input was changed")
    wide = np.zeros((2 * len(X), 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    for same in (np.asfortranarray(X), wide[::2, ::2], locked):
        _same_labels(info, same, 3, expected, "with the layout of the input in memory")


def check_seed(info: MethodInfo) -> None:
    """The same seed gives the same labels."""
    X = _untied(info, 60)
    with _showing(info, X, 3):
        once, again = (_run(info, X, 3, seed=7).labels for _ in range(2))
        _require(np.array_equal(once, again), "the same seed gives other labels")


def check_means(info: MethodInfo) -> None:
    """The columns' means are those of the original."""
    X = np.exp(np.random.default_rng(1).normal(size=_untied(info, 50).shape))
    X = np.rint(1e6 * X) if info.input == "raw" else X
    with _showing(info, X, 3):
        means = _protect(info, X, 3).table.mean(axis=0)
        _require(np.allclose(means, X.mean(axis=0), rtol=1e-12), "the columns have other means")


def check_shift_and_scale(info: MethodInfo) -> None:
    """Adding 1e9 to a column or scaling it by 1e-9 leaves the labels as they were."""
    X = _untied(info, 60)
    with _showing(info, X, 3):
        expected = _protect(info, X, 3).labels
    shifted = X.copy()
    shifted[:, 0] += 10**9
    _same_labels(info, shifted, 3, expected, "after adding 1e9 to a column")
    if info.input == "standard":
        scaled = X.copy()
        scaled[:, 0] *= 1e-9
        _same_labels(info, scaled, 3, expected, "after scaling a column by 1e-9")


def check_never_below_the_optimum(info: MethodInfo) -> None:
    """On a few records the SSE is never below the brute-force optimum, and equal to it where claimed."""

    @settings(_settings, max_examples=10)
    @given(tables(largest=9))
    def holds(case: tuple[NDArray, int]) -> None:
        X, k = case
        with _showing(info, X, k):
            matrix = _matrix(info, X)
            labels = _run(info, X, k).labels
            sse = sum(_sse(matrix[labels == g], info.whole) for g in range(labels.max() + 1))
            least = brute_force(matrix, k, info.whole)
            _require(sse >= least * (1 - 1e-9), f"SSE {sse} is below the optimum {least}: no partition")
            if info.optimal:
                _require(sse <= least * (1 + 1e-9) + 1e-12, f"SSE {sse} is not the optimum {least}")

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
