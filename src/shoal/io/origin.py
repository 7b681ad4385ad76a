"""Where a table came from: the file that gives back its own cells, and proves that it has not changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.io.files import file_format, read
from shoal.io.formats import stats


@dataclass(frozen=True)
class Origin:
    """The file that a table came from."""

    path: Path
    stamp: tuple[int, ...]  # identity, size and time of change when it was read
    kept: NDArray[np.bool_] | None = None  # the records that are still there, if some were left out

    def rows(self, chosen: NDArray[np.bool_]) -> Origin:
        return replace(self, kept=chosen)

    def sha256(self) -> str:
        """A fingerprint of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def own_cells(self, target: Any) -> Any:
        """The file's own cells, for a target of the same family; None where a table holds them all."""
        kind = file_format(self.path)
        if kind.cells is None or kind.family != getattr(target, "family", None):
            return None
        self.refuse_change()
        cells = kind.cells(self.path)
        self.refuse_change()
        return cells if self.kept is None else cells.filter(self.kept)

    def refuse_change(self) -> None:
        if not self.path.exists() or _stamp(self.path) != self.stamp:
            raise InputError(f"{str(self.path)!r} has changed since it was read: protect it again")

    def restore(self, table: Any, cells: Any, protected: Collection[str]) -> Any:
        """The table with the file's own `cells` in every column that is not protected."""
        table = with_columns(table, cells, protected)
        table = table.replace_schema_metadata(cells.schema.metadata or table.schema.metadata)
        family = file_format(self.path).family
        return stats.forget_codes(table, protected) if family == "sav" else table


def with_columns(table: Any, other: Any, besides: Collection[str]) -> Any:
    """The table with the columns of another in place of its own, all but `besides`."""
    import pyarrow as pa

    own = set(besides)
    chosen = [(table if name in own else other) for name in table.column_names]
    fields = [source.schema.field(name) for source, name in zip(chosen, table.column_names)]
    columns = [source[name] for source, name in zip(chosen, table.column_names)]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _stamp(path: Path) -> tuple[int, ...]:
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def load(path: str | os.PathLike[str]) -> tuple[Any, Origin]:
    """The table in a file, and what is needed to give back its unprotected cells as they were."""
    path = Path(path)
    origin = Origin(path, _stamp(path) if path.is_file() else ())
    table = read(path)
    origin.refuse_change()
    return table, origin
