"""Where a table came from: the file that gives back its own cells, and proves that it has not changed."""

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.arrays import Bools
from shoal.errors import InputError
from shoal.frame.metadata import described
from shoal.io.files import file_format, file_of, read_contents
from shoal.io.formats import stats


@dataclass(frozen=True)
class Origin:
    """The file that a table came from, with its cells as they stand there where the table holds less."""

    path: Path
    cells: pa.Table | None = None
    whole: bool = True  # whether the table has all of its records
    address: str = ""  # what was asked for: the file, or a sheet of it

    def rows(self, chosen: Bools) -> "Origin":
        """The origin of a table with only some of the records."""
        return replace(self, cells=None if self.cells is None else self.cells.filter(chosen), whole=False)

    def columns(self, names: Collection[str]) -> "Origin":
        """The same with the cells of these columns only."""
        if self.cells is None:
            return self
        return replace(self, cells=self.cells.select([n for n in self.cells.column_names if n in names]))

    def sha256(self) -> str:
        """A fingerprint of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def own_cells(self, target: Any) -> pa.Table | None:
        """The file's own cells, for a target of the same family; None where a table holds them all."""
        return self.cells if file_format(self.path).family == getattr(target, "family", None) else None

    def restore(self, table: pa.Table, cells: pa.Table, protected: Collection[str]) -> pa.Table:
        """The table with the file's own `cells` in every column that is not protected."""
        table = with_columns(table, cells, protected)
        table = table.replace_schema_metadata(cells.schema.metadata or table.schema.metadata)
        family = file_format(self.path).family
        return described(stats.forget_codes(table, protected) if family == "sav" else table)


def with_columns(table: pa.Table, other: pa.Table, besides: Collection[str]) -> pa.Table:
    """The table with the columns of another in place of its own, all but `besides`."""
    protected = set(besides)
    chosen = [(table if name in protected else other) for name in table.column_names]
    fields = [source.schema.field(name) for source, name in zip(chosen, table.column_names)]
    columns = [source[name] for source, name in zip(chosen, table.column_names)]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def load(path: str | os.PathLike[str]) -> tuple[pa.Table, Origin]:
    """The table in a file, and what is needed to give back its unprotected cells as they were."""
    wanted, path = Path(path), file_of(Path(path))
    before = _stamp(path)
    contents = read_contents(wanted)
    if _stamp(path) != before:
        raise InputError(f"{str(path)!r} has changed while it was read: protect it again")
    return contents.table, Origin(path, contents.cells, address=str(wanted))


def _stamp(path: Path) -> tuple[int, ...]:
    """Identity, size and time of change of a file; nothing where there is none."""
    if not path.is_file():
        return ()
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
