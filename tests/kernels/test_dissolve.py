"""The dissolving and the shrinking pass."""

import numpy as np
import pytest
from benchmarks import plain

from shoal.grouping.partition import Partition
from shoal.kernels.search.dissolve import dissolve, shrink


def readonly(X):
    """As the methods get it: numba compiles once."""
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("seed", range(12))
def test_dissolve_as_the_plain_version(seed):
    rng = np.random.default_rng(seed)
    n, k = 60, 3
    X = readonly(rng.normal(size=(n, 3)))
    labels = rng.permutation(n) // k if seed % 2 else plain.mdav(X, k)
    order = rng.permutation(labels.max() + 1)
    limit = (n, 4 * k - 1, k + 1)[seed % 3]
    found = Partition(dissolve(X, labels, order, limit))
    assert (
        found.labels.tolist() == Partition(plain.dissolve(X, labels, order.tolist(), limit)).labels.tolist()
    )
    assert found.sizes.max() <= max(limit, k)
    assert found.sse(X) <= Partition(labels).sse(X) * (1 + 1e-12)


def test_dissolve_by_hand():
    # The middle pair costs 50 where it is (SSE of 0 and 10), but only 2/3 + 2/3 at the two ends.
    X = readonly(np.array([[-1.0], [-1.0], [0.0], [10.0], [11.0], [11.0]]))
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert dissolve(X, labels, np.array([1, 0, 2]), 6).tolist() == [0, 0, 0, 2, 2, 2]
    assert dissolve(X, labels, np.array([1, 0, 2]), 2).tolist() == labels.tolist()  # nobody has room


def test_a_single_group_stays():
    X = readonly(np.arange(4.0)[:, None])
    assert dissolve(X, np.zeros(4, np.int64), np.array([0]), 4).tolist() == [0, 0, 0, 0]
    assert shrink(X, np.zeros(4, np.int64), 2).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_shrink_as_the_plain_version(seed):
    rng = np.random.default_rng(seed)
    X = readonly(rng.normal(size=(50, 3)))
    labels = rng.permutation(50) // 5
    found = Partition(shrink(X, labels, 3))
    assert found.labels.tolist() == Partition(plain.shrink(X, labels, 3)).labels.tolist()
    assert found.sizes.min() >= 3
    assert found.sse(X) < Partition(labels).sse(X)
