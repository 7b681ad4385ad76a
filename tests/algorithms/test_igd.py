"""IGD improves any start, and refuses what is none."""

import numpy as np
import pytest

from shoal.algorithms.igd import igd
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(120, 4))
    X.flags.writeable = False  # as the methods get it
    return X


@pytest.mark.parametrize("kind", ["mdav", "dba2", "cbfs", "random"])
def test_igd_improves_any_start(X, kind):
    if kind == "random":
        start = np.random.default_rng(1).permutation(120) // 5
        before = Partition(start).sse(X)
    else:
        start = kind
        before = run_method(get_method(kind), X, 5).sse(X)
    partition = run_method(get_method("igd"), X, 5, parameters={"start": start})
    assert partition.sse(X) <= before * (0.8 if kind == "random" else 1)


def test_igd_takes_labels_or_the_key_alike(X):
    labels = run_method(get_method("cbfs"), X, 4).labels
    assert igd(X, 4, start="cbfs").tolist() == igd(X, 4, start=labels).tolist()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("mdaw", "did you mean 'mdav'"),
        ("igd", "would start from itself"),
        (np.zeros(7, np.int64), "each of the 120 records"),
        (np.linspace(0, 1, 120), "each of the 120 records"),
        (np.arange(120) // 3, "a group of 3 records, but k=4"),
    ],
)
def test_igd_refuses_what_is_no_start(X, start, message):
    with pytest.raises(InputError, match=message):
        igd(X, 4, start=start)
