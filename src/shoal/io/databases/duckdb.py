"""Files of DuckDB, through its own library."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, needs_extra
from shoal.frame.metadata import with_details
from shoal.io import limits
from shoal.io.atomic import first_sentence, refuse_missing_folder
from shoal.io.databases.address import Address
from shoal.io.databases.sqlite import refuse_planted

BATCH = 16_384  # rows between two looks at the size
#: A view in a file from outside reads no other file, calls no server and brings no code along.
_SHUT: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}


class DuckDB:
    """A file of DuckDB, within one transaction. Tables travel as those of Arrow, with their types."""

    def __init__(self, place: Address, read_only: bool = False):
        with needs_extra("DuckDB needs", "duckdb"):
            import duckdb
        self.errors = (duckdb.Error,)
        refuse_missing_folder(Path(place.database).absolute().parent)
        refuse_planted(place.database)
        try:
            self.connection = duckdb.connect(
                place.database,
                read_only=read_only,
                config=_SHUT | {"memory_limit": f"{limits.memory() // 2}B"},
            )
            self.execute("BEGIN")
        except duckdb.Error as error:
            why = first_sentence(error)
            raise InputError(f"{place.database!r} cannot be opened as DuckDB: {why}") from None

    def execute(self, command: str) -> Any:
        return self.connection.execute(command)

    def has(self, table: str) -> bool:
        find = "SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?)"
        return self.connection.execute(find, [table]).fetchone() is not None

    def fill(self, place: Address, table: pa.Table) -> None:
        if len({name.lower() for name in table.column_names}) < table.num_columns:
            raise InputError("to DuckDB, names that differ only in capitals are the same: rename a column")
        self.connection.register("__shoal", table.replace_schema_metadata(None))
        self.execute(f"CREATE TABLE {place.name} AS SELECT * FROM __shoal")
        self.connection.unregister("__shoal")

    def read(self, place: Address, patience: float = 60.0) -> tuple[pa.Table, pa.Table]:
        """The table, and its cells, which are the same; rows must come within so many seconds."""
        batches, size = [], 0
        with self._watched(place, patience):
            reader = self.connection.sql(place.select).to_arrow_reader(BATCH)
        limits.refuse_names(reader.schema.names, place.table)
        while True:
            with self._watched(place, patience):
                batch = next(reader, None)
            if batch is None:
                break
            batches.append(batch)
            size += batch.nbytes
            limits.refuse_memory(size, place.table)
        table = pa.Table.from_batches(batches, reader.schema)
        return table, with_details(table, sql={"types": {}})

    @contextmanager
    def _watched(self, place: Address, patience: float) -> Iterator[None]:
        """A view may be without an end."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.connection.interrupt()

        timer = threading.Timer(patience, stop)
        timer.start()
        try:
            yield
        except (*self.errors, pa.ArrowException, OSError) as error:
            why = f"the database cannot answer: {first_sentence(error)}"
            if late.is_set():
                why = f"{place.table!r} gave no row for {patience:.0f} seconds: is it a view without an end?"
            raise InputError(why) from None
        finally:
            timer.cancel()
