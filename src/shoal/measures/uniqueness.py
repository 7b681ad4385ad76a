"""How many published rows are one of a kind, whatever k says of the protected columns."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.measures.groups import numbered

#: Columns with at most so many different values are categories that an intruder may know: sex, region.
FEW = 20


def few_valued(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Those of the columns that have few different values; a gap is a value."""
    return [name for name in columns if codes_of(table[name]).max(initial=0) < FEW]


def unique_rows(table: pa.Table, columns: Sequence[str]) -> int:
    """How many rows of an Arrow table no other row equals in these columns; a gap is a value.

    Each value of a column gets 64 random bits, and a row their sum: two different rows of a million
    have the same sum with a chance of 3e-8.
    """
    rng, rows = np.random.default_rng(0), np.zeros(len(table), np.uint64)
    for name in columns:
        rows += random_bits(codes_of(table[name]), rng)
    return lone(rows)


def random_bits(codes: Ints, rng: np.random.Generator) -> NDArray[np.uint64]:
    """64 random bits for each different number."""
    return rng.integers(2**64, size=int(codes.max(initial=0)) + 1, dtype=np.uint64)[codes]


def lone(rows: NDArray[np.uint64]) -> int:
    """How many of the numbers no other equals; they are sorted where they lie."""
    rows.sort()
    new = np.ones(len(rows) + 1, bool)
    new[1:-1] = rows[1:] != rows[:-1]
    return int((new[1:] & new[:-1]).sum()) if len(rows) else 0


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
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
