"""Groups come to hold what is required: never infeasible, near the constrained optimum, free where all holds."""

import functools

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method, run_within
from shoal.requirements.contributors import Contributors
from shoal.requirements.units import Units
from shoal.stages.require import _blocks, failing, hold


def all_partitions(n, k):
    """Every division of n records into groups of at least k, as lists of bit masks."""

    def divide(rest):
        if not rest:
            yield ()
            return
        first = rest & -rest
        others = rest ^ first
        subset = others
        while True:
            if (subset | first).bit_count() >= k:
                for more in divide(others ^ subset):
                    yield (subset | first, *more)
            if not subset:
                return
            subset = (subset - 1) & others

    return divide((1 << n) - 1)


def optimum(X, k, requirements):
    """The least SSE of all partitions whose groups hold, by trying each."""
    n = len(X)

    @functools.cache
    def cost(mask):
        rows = np.array([i for i in range(n) if mask >> i & 1])
        if not all(requirement.holds(rows) for requirement in requirements):
            return np.inf
        return float(np.square(X[rows] - X[rows].mean(axis=0)).sum())

    return min(sum(map(cost, groups)) for groups in all_partitions(n, k))


def case(kind, rng, n, k):
    X = rng.normal(size=(n, 2))
    if kind == "units":
        units = rng.integers(0, n // 2 + 1, n)
        X += 2 * rng.normal(size=(n, 2))[units]  # records of one unit are alike
        return X, [Units.of(units, k)]
    weight = rng.choice([0.0, 1.0, 1.0, 30.0], n)
    gaps = rng.random(n) < 0.4
    column = Column("x", "continuous", np.where(gaps, 0, X[:, 0]), gaps)
    return X, [Contributors.of(column, 2, 0.8, weight), Contributors.of(Column("y", "continuous", X[:, 1]), 2, 0.8, weight)]


@pytest.mark.parametrize("kind", ["units", "contributors"])
@pytest.mark.parametrize("k", [2, 3])
def test_near_the_constrained_optimum_and_never_infeasible(kind, k):
    rng = np.random.default_rng(k)
    ratios = []
    while len(ratios) < 25:
        X, required = case(kind, rng, int(rng.integers(6, 10)), k)
        if not all(requirement.holds(np.arange(len(X))) for requirement in required):
            continue
        start = run_method(get_method("mdav"), X, k)
        part = hold(start, X, k, None, required)
        assert part.sizes.min() >= k
        assert not failing(part, required).any()
        if failing(start, required).any():
            ratios.append(part.sse(X) / optimum(X, k, required))
        else:
            assert part is start
    assert min(ratios) > 1 - 1e-9
    assert np.mean(ratios) < 1.05
