"""A table of which one column at a time is in memory; it is asked for columns as an Arrow table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from shoal.arrays import Ints

#: Rows of a piece: 2 MB of doubles.
PIECE = 1 << 18


class LargeTable:
    """Columns are read when they are asked for, and kept by who asks: `read` gives one by its name.

    `rows` are those of the stored table, in this order; all of them if left out. `replaced` columns are in
    memory. Texts are large ones, for a column may have more than 2 GiB of them.
    """

    def __init__(
        self,
        schema: pa.Schema,
        records: int,
        read: Callable[[str], pa.ChunkedArray],
        rows: Ints | None = None,
        replaced: Mapping[str, pa.ChunkedArray] | None = None,
    ):
        self.schema = pa.schema([_wide(field) for field in schema])
        self._records, self._read, self._rows = records, read, rows
        self._replaced = dict(replaced or {})

    def __len__(self) -> int:
        return self._records if self._rows is None else len(self._rows)

    @property
    def column_names(self) -> list[str]:
        return list(self.schema.names)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        if name in self._replaced:
            return self._replaced[name]
        pa.default_memory_pool().release_unused()  # what the column before this one took
        cells = self._read(name).cast(self.schema.field(name).type)
        if self._rows is None:
            return cells
        cells = cells.unify_dictionaries().combine_chunks()  # the chunks are forgotten
        return pa.chunked_array([cells.take(pa.array(self._rows))])

    column = __getitem__  # so that it is asked like a batch

    def watched(self, seen: Callable[[], Any]) -> LargeTable:
        """The same table; `seen` is called with each column that is read."""

        def read(name: str) -> pa.ChunkedArray:
            cells = self._read(name)
            seen()
            return cells

        return LargeTable(self.schema, self._records, read, self._rows, self._replaced)

    def take(self, rows: ArrayLike) -> LargeTable:
        """The table with these of its rows, in this order."""
        rows = np.asarray(rows, None if getattr(rows, "dtype", None) == np.int32 else np.int64)
        replaced = {name: _taken(cells, rows) for name, cells in self._replaced.items()}
        rows = rows if self._rows is None else self._rows[rows]
        return LargeTable(self.schema, self._records, self._read, rows, replaced)

    def filter(self, mask: ArrayLike) -> LargeTable:
        """The table with the rows for which the mask is true."""
        return self.take(np.flatnonzero(mask))

    def select(self, names: Sequence[str]) -> LargeTable:
        """The table with these columns only."""
        schema = pa.schema([self.schema.field(name) for name in names])
        return LargeTable(schema, self._records, self._read, self._rows, self._replaced)

    def set_column(self, place: int, name: str, cells: Any) -> LargeTable:
        """The table with other cells in one column, which stay in memory."""
        schema = self.schema.set(place, pa.field(name, cells.type))
        replaced = {**self._replaced, name: pa.chunked_array([cells])}
        return LargeTable(schema, self._records, self._read, self._rows, replaced)


class OneByOne:
    """What a Frame asks of a narwhals table, for a LargeTable."""

    def __init__(self, table: LargeTable):
        self._table, empty = table, nw.from_native(table.schema.empty_table(), eager_only=True)
        self.schema, self.columns, self.implementation = empty.schema, empty.columns, empty.implementation

    def __len__(self) -> int:
        return len(self._table)

    def get_column(self, name: str) -> nw.Series:
        """One column, read now."""
        return nw.from_native(pa.table({name: self._table[name]}), eager_only=True).get_column(name)


def pieces(column: Any) -> Iterator[tuple[int, Any]]:
    """(first row, some rows) of a column of Arrow, one after another, so that what is made of it is small."""
    for begin in range(0, max(len(column), 1), PIECE):
        yield begin, column.slice(begin, PIECE)


def _wide(field: pa.Field) -> pa.Field:
    narrow = pa.types.is_string(field.type) or pa.types.is_string_view(field.type)
    return field.with_type(pa.large_string()) if narrow else field


def _taken(cells: pa.ChunkedArray, rows: Ints) -> pa.ChunkedArray:
    return pa.chunked_array([cells.unify_dictionaries().combine_chunks().take(pa.array(rows))])
