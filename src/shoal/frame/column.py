"""One column as numbers, whatever it holds."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.words import CATEGORIES


class Whole(NamedTuple):
    """A column in the whole table, of which the records at hand are a block."""

    values: NDArray  # that occur, in order
    counts: Ints  # how often each occurs; the last is how many gaps there are
    deviation: float = 0.0  # of numbers


class Measured(NamedTuple):
    """How the loss of a recoded column is measured in the whole table, of which the records are a block."""

    scale: Any  # of the column as it was
    places: NDArray | None = None  # of a category: where each level lies that others became


@dataclass(frozen=True, eq=False)
class Column:
    """A column to group by.

    `values` are the column's own numbers; of a date its count of days (or finer units); of a category its
    position among the levels that occur, in order. Where `gaps` is true the value is 0 and means nothing.
    """

    name: Any
    type: str
    values: NDArray
    gaps: Bools | None = None
    first: Ints | None = None  # of a category: for each level, a row that has it
    gap_row: int = -1  # of a category: a row that has a gap
    stored: pa.DataType | None = None  # of dates, decimals and numbers spelled as text: the type to give back
    coded: int = 0  # cells that hold a code for a gap
    code: Any = None  # of numbers: such a code, for types that have no gaps
    before: "Column | None" = None  # the same column before it was recoded
    measured: Measured | None = None  # of a recoded column of a block
    decimals: int | None = None  # to round what is published to
    marks: Ints | None = None  # of gaps: which of `signs` the file has there, 1, 2, ..; 0 for none
    signs: pa.Array | None = None  # the values that the file itself calls missing
    whole: Whole | None = None  # what groups of a block are compared with

    @property
    def categorical(self) -> bool:
        return self.type in CATEGORIES

    @property
    def present(self) -> NDArray:
        """The values that are there."""
        return self.values if self.gaps is None else self.values[~self.gaps]

    @property
    def there(self) -> Bools:
        """Which records have a value."""
        return np.ones(len(self.values), bool) if self.gaps is None else ~self.gaps

    @property
    def holes(self) -> NDArray | None:
        """What is missing: 0 where a value is, 1 for a plain gap, more for each of the signs."""
        return self.gaps if self.gaps is None or self.marks is None else self.gaps + self.marks

    @property
    def gap_count(self) -> int:
        return 0 if self.gaps is None else int(self.gaps.sum())

    def holding(self, values: NDArray, gaps: Bools | None) -> "Column":
        """The same column with other cells."""
        return replace(self, values=values, gaps=gaps, before=None, measured=None, marks=None)

    def at(self, rows: Ints) -> "Column":
        """The cells at these rows."""
        part = self.holding(self.values[rows], None if self.gaps is None else self.gaps[rows])
        return part if self.marks is None else replace(part, marks=self.marks[rows])

    def codes(self) -> pa.Array | None:
        """The signs for gaps, cell by cell, where a file has them."""
        if self.marks is None or self.signs is None or not self.marks.any():
            return None
        return self.signs.take(pa.array(self.marks - 1, mask=self.marks == 0))

    def filled(self, value: int | float) -> NDArray:
        """The values, with this one in the place of gaps."""
        if self.gaps is None:
            return self.values
        return np.where(self.gaps, self.values.dtype.type(value), self.values)

    def to_arrow(self) -> pa.Array:
        """The cells as an Arrow array: dates, decimals and dates written as text in the type they came in."""
        stored = self.stored
        if stored is not None and pa.types.is_decimal(stored):
            cells = [Decimal(value).scaleb(-stored.scale) for value in self.values.tolist()]
            return pa.array(cells, stored, mask=self.gaps)
        if stored is None or self.type != "date":
            cells = pa.array(self.values, mask=self.gaps)
            return cells if stored is None else cells.cast(stored)  # numbers that were spelled as text
        kind = stored if pa.types.is_temporal(stored) else pa.date32()
        width = np.int32 if kind.bit_width == 32 else np.int64
        return pa.array(self.values.astype(width), mask=self.gaps).cast(kind).cast(stored)

    def rows_of_levels(self) -> Ints:
        """Of a category: for each cell, a row of the original that holds what it shall hold."""
        rows = np.full(len(self.values), self.gap_row, np.int64)
        there = slice(None) if self.gaps is None else ~self.gaps
        rows[there] = self.first[self.present]  # type: ignore[index]
        return rows

    def rows(self, chosen: Bools) -> "Column":
        """The same column with only some rows."""
        part = self.at(np.flatnonzero(chosen))
        if self.categorical:
            return categories(self.name, self.type, part.values, part.gaps)
        return part if part.gap_count else part.holding(part.values, None)


def categories(name: Any, kind: str, codes: NDArray, gaps: Bools | None) -> Column:
    """A categorical column from codes in the order of the levels; levels that do not occur are left out."""
    gaps = gaps if gaps is not None and gaps.any() else None
    present = np.arange(len(codes)) if gaps is None else np.flatnonzero(~gaps)
    _, first, inverse = np.unique(codes[present], return_index=True, return_inverse=True)
    dense = np.zeros(len(codes), np.int64)
    dense[present] = inverse
    return Column(name, kind, dense, gaps, present[first], -1 if gaps is None else int(np.argmax(gaps)))
