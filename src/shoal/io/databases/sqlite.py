"""SQLite, through the standard library."""

import marshal
import os
import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.types as t

from shoal.errors import InputError
from shoal.frame.levels import written_out
from shoal.frame.metadata import with_details
from shoal.io import limits
from shoal.io.atomic import first_sentence, refuse_missing_folder
from shoal.io.databases.address import Address
from shoal.io.mixed_cells import mixed_column, own_cells, texts


def refuse_planted(file: str) -> None:
    """Refuse to write through a link, or into a pipe, that somebody has put where the database is to be."""
    for name in (file, *(f"{file}{part}" for part in ("-journal", "-wal", "-shm", ".wal"))):
        if os.path.lexists(name) and not stat.S_ISREG(os.lstat(name).st_mode):
            raise InputError(
                f"{file!r} cannot be opened as a database: {name!r} is a link, a folder or a pipe"
            )


class Sqlite:
    """A file of SQLite, within one transaction."""

    errors = (sqlite3.Error, OverflowError)  # whole numbers have 64 bits there

    def __init__(self, place: Address, read_only: bool = False):
        mode = "ro" if read_only else "rw"
        refuse_missing_folder(Path(place.database).absolute().parent)
        try:
            if not read_only:
                with suppress(FileExistsError):
                    os.close(os.open(place.database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
                refuse_planted(place.database)
            file = f"file:{quote(str(Path(place.database).absolute()))}?mode={mode}"
            self.connection = sqlite3.connect(file, uri=True, isolation_level=None)
            self.execute("BEGIN" if read_only else "BEGIN IMMEDIATE")
            self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.LONGEST_LINE)
        except (sqlite3.Error, OSError) as error:
            why = first_sentence(error)
            raise InputError(f"{place.database!r} cannot be opened as SQLite: {why}") from None

    def execute(self, command: str) -> sqlite3.Cursor:
        return self.connection.execute(command)

    def has(self, table: str) -> bool:
        find = "SELECT 1 FROM sqlite_master WHERE lower(name) = lower(?)"
        return self.connection.execute(find, (table,)).fetchone() is not None

    def fill(self, place: Address, table: pa.Table) -> None:
        columns = []
        for name in table.column_names:
            mixed = own_cells(table, name)
            if mixed is not None:
                columns.append(mixed)
                continue
            column = written_out(table[name])
            if t.is_temporal(column.type) or t.is_decimal(column.type):
                column = column.cast("string")
            columns.append(column.to_pylist())
        marks = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {place.name} VALUES ({marks})", zip(*columns))

    def read(self, place: Address, patience: float = 60.0) -> tuple[pa.Table, pa.Table]:
        """The table, and its cells as they stand; the next row must come within so many seconds."""
        names, rows = self._rows(place, patience)
        columns = list(zip(*rows)) or [()] * len(names)
        types = {}
        if not place.is_query:
            types = {fact[1]: fact[2] for fact in self.execute(f"PRAGMA table_info({place.name})")}
        kinds = [_kind(cells) for cells in columns]
        arrays = [pa.array(cells, kind) if kind else texts(cells) for cells, kind in zip(columns, kinds)]
        table = pa.table(arrays, names)
        exact = with_details(table, sql={"types": types})
        for j, (name, cells, kind) in enumerate(zip(names, columns, kinds)):
            if kind is None:
                exact = exact.set_column(j, *mixed_column(name, cells))
        return table, exact

    def _rows(self, place: Address, patience: float) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Names and rows. A view may be without an end: time and memory are watched."""
        rows, size, checked, packed = [], 0, 0, os.path.getsize(place.database)
        last = time.monotonic()

        def late() -> bool:
            return time.monotonic() - last > patience

        self.connection.set_progress_handler(late, 100_000)
        try:
            cursor = self.execute(place.select)
            names = [item[0] for item in cursor.description]
            limits.refuse_names(names, place.table)
            for row in cursor:
                rows.append(row)
                last = time.monotonic()
                size += len(marshal.dumps(row)) + 40 * len(row)  # about what Python needs
                if size > checked:
                    limits.refuse_size(size, packed, place.table)
                    checked = size + (1 << 20)
        except sqlite3.OperationalError:
            if late():
                raise InputError(
                    f"{place.table!r} gave no row for {patience:.0f} seconds: is it a view without an end?"
                ) from None
            raise
        finally:
            self.connection.set_progress_handler(None, 0)
        return names, rows


def _kind(cells: Any) -> Any:
    """The Arrow type of cells that are all of a kind, else None: SQLite lets each cell have its own."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds or kinds == {str}:
        return pa.string()
    if kinds <= {int, float}:
        return pa.int64() if kinds == {int} else pa.float64()
    return pa.binary() if kinds == {bytes} else None
