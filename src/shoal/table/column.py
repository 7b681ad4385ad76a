"""One column as numbers, whatever it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = ("continuous", "integer", "date")
CATEGORIES = ("ordinal", "nominal", "boolean")
TYPES = (*NUMBERS, *CATEGORIES)


@dataclass(frozen=True, eq=False)
class Column:
    """A column to group by.

    `values` are the column's own numbers; of a date its count of days (or finer units); of a category its
    position among the levels that occur, in order. Where `gaps` is true the value is 0 and means nothing.
    """

    name: Any
    type: str
    values: NDArray
    gaps: NDArray[np.bool_] | None = None
    first: NDArray[np.int64] | None = None  # of a category: for each level, a row that has it
    stored: Any = None  # of a date: the Arrow type to give it back in

    @property
    def categorical(self) -> bool:
        return self.type in CATEGORIES

    @property
    def present(self) -> NDArray:
        """The values that are there."""
        return self.values if self.gaps is None else self.values[~self.gaps]

    def holding(self, values: NDArray, gaps: NDArray[np.bool_] | None) -> Column:
        """The same column with other cells."""
        return replace(self, values=values, gaps=gaps)

    def rows(self, chosen: NDArray[np.bool_]) -> Column:
        """The same column with only some rows. A column that has no gap left needs no mask."""
        gaps = None if self.gaps is None else self.gaps[chosen]
        if self.first is None:
            return self.holding(self.values[chosen], gaps if gaps is not None and gaps.any() else None)
        values = np.unique(self.values[chosen], return_inverse=True)[1]
        return categories(self.name, self.type, values, gaps)


def categories(name: Any, kind: str, codes: NDArray, gaps: NDArray[np.bool_] | None) -> Column:
    """A categorical column from codes 0..m-1 in order; the code of a gap counts for nothing."""
    gaps = gaps if gaps is not None and gaps.any() else None
    present = np.arange(len(codes)) if gaps is None else np.flatnonzero(~gaps)
    levels, first, inverse = np.unique(codes[present], return_index=True, return_inverse=True)
    dense = np.zeros(len(codes), np.int64)
    dense[present] = inverse
    return Column(name, kind, dense, gaps, present[first] if len(levels) else np.zeros(0, np.int64))
