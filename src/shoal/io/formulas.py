"""Texts that a spreadsheet would run when it opens a CSV file. They are told, never changed unasked."""

import pyarrow as pa
import pyarrow.compute as pc

from shoal.frame.levels import is_text, written_out

#: Begins like a formula, and is no number such as -5, +1e3 or -0,5 that merely begins alike.
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-][ ]*(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?\s*$|^[+-]$"


def notes(table: pa.Table, made_safe: bool = False) -> tuple[str, ...]:
    """One sentence if the table has such cells, or names of columns; where, and what can be done."""
    count, first = 0, ""
    for name in table.column_names:
        in_name = _runs(pa.chunked_array([pa.array([name], pa.large_string())]))
        texts = _texts(table[name])
        cells = 0 if texts is None else pc.sum(_runs(texts)).as_py() or 0
        here = cells + pc.sum(in_name).as_py()
        first = first or (repr(name) if here else "")
        count += here
    if not count:
        return ()
    begin = f"{count} text{' begins' if count == 1 else 's begin'} like a formula, first in column {first}"
    if made_safe:
        return (f"{begin}: written after an apostrophe",)
    return (
        f"{begin}: a spreadsheet would run it; --safe-cells (safe_cells=True) writes an apostrophe before",
    )


def safe(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each such text."""
    fields, columns = [], []
    for field in table.schema:
        texts = _texts(table[field.name])
        column = table[field.name] if texts is None else _prefixed(texts).cast(texts.type)
        name = _prefixed(pa.chunked_array([pa.array([field.name], pa.large_string())]))[0].as_py()
        fields.append(pa.field(name, column.type, metadata=field.metadata))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of texts, else None."""
    column = written_out(column)
    return column if is_text(column.type) else None


def _runs(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    begins = pc.match_substring_regex(texts, _FORMULA)
    return pc.fill_null(pc.and_not(begins, pc.match_substring_regex(texts, _NUMBER)), False)


def _prefixed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    mark, nothing = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    return pc.if_else(_runs(texts), pc.binary_join_element_wise(mark, texts, nothing), texts)
