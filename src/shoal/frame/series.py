"""A single column given on its own (a Series of pandas or polars, an array of Arrow), as a table and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_table(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The data as a table, and how to make of such a table again what was given."""
    library = type(data).__module__.partition(".")[0]
    kind = type(data).__name__
    if library == "pandas" and kind == "Series":
        return data.to_frame(), lambda table: table.iloc[:, 0].rename(data.name)
    if library == "polars" and kind == "Series":
        return data.to_frame(), lambda table: table.to_series()
    if library == "pyarrow" and kind.endswith("Array"):
        import pyarrow as pa

        chunked = isinstance(data, pa.ChunkedArray)
        give_back = lambda table: table.column(0) if chunked else table.column(0).combine_chunks()  # noqa: E731
        return pa.table({"0": data}), give_back
    return data, lambda table: table
