"""A finished release beside its original, for who measures it, whichever engine made it."""

from typing import NamedTuple

from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.frame.large import LargeTable
from shoal.io.limits import memory

#: Bytes of memory that measures take for each record: python -m benchmarks.streams --what protect.
MEASURED = 120


class Placed(NamedTuple):
    """Both tables, record by record; columns are read when they are asked for."""

    original: LargeTable
    released: LargeTable  # in the order of the original
    labels: NDArray  # of whole numbers
    units: Ints | None


def refuse_unmeasurable(records: int) -> None:
    """Say before the work that this machine cannot measure so many records."""
    if records * MEASURED > memory():
        raise InputError(
            f"to measure {records:,} records takes {records * MEASURED / 2**30:.0f} GiB of memory, more than "
            "this machine has: ask for no report, bound or price, or take a larger one"
        )
