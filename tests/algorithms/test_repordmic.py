"""RepOrdMic: its rounds and its starts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.orders import group_order
from shoal.algorithms.repordmic import kmeans_starts, repeated_ordering
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.search.kmeans import kmeans

REPORDMIC = get_method("repordmic")


def run(X, k, seed=0, **parameters):
    return run_method(REPORDMIC, X, k, seed=seed, parameters=parameters)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(6, 60),
    st.integers(2, 3),
    st.booleans(),
    st.sampled_from(["nearest", "cheapest"]),
    st.integers(0),
)
def test_sse_never_rises_from_the_second_round_on(n, k, ties, insertion, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    X.flags.writeable = False
    for outcome in repeated_ordering(X, k, [rng.integers(0, 1 + n // 4, n)], insertion):
        assert (np.diff(outcome.sse) <= 1e-9).all()
        assert len(outcome.sse) >= 2
        assert outcome.sse[-1] == pytest.approx(Partition(outcome.labels).sse(X), abs=1e-9)
        Partition(outcome.labels).check(k, n, 2 * k - 1)


def test_the_outcome_does_not_depend_on_threads(monkeypatch):
    X = np.random.default_rng(5).normal(size=(120, 3))
    X.flags.writeable = False
    starts, outcomes = [], []
    for threads in "13":
        monkeypatch.setenv("SHOAL_THREADS", threads)
        starts.append(kmeans_starts(X, 9, np.random.default_rng(1)))
        outcomes.append(repeated_ordering(X, 3, starts[0]))
    assert [a.tolist() for a in starts[0]] == [b.tolist() for b in starts[1]]
    for a, b in zip(*outcomes):
        assert a.labels.tolist() == b.labels.tolist()
        assert a.sse.tolist() == b.sse.tolist()


def test_starts_and_start():
    X = np.random.default_rng(6).normal(size=(80, 2))
    X.flags.writeable = False
    sse = [run(X, 4, starts=starts).sse(X) for starts in (1, 5, 30, 500)]
    assert sse == sorted(sse, reverse=True)  # the starts of fewer are among those of more
    mdav = run_method(get_method("mdav"), X, 4)
    assert run(X, 4, start="mdav").labels.tolist() == run(X, 4, start=mdav.labels).labels.tolist()
    assert run(X, 4, start="mdav").sse(X) <= mdav.sse(X)
    assert run(X, 4, start=np.zeros(80, int)).labels.tolist() == run(X, 4, starts=1).labels.tolist()
    assert run(X, 4, start=np.zeros(80, int), insertion="cheapest").sse(X) > 0
    assert sorted(group_order(X, mdav.labels, "cheapest")) == list(range(80))


def test_progress_rises_to_one():
    heard = []
    run_method(REPORDMIC, np.random.default_rng(0).normal(size=(40, 2)), 3, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len(heard) == 20


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"starts": 0}, "starts must be a whole number of at least 1"),
        ({"starts": 2.5}, "starts must be a whole number of at least 1"),
        ({"insertion": "best"}, "insertion must be 'nearest' or 'cheapest', but is 'best'"),
        ({"start": [0, 1]}, "one whole number for each of the 10 records"),
        ({"start": "mdaw"}, "unknown method 'mdaw'"),
    ],
)
def test_what_is_refused(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        run(np.arange(20.0).reshape(10, 2), 3, **parameters)


def test_kmeans_finds_well_separated_clusters():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 25)
    X = 100.0 * np.eye(4)[truth] + rng.normal(size=(100, 4))
    X.flags.writeable = False  # as methods get it: one compiled version
    labels = Partition(kmeans(X, rng.random(4))).labels
    assert labels.tolist() == truth.tolist()
    one = np.broadcast_to(X[:1], (10, 4)).copy()
    one.flags.writeable = False
    assert set(kmeans(one, rng.random(3))) == {0}  # fewer places than clusters


def test_records_that_are_numbered_anew_make_the_same_groups():
    X = np.random.default_rng(3).normal(size=(400, 3))
    starts = [np.zeros(400, int), np.arange(400) % 3]
    usual = repeated_ordering(X, 4, starts)
    for before, after in zip(usual, repeated_ordering(X, 4, starts, scattered=100)):
        assert np.allclose(before.sse, after.sse, rtol=1e-12)
        assert len(set(zip(before.labels, after.labels))) == before.labels.max() + 1 == after.labels.max() + 1
