"""What is counted of a column that comes batch by batch: levels of a category, different numbers."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.frame.column import Column, Whole
from shoal.stages.encode import Levels, levels_of
from shoal.stages.moments import Moments, Scale

#: Different numbers of a column whose distribution each block is compared with: 16 bytes each, and as many
#: again for each block at work.
MOST_DISTINCT = 2_000_000


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each level of a category occurs, beside so many gaps: what `Moments` are for numbers."""

    type: str
    levels: Ints
    gaps: int

    @property
    def present(self) -> int:
        return int(self.levels.sum())

    def scale(self) -> Scale | Levels:
        """As coordinates in the space where loss is measured."""
        if self.type == "nominal":
            return levels_of(self.levels, "standard")
        codes, count = np.arange(len(self.levels)), max(self.present, 1)
        mean = float(codes @ self.levels) / count
        squares = float(np.square(codes - mean) @ self.levels)
        return Moments(count, self.gaps, 0, len(codes) - 1, 0, mean, squares).scale()

    def whole(self) -> Whole:
        """What groups of a block are compared with."""
        return Whole(np.arange(len(self.levels)), np.append(self.levels, self.gaps))

    def middle(self) -> int:
        """The commonest level, where gaps are thought to lie."""
        return int(np.argmax(self.levels))


class Distinct:
    """The different numbers of a column, and how often each occurs, batch by batch."""

    def __init__(self) -> None:
        self.values: NDArray = np.zeros(0, np.int64)
        self.counts, self.gaps, self._name = np.zeros(0, np.int64), 0, ""

    def add(self, column: Column) -> None:
        """The cells of one more batch."""
        self._name, values = column.name, column.present
        self.gaps += column.gap_count
        self._take(values, np.ones(len(values), np.int64))

    def merge(self, other: "Distinct") -> None:
        """Those of another part of the table."""
        self._name, self.gaps = other._name, self.gaps + other.gaps
        self._take(other.values, other.counts)

    def _take(self, values: NDArray, counts: Ints) -> None:
        values = np.concatenate([self.values, values]) if len(self.values) else values
        self.values, place = np.unique(values, return_inverse=True)
        self.counts = np.bincount(place, np.append(self.counts, counts)).astype(np.int64)
        if len(self.values) > MOST_DISTINCT:
            raise InputError(
                f"column {self._name!r} has more than {MOST_DISTINCT:,} different numbers, too many for "
                "closeness in blocks: round it first, leave that out, or protect the table in memory "
                "(--engine memory)"
            )

    def whole(self) -> Whole:
        return Whole(self.values, np.append(self.counts, self.gaps))


def tally(listed: Counter[Any], cells: pa.Array) -> None:
    """Count the cells of one more batch of a category."""
    listed.update({found["values"]: found["counts"] for found in pc.value_counts(cells).to_pylist()})
