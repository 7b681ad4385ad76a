"""Where a table came from: the file that gives back its own cells, and proves that it has not changed."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.arrays import Bools
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.metadata import described, details_of
from shoal.io.contents import sha256, stamp
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
        return sha256(self.path)

    def own_cells(self, target: Any) -> pa.Table | None:
        """The file's own cells, for a target of the same family; None where a table holds them all."""
        return self.cells if file_format(self.path).family == getattr(target, "family", None) else None

    def signs(self, name: str, gaps: pa.Array) -> pa.Array | None:
        """What a file of SPSS or Stata has in these gaps of a column, and calls missing; None if nothing."""
        if self.cells is None or file_format(self.path).family not in ("sav", "dta"):
            return None
        cells = self.cells[name].combine_chunks()
        signs = pc.if_else(gaps, cells, pa.scalar(None, cells.type))
        return signs if signs.null_count < len(signs) else None

    def restore(
        self, table: pa.Table, cells: pa.Table, protected: Collection[str], coded: Collection[str]
    ) -> pa.Table:
        """A table that has the file's own `cells`, with what stands beside them there.

        Of the protected columns those that are `coded` have codes of the file in their gaps.
        """
        table = table.replace_schema_metadata(cells.schema.metadata or table.schema.metadata)
        if file_format(self.path).family == "sav":
            table = stats.forget_codes(table, set(protected).difference(coded))
        return described(table)


def marked(column: Column, frame: Frame) -> Column:
    """The column with the signs that its file has for gaps; `frame` is the table as it was read."""
    if column.gaps is None or not isinstance(frame.origin, Origin):
        return column
    signs = frame.origin.signs(str(column.name), frame.arrow(column.name).is_null())
    if signs is None:
        return column
    distinct = pa.array(sorted(signs.unique().drop_null().to_pylist()), signs.type)
    marks = pc.fill_null(pc.index_in(signs, distinct), -1).to_numpy(zero_copy_only=False) + 1
    return replace(column, marks=marks.astype(np.int64), signs=distinct)


def notes_on_signs(frame: Frame) -> list[str]:
    """Which values of a table its file calls missing, by column."""
    if not isinstance(frame.origin, Origin) or frame.origin.cells is None:
        return []
    notes = []
    for name in frame.names:
        signs = frame.origin.signs(name, frame.arrow(name).is_null())
        if signs is not None:
            dot = "." if frame.origin.path.suffix.lower() == ".dta" else ""
            listed = ", ".join(f"{dot}{sign}" for sign in sorted(signs.unique().drop_null().to_pylist()))
            notes.append(
                f"the file calls {listed} missing in {name!r}: {len(signs) - signs.null_count:,} gaps"
            )
    return notes


def told_apart(
    codes: Mapping[str, pa.Array], origin: Any, published: pa.Table
) -> tuple[dict[str, pa.Array], list[str]]:
    """The codes of columns in which no published value would be taken for one; a note on the others."""
    told = {} if not codes else details_of(origin.cells)["stats"]["missing_ranges"]
    lost = [n for n in codes if stats.any_missing(published[n].unique().to_pylist(), told.get(n, ()))]
    why = "lie among its codes for gaps, which became plain gaps"
    notes = [f"values that are published in {name!r} {why}" for name in lost]
    return {name: signs for name, signs in codes.items() if name not in lost}, notes


def with_codes(table: pa.Table, codes: Mapping[str, pa.Array]) -> pa.Table:
    """The table with these codes in its gaps; a column of numbers with letters among them holds texts."""
    for name, signs in codes.items():
        column, place = table[name].combine_chunks(), table.column_names.index(name)
        if pa.types.is_string(signs.type) and not pa.types.is_string(column.type):
            column = pa.array([None if cell is None else str(float(cell)) for cell in column.to_pylist()])
        column = pc.coalesce(column.cast(signs.type), signs)
        table = table.set_column(place, table.schema.field(place).with_type(column.type), column)
    return table


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
    before = stamp(path)
    contents = read_contents(wanted)
    if stamp(path) != before:
        raise InputError(f"{str(path)!r} has changed while it was read: protect it again")
    return contents.table, Origin(path, contents.cells, address=str(wanted))
