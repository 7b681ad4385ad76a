"""The registry and the one door to every method."""

import numpy as np
import pytest

from shoal.errors import CheckFailed, InputError
from shoal.grouping.registry import get_method, method, methods
from shoal.grouping.runner import run_method


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr("shoal.grouping.registry._registry", dict(methods()))


@pytest.fixture
def example(registry):
    @method(title="Example", paper="none", sizes="k..2k-1", cost="n")
    def example(X, k, *, gamma=0.5, turn=False, start="mdav", rng, progress, time_limit):
        """Takes everything.

        And returns slices.
        """
        assert not X.flags.writeable
        assert rng.integers(1000) == np.random.default_rng(5).integers(1000)
        assert (progress, time_limit) == (None, 3.0)
        return np.minimum(np.arange(len(X)) // k, len(X) // k - 1)

    return methods()["example"]


def test_facts_come_from_signature_and_docstring(example):
    assert dict(example.parameters) == {"gamma": 0.5, "turn": False, "start": "mdav"}
    assert example.supplied == ("rng", "progress", "time_limit")
    assert example.summary == "Takes everything."


def test_the_door_supplies_what_a_method_names(example):
    partition = run_method(example, np.zeros((7, 2)), 3, seed=5, time_limit=3.0)
    assert partition.sizes.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"gama": 1}, "no parameter 'gama': did you mean 'gamma'"),
        ({"gamma": "wide"}, "gamma of method 'example' must be a number, such as 0.5, not 'wide'"),
        ({"gamma": True}, "must be a number"),
        ({"turn": 1}, "turn of method 'example' must be true or false"),
    ],
)
def test_wrong_parameters_in_one_sentence(example, parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        get_method("example", parameters)
    assert get_method("example", {"gamma": 2, "turn": True, "start": np.zeros(3)}) is example


def test_small_tables_are_answered_at_the_door(registry):
    @method(title="Never", paper="none", sizes="k..2k-1", cost="n")
    def never(X, k):
        raise AssertionError("not called")

    info = methods()["never"]
    assert run_method(info, np.zeros((5, 1)), 1).labels.tolist() == [0, 1, 2, 3, 4]
    assert run_method(info, np.zeros((5, 1)), 3).labels.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 0, 0, 0, 0, 1], "1 groups have fewer than k=2"),
        ([0, 0, 0, 0, 1, 1], "a group has 4 records, more than the 3 its method promises"),
        ([0, 0, 1, 1], "6 records went in, 4 labels came out"),
    ],
)
def test_a_broken_promise_is_never_released(registry, labels, sentence):
    @method(title="Broken", paper="none", sizes="k..2k-1", cost="n")
    def broken(X, k):
        return np.array(labels)

    with pytest.raises(CheckFailed, match=sentence):
        run_method(methods()["broken"], np.zeros((6, 1)), 2)
