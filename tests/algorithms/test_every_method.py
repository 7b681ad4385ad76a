"""Every check of shoal.testing over every registered method."""

import numpy as np
import pytest

from shoal import testing as checks
from shoal.errors import InputError
from shoal.grouping.registry import method, methods


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("key", list(methods()))
def test_method(key, check):
    check(methods()[key])


def test_a_method_that_breaks_its_promise_is_caught(monkeypatch):
    monkeypatch.setattr("shoal.grouping.registry._registry", dict(methods()))

    @method(title="Alone", paper="none", sizes="k..2k-1", cost="n")
    def alone(X, k):
        """Every record for itself."""
        return np.arange(len(X))

    with pytest.raises(AssertionError, match="fewer than k"):
        checks.check_method("alone")


def test_brute_force_on_a_case_solved_by_hand():
    X = np.array([[0.0], [1.0], [10.0], [12.0], [11.0]])
    assert checks.brute_force(X, 2) == pytest.approx(0.5 + 2.0)
    assert checks.brute_force(np.array([[0], [1], [10], [12], [11]]), 2, integer=True) == 1 + 2


def test_checking_an_unknown_method_names_the_nearest():
    with pytest.raises(InputError, match="'mdva': did you mean 'mdav'"):
        checks.check_method("mdva")
