"""Columns to the matrix that methods group by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Scale(NamedTuple):
    """How one column was standardised: z = ((x - pivot) * 2^-exponent - mean) / deviation."""

    pivot: int | float
    exponent: int
    mean: float
    deviation: float  # 1 for a constant column, whose values all become 0

    def apply(self, column: NDArray) -> NDArray[np.float64]:
        return (_offsets(column, self.pivot, self.exponent) - self.mean) / self.deviation


def standardise(columns: Sequence[NDArray]) -> tuple[NDArray[np.float64], list[Scale]]:
    """Columns with mean 0 and standard deviation 1 (n-1 in the divisor), as a C-ordered matrix.

    Each column is first counted from its own smallest value, so a large offset costs no digits: whole
    numbers shifted by 1e9 give the same matrix bit for bit.
    """
    Z = np.empty((len(columns[0]), len(columns)))
    scales = []
    for j, column in enumerate(columns):
        scale = _scale(column)
        Z[:, j] = scale.apply(column)
        scales.append(scale)
    return Z, scales


def _scale(column: NDArray) -> Scale:
    pivot, top = column.min().item(), column.max().item()
    exponent = 0
    if column.dtype.kind == "f":
        exponent = int(np.frexp(max(abs(pivot), abs(top)))[1])
    offsets = _offsets(column, pivot, exponent)
    if pivot == top:
        return Scale(pivot, exponent, 0.0, 1.0)
    return Scale(pivot, exponent, float(offsets.mean()), float(offsets.std(ddof=1)))


def _offsets(column: NDArray, pivot: int | float, exponent: int) -> NDArray[np.float64]:
    """x - pivot without rounding what need not be: whole numbers are subtracted as such."""
    if column.dtype.kind == "f":
        return np.ldexp(column.astype(np.float64), -exponent) - np.ldexp(pivot, -exponent)
    wide = column.astype(np.int64 if column.dtype.kind == "i" else np.uint64)
    signed_pivot = wide.dtype.type(pivot)
    return (wide.view(np.uint64) - signed_pivot.astype(np.uint64)).astype(np.float64)
