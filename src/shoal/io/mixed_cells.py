"""Columns whose cells are of several kinds (Excel and SQLite allow it): texts that tell each cell's kind."""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

_MARK = {b"shoal.mixed": b"1"}
_MAKERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda word: word == "True",
    "bytes": bytes.fromhex,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": lambda seconds: dt.timedelta(seconds=float(seconds)),
}


def mixed_column(name: str, cells: Iterable[Any]) -> tuple[pa.Field, pa.Array]:
    """A field and an array that keep every cell as it is."""
    array = pa.array([None if cell is None else _tagged(cell) for cell in cells], pa.string())
    return pa.field(name, pa.string(), metadata=_MARK), array


def texts(cells: Iterable[Any]) -> pa.Array:
    """Each cell as a text."""
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def own_cells(table: pa.Table, name: str) -> list[Any] | None:
    """The cells of such a column as they were; None for a column of one kind."""
    if (table.schema.field(name).metadata or {}).get(b"shoal.mixed") is None:
        return None
    parted = (None if text is None else text.partition(":") for text in table[name].to_pylist())
    return [None if word is None else _MAKERS.get(word[0], str)(word[2]) for word in parted]


def _tagged(cell: Any) -> str:
    kind = type(cell).__name__
    if isinstance(cell, (dt.date, dt.time)):
        return f"{kind}:{cell.isoformat()}"
    if isinstance(cell, dt.timedelta):
        return f"{kind}:{cell.total_seconds()!r}"
    return f"{kind}:{cell.hex() if isinstance(cell, bytes) else cell}"
