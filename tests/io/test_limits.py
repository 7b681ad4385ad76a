"""What a file may ask of the machine."""

import pytest

from shoal.errors import InputError
from shoal.io import limits


def test_memory_is_that_of_the_machine():
    assert limits.memory() > 1 << 28


def test_more_than_half_of_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "memory", lambda: 4_000_000_000)
    limits.refuse_memory(2_000_000_000, "big.csv")
    with pytest.raises(InputError, match=r"'big\.csv' takes 2\.1 GB, more than half of the memory there is"):
        limits.refuse_memory(2_100_000_000, "big.csv")
