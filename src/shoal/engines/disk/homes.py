"""In which leaf all records of a unit lie: that of its record with the least key."""

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints

_HOME = np.dtype([("unit", np.int64), ("key", np.int64), ("leaf", np.int64)])


class Homes:
    """The home of each unit, from batches of records; 24 bytes of memory for each unit."""

    def __init__(self) -> None:
        self._found = np.zeros(0, _HOME)  # one for each unit, in order
        self._new: list[NDArray] = []

    def add(self, units: Ints, keys: Ints, leaves: NDArray) -> None:
        """The records of one more batch."""
        records = np.empty(len(units), _HOME)
        records["unit"], records["key"], records["leaf"] = units, keys, leaves
        self._new.append(_least(records))
        if sum(map(len, self._new)) > len(self._found):
            self.finish()

    def finish(self) -> "Homes":
        """Take in what is new; then `of` can be asked."""
        self._found = _least(np.concatenate([self._found, *self._new]))
        self._new = []
        return self

    def of(self, units: Ints) -> Ints:
        """The leaf of each of these records' units."""
        return self._found["leaf"][np.searchsorted(self._found["unit"], units)]

    def counts(self) -> dict[int, int]:
        """How many units each leaf has."""
        leaves, counts = np.unique(self._found["leaf"], return_counts=True)
        return dict(zip(leaves.tolist(), counts.tolist()))


def _least(records: NDArray) -> NDArray:
    """Of each unit the record with the least key."""
    records = records[np.lexsort([records["leaf"], records["key"], records["unit"]])]
    units = records["unit"]
    return records[np.r_[True, units[1:] != units[:-1]]] if len(records) else records
