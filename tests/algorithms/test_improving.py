"""What the methods take beside k: IGD's start, V-MDAV's gamma; and Multi-DSort's sorting."""

import numpy as np
import pytest
from benchmarks import plain

from shoal.algorithms._split import split_large
from shoal.algorithms.fixed_size import centroid, vmdav
from shoal.algorithms.igd import igd
from shoal.algorithms.pairwise import rank_sums, value_orders
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(120, 4))
    X.flags.writeable = False  # as the methods get it
    return X


def test_multi_dsort_sorts_the_papers_five_rows():
    # Multi-DSort paper, Tables 1 to 3: rank sums 9, 8, 4, 3, 6; the rows in order are 4, 3, 5, 2, 1.
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    sums = rank_sums(value_orders(rows), 5, np.ones(5, np.bool_))
    assert sums.tolist() == [9, 8, 4, 3, 6]
    assert (np.argsort(sums) + 1).tolist() == [4, 3, 5, 2, 1]


def test_ranks_are_counted_among_the_free_records_only():
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    orders = value_orders(rows)
    free = np.array([True, True, False, False, True])
    assert rank_sums(orders, 5, free).tolist() == [5, 4, 0, 0, 3]
    free[4] = False
    assert rank_sums(orders, 3, free).tolist() == [3, 3, 0, 0, 0]


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


def test_large_groups_are_split_on_their_own_records(X):
    labels = np.arange(120) % 3
    parts = split_large(X, labels, 7, centroid)
    for g in range(3):
        inside = parts[labels == g]
        assert Partition(inside).labels.tolist() == Partition(centroid(X[labels == g], 7)).labels.tolist()
        assert not set(inside) & set(parts[labels != g])
    assert sorted(set(parts)) == list(range(parts.max() + 1))
    assert split_large(X, parts, 7, centroid).tolist() == parts.tolist()
