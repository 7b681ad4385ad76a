"""What a file may ask of the machine."""

from shoal.io import limits


def test_memory_is_that_of_the_machine():
    assert limits.memory() > 1 << 28
