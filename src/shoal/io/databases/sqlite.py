"""SQLite, through the standard library."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shoal.errors import InputError
from shoal.frame.metadata import with_details
from shoal.io.atomic import refuse_missing_folder
from shoal.io.databases.address import Address, column_name, quoted, refuse_twice
from shoal.io.mixed_cells import mixed_column, own_cells

if TYPE_CHECKING:
    import pyarrow as pa


class Sqlite:
    """A file of SQLite, within one transaction."""

    errors = (sqlite3.Error, OverflowError)  # whole numbers have 64 bits there

    def __init__(self, place: Address, read_only: bool = False):
        mode = "ro" if read_only else "rwc"
        refuse_missing_folder(Path(place.database).absolute().parent)
        try:
            file = f"file:{quote(str(Path(place.database).absolute()))}?mode={mode}"
            self.connection = sqlite3.connect(file, uri=True, isolation_level=None)
            self.execute("BEGIN" if read_only else "BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise InputError(f"{place.database!r} cannot be opened as SQLite: {error}") from None

    def execute(self, command: str) -> sqlite3.Cursor:
        return self.connection.execute(command)

    def has(self, table: str) -> bool:
        name = table.rpartition(".")[2]
        find = "SELECT 1 FROM sqlite_master WHERE lower(name) = lower(?)"
        return self.connection.execute(find, (name,)).fetchone() is not None

    def fill(self, place: Address, table: pa.Table) -> None:
        import pyarrow.types as t

        columns = []
        for name in table.column_names:
            mixed = own_cells(table, name)
            if mixed is not None:
                columns.append(mixed)
                continue
            column = table[name]
            if t.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if t.is_temporal(column.type) or t.is_decimal(column.type):
                column = column.cast("string")
            columns.append(column.to_pylist())
        marks = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {quoted(place.table)} VALUES ({marks})", zip(*columns))

    def read(self, place: Address) -> tuple[pa.Table, pa.Table]:
        import pyarrow as pa

        cursor = self.execute(place.select)
        names = [item[0] for item in cursor.description]
        refuse_twice(names, place)
        columns = list(zip(*cursor.fetchall())) or [()] * len(names)
        types = {}
        if not place.is_query:
            plain = column_name(place.table.rpartition(".")[2])
            types = {fact[1]: fact[2] for fact in self.execute(f"PRAGMA table_info({plain})")}
        table = pa.table({name: _column(cells) for name, cells in zip(names, columns)})
        exact = with_details(table, sql={"types": types})
        for j, (name, cells) in enumerate(zip(names, columns)):
            if _kind(cells) is None:
                exact = exact.set_column(j, *mixed_column(name, cells))
        return table, exact

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if self.connection.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()


def _kind(cells: Any) -> Any:
    """The Arrow type of cells that are all of a kind, else None: SQLite lets each cell have its own."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds or kinds == {str}:
        return pa.string()
    if kinds <= {int, float}:
        return pa.int64() if kinds == {int} else pa.float64()
    return pa.binary() if kinds == {bytes} else None


def _column(cells: Any) -> Any:
    import pyarrow as pa

    kind = _kind(cells)
    if kind is not None:
        return pa.array(cells, kind)
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
