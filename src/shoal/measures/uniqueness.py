"""How many published rows are one of a kind, whatever k says of the protected columns."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints
from shoal.measures.groups import numbered, same

#: Columns with at most so many different values are categories that an intruder may know: sex, region.
FEW = 20


def few_valued(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Those of the columns that have few different values; a gap is a value."""
    return [name for name in columns if codes_of(table[name]).max(initial=0) < FEW]


def unique_rows(table: pa.Table, columns: Sequence[str]) -> int:
    """How many rows of an Arrow table no other row equals in these columns; a gap is a value."""
    return lone(codes_of(table[name]) for name in columns) if columns else int(len(table) == 1)


def lone(columns: Iterable[Ints]) -> int:
    """How many rows no other equals; the columns have a number for each different value."""
    return int((np.bincount(same(columns)) == 1).sum())


def unique_units(rows: Ints, units: Ints) -> tuple[int, int]:
    """How many units have rows, all taken together, that no other unit has; and how many units there are.

    `rows` has a number for each different row, `units` the unit of each.
    """
    order = np.lexsort((rows, units))
    borders = np.flatnonzero(np.diff(units[order])) + 1
    seen = Counter(some.tobytes() for some in np.split(rows[order], borders))
    return sum(count == 1 for count in seen.values()), len(borders) + 1


def codes_of(column: pa.ChunkedArray) -> Ints:
    """A number for each different value of a column; NaN is a gap like any other."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return numbered(column.cast(pa.float64()).to_numpy())[0]
    if pa.types.is_integer(column.type) and not column.null_count:
        return numbered(column.to_numpy())[0]
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([[repr(cell) for cell in column.to_pylist()]], pa.string())
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False)
