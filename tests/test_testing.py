"""Whatever a method does wrong, `check_method` raises AssertionError and shows the table."""

import subprocess
import sys

import numpy as np
import pytest

from shoal import testing
from shoal.errors import CheckFailed
from shoal.grouping.registry import get_method, method, methods


@pytest.fixture
def register(monkeypatch):
    monkeypatch.setattr("shoal.grouping.registry._registry", dict(methods()))
    return method(title="Broken", paper="none", sizes="k..", cost="n")


def good(X, k):
    return np.minimum(np.arange(len(X)) // k, len(X) // k - 1)


def test_labels_that_are_refused_are_a_broken_promise(register):
    @register
    def broken(X, k):
        return np.arange(len(X))

    with pytest.raises(AssertionError) as raised:
        testing.check_method("broken")
    assert "'broken' breaks a promise" in str(raised.value)
    assert "groups have fewer than k" in str(raised.value)
    assert "with k=2:\n[[" in str(raised.value)
    assert isinstance(raised.value.__cause__, CheckFailed)


def test_an_error_of_the_method_is_a_broken_promise(register):
    @register
    def broken(X, k):
        return 1 // 0

    with pytest.raises(AssertionError, match=r"ZeroDivisionError.*shown by this table"):
        testing.check_method("broken")


def test_a_method_that_forgets_its_seed_is_caught(register):
    rng = np.random.default_rng(0)

    @register
    def broken(X, k):
        return good(X, k)[rng.permutation(len(X))]

    with pytest.raises(AssertionError, match="the same seed gives other labels; shown by this table of 60"):
        testing.check_seed(get_method("broken"))


def test_the_checks_hold_without_assert_statements(tmp_path):
    """`python -O` leaves assert statements out."""
    code = (
        "import numpy as np\n"
        "from shoal.grouping.registry import method, get_method\n"
        "from shoal.testing import check_seed\n"
        "rng = np.random.default_rng(0)\n"
        "@method(title='', paper='', sizes='k..', cost='n')\n"
        "def broken(X, k):\n"
        "    return rng.permutation(np.arange(len(X)) % (len(X) // k))\n"
        "try:\n    check_seed(get_method('broken'))\nexcept AssertionError:\n    print('caught')\n"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "caught\n"
