"""Groups that are too large are split on their own records."""

import numpy as np
import pytest

from shoal.algorithms._split import split_large
from shoal.algorithms.fixed_size import centroid
from shoal.grouping.partition import Partition


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(120, 4))
    X.flags.writeable = False  # as the methods get it
    return X


def test_large_groups_are_split_on_their_own_records(X):
    labels = np.arange(120) % 3
    parts = split_large(X, labels, 7, centroid)
    for g in range(3):
        inside = parts[labels == g]
        assert Partition(inside).labels.tolist() == Partition(centroid(X[labels == g], 7)).labels.tolist()
        assert not set(inside) & set(parts[labels != g])
    assert sorted(set(parts)) == list(range(parts.max() + 1))
    assert split_large(X, parts, 7, centroid).tolist() == parts.tolist()
