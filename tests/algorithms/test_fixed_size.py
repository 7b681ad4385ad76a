"""V-MDAV extends its groups by gamma."""

import numpy as np
import pytest
from benchmarks import plain

from shoal.algorithms.fixed_size import vmdav
from shoal.errors import InputError
from shoal.grouping.partition import Partition


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(120, 4))
    X.flags.writeable = False  # as the methods get it
    return X


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 100.0])
def test_vmdav_extends_by_gamma(X, gamma):
    labels = vmdav(X, 4, gamma=gamma)
    assert Partition(labels).labels.tolist() == Partition(plain.vmdav(X, 4, gamma)).labels.tolist()
    sizes = Partition(labels).sizes
    assert (sizes.max() == 4) if gamma == 0 else (sizes.max() <= 2 * 4 - 1 + 3)
    if gamma == 100:
        assert (sizes >= 7).sum() > len(sizes) / 2  # almost every record may join


def test_vmdav_follows_natural_groups():
    # Groups of five, far apart: with k = 3 each is one group if records join readily.
    X = np.repeat(np.array([[0.0], [100.0], [300.0]]), 5, axis=0) + np.tile(np.arange(5.0), 3)[:, None]
    assert sorted(Partition(vmdav(X, 3, gamma=1.1)).sizes.tolist()) == [5, 5, 5]
    with pytest.raises(InputError, match="gamma must be 0 or more"):
        vmdav(X, 3, gamma=-1.0)
