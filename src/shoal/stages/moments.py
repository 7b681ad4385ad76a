"""Mean and spread of a column, from one pass or from many that are merged."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats


class Scale(NamedTuple):
    """How one column was standardised: z = ((x - pivot) * 2^-exponent - mean) / deviation."""

    pivot: int | float
    exponent: int
    mean: float
    deviation: float  # 1 for a constant column, whose values all become 0

    def apply(self, column: NDArray) -> Floats:
        """The standardised values."""
        if self == UNCHANGED:
            return column.astype(np.float64, copy=False)
        return (self.offsets(column) - self.mean) / self.deviation

    def offsets(self, column: NDArray) -> Floats:
        """(x - pivot) * 2^-exponent; whole numbers are subtracted as such, so that no digit is lost."""
        if column.dtype.kind == "f":
            return np.ldexp(column.astype(np.float64), -self.exponent) - np.ldexp(self.pivot, -self.exponent)
        wide = column.astype(np.int64 if column.dtype.kind == "i" else np.uint64)
        signed_pivot = wide.dtype.type(self.pivot)
        return (wide.view(np.uint64) - signed_pivot.astype(np.uint64)).astype(np.float64)


UNCHANGED = Scale(0, 0, 0.0, 1.0)


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
    def of(cls, values: NDArray, gaps: int = 0) -> "Moments":
        """Of the values that are there, beside so many gaps."""
        if not len(values):
            return cls(gaps=gaps)
        pivot, top = values.min().item(), values.max().item()
        exponent = 0 if isinstance(pivot, int) else math.frexp(max(abs(pivot), abs(top)))[1]
        offsets = Scale(pivot, exponent, 0.0, 1.0).offsets(values)
        mean = float(offsets.mean())
        return cls(len(values), gaps, pivot, top, exponent, mean, float(np.square(offsets - mean).sum()))

    def __add__(self, other: object) -> "Moments":
        if not isinstance(other, Moments):
            return NotImplemented
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
        """Mean 0, standard deviation 1 (n-1 in the divisor); a constant column becomes 0."""
        if not self.present or self.pivot == self.top:
            return Scale(self.pivot, self.exponent, 0.0, 1.0)
        return Scale(self.pivot, self.exponent, self.mean, math.sqrt(self.squares / (self.present - 1)))

    def deviation(self) -> float:
        """The standard deviation, n in the divisor, in the column's own unit."""
        return math.ldexp(math.sqrt(self.squares / max(self.present, 1)), self.exponent)

    def percent_of(self, others: "Moments") -> float:
        """The squares of these values, which are no whole numbers, in percent of others' about their mean."""
        if not self.present or not others.squares:
            return 0.0
        mean = math.ldexp(self.pivot, -self.exponent) + self.mean
        share = (self.squares + self.present * mean * mean) / others.squares
        return 100 * math.ldexp(share, 2 * (self.exponent - others.exponent))

    def middle(self) -> int | float:
        """A value at the mean, where gaps are thought to lie."""
        if isinstance(self.pivot, int):
            return self.pivot + round(self.mean)
        return math.ldexp(math.ldexp(self.pivot, -self.exponent) + self.mean, self.exponent)
