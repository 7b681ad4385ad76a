"""Batches of Arrow data as the numbers to group by, and back; what a column holds over all batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.frame.column import Column
from shoal.stages.encode import Scale


@dataclass(frozen=True)
class Kind:
    """A column to protect: its name, what it holds, and the Arrow type that it is stored in."""

    name: str
    type: str  # integer, continuous or date
    stored: Any

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers in memory, and not only by what they hold."""
        import pyarrow.types as types

        return not types.is_floating(self.stored)

    def read(self, cells: Any, first_row: int | None = None) -> Column:
        """The cells of one batch; `first_row` is the place of its first row in the whole table."""
        import pyarrow as pa

        cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        if self.type == "date":
            cells = cells.cast(pa.int32() if cells.type.bit_width == 32 else pa.int64()).cast(pa.int64())
        gaps = cells.is_null().to_numpy(zero_copy_only=False) if cells.null_count else None
        values = cells.fill_null(0).to_numpy(zero_copy_only=False)
        if values.dtype == np.float16:
            values = values.astype(np.float32)
        if values.dtype.kind == "f":
            nan = np.isnan(values)
            if np.isinf(values).any():
                raise InputError(
                    f"column {self.name!r} has the value {values[np.isinf(values)][0]}"
                    f"{_in_row(np.isinf(values), first_row)}: an infinite value has no distance; "
                    "replace it, or leave the column out"
                )
            if nan.any():
                gaps = nan if gaps is None else gaps | nan
                values = np.where(gaps, values.dtype.type(0), values)
            values = values + values.dtype.type(0)  # no negative zero: equal values are equal bit for bit
            if self.type == "integer" and (fraction := values != np.rint(values)).any():
                raise InputError(
                    f"column {self.name!r} is said to hold whole numbers, but has {values[fraction][0]}"
                    f"{_in_row(fraction, first_row)}: mend it, or call it 'continuous'"
                )
        return Column(self.name, self.type, values, gaps)

    def cells(self, values: NDArray, gaps: NDArray[np.bool_] | None) -> Any:
        """Published values as Arrow cells of the column's own type."""
        import pyarrow as pa

        if self.type == "date" and self.stored.bit_width == 32:
            values = values.astype(np.int32)
        return pa.array(values, mask=gaps).cast(self.stored)


def _in_row(where: NDArray[np.bool_], first_row: int | None) -> str:
    return "" if first_row is None else f" in row {first_row + int(np.argmax(where)) + 1}"


def kinds(schema: Any, chosen: Sequence[str] | None, besides: Any, said: Mapping[str, str]) -> list[Kind]:
    """The columns to protect: those named, or every numeric one `besides` those that have another role."""
    names = chosen
    if names is None:
        names = [f.name for f in schema if _type_of(f.type) not in (None, "date") and f.name not in besides]
        if not names:
            raise InputError("the table has no numeric column: shoal groups records by numbers")
    found = []
    for name in names:
        if name not in schema.names:
            raise InputError(f"there is no column {name!r}: {did_you_mean(str(name), schema.names)}")
        stored = schema.field(name).type
        own = _type_of(stored)
        wanted = said.get(name, own)
        if own is None or wanted not in (own, "integer") or (wanted == "integer" and own == "date"):
            raise InputError(
                f"column {name!r} is {wanted or stored}: blocks are made of numbers and dates; "
                "leave it out, or protect the table in memory (--engine memory)"
            )
        found.append(Kind(name, wanted, stored))
    if len({kind.name for kind in found}) < len(found):
        raise InputError("a column is named twice: name it once")
    return found


def _type_of(stored: Any) -> str | None:
    import pyarrow.types as types

    if types.is_integer(stored):
        return "integer"
    if types.is_floating(stored):
        return "continuous"
    return "date" if types.is_date(stored) or types.is_timestamp(stored) else None


class Moments(NamedTuple):
    """What one column holds so far: mean and squares of its offsets (x - pivot) * 2^-exponent, and its gaps.

    Two of them merge without loss of digits: pivots are subtracted exactly, squares are about means.
    """

    present: int = 0
    gaps: int = 0
    pivot: int | float = 0
    top: int | float = 0
    exponent: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, column: Column) -> Moments:
        """Of one batch."""
        values = column.present
        gaps = len(column.values) - len(values)
        if not len(values):
            return cls(gaps=gaps)
        pivot, top = values.min().item(), values.max().item()
        exponent = _exponent(pivot, top)
        plain = Scale(pivot, exponent, 0.0, 1.0)
        offsets = plain.apply(values)
        mean = float(offsets.mean())
        return cls(len(values), gaps, pivot, top, exponent, mean, float(np.square(offsets - mean).sum()))

    def __add__(self, other: object) -> Moments:
        assert isinstance(other, Moments)
        gaps = self.gaps + other.gaps
        if not self.present or not other.present:
            return (self if self.present else other)._replace(gaps=gaps)
        pivot, top = min(self.pivot, other.pivot), max(self.top, other.top)
        exponent = max(self.exponent, other.exponent)
        (mean, squares), (their_mean, their_squares) = (m._seen(pivot, exponent) for m in (self, other))
        count = self.present + other.present
        step = their_mean - mean
        mean += step * other.present / count
        squares += their_squares + step * step * self.present * (other.present / count)
        return Moments(count, gaps, pivot, top, exponent, mean, squares)

    def _seen(self, pivot: int | float, exponent: int) -> tuple[float, float]:
        """Mean and squares counted from another pivot, in another unit."""
        if isinstance(pivot, int):
            return self.mean + float(self.pivot - pivot), self.squares
        shift = math.ldexp(self.pivot, -exponent) - math.ldexp(pivot, -exponent)
        power = self.exponent - exponent
        return math.ldexp(self.mean, power) + shift, math.ldexp(self.squares, 2 * power)

    def scale(self) -> Scale:
        """How the column is standardised, as `table.encode` does it."""
        if not self.present or self.pivot == self.top:
            return Scale(self.pivot, self.exponent, 0.0, 1.0)
        return Scale(self.pivot, self.exponent, self.mean, math.sqrt(self.squares / (self.present - 1)))

    def middle(self) -> int | float:
        """A value at the mean, where gaps are thought to lie."""
        if isinstance(self.pivot, int):
            return self.pivot + round(self.mean)
        return math.ldexp(math.ldexp(self.pivot, -self.exponent) + self.mean, self.exponent)


def _exponent(low: int | float, high: int | float) -> int:
    return 0 if isinstance(low, int) else math.frexp(max(abs(low), abs(high)))[1]
