"""What is no plain table (a stream, a single column, an index with names, masked cells), as one and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from shoal.errors import InputError


def as_table(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The data as a table, and how to make of such a table again what was given."""
    library = type(data).__module__.partition(".")[0]
    kind = type(data).__name__
    if "numpy.ma" in sys.modules and isinstance(data, np.ma.MaskedArray):
        return _filled(data), lambda table: table
    named = index_names(data)
    if named:
        try:
            table = data.reset_index(level=named)
        except ValueError:
            raise InputError("the index of the table is called like one of its columns: rename one") from None

        def indexed(made: Any) -> Any:
            """With these columns as its index again, beside others that have no name."""
            names = [name for name in named if name in made.columns]
            return made.set_index(names, append=data.index.nlevels > len(named)) if names else made

        return table, indexed
    if library == "pandas" and kind == "Series":
        return data.to_frame(), lambda table: table.iloc[:, 0].rename(data.name)
    if library == "polars" and kind == "Series":
        return data.to_frame(), lambda table: table.to_series()
    if library == "pyarrow" and kind.endswith("Array"):
        chunked = isinstance(data, pa.ChunkedArray)
        give_back = lambda table: table.column(0) if chunked else table.column(0).combine_chunks()  # noqa: E731
        return pa.table({"0": data}), give_back
    if library == "polars" and kind == "LazyFrame":
        return _read(lambda: data.collect(engine="streaming")), lambda table: table
    if hasattr(data, "__arrow_c_stream__") and not _is_table(data):
        data = _read(lambda: pa.RecordBatchReader.from_stream(data).read_all())
    if isinstance(data, pa.Table):
        data = data.cast(without_views(data.schema))
    return data, lambda table: table


def without_views(schema: pa.Schema) -> pa.Schema:
    """Views of texts and of bytes as plain ones: Arrow takes no rows of views."""
    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    fields = [field.with_type(plain.get(field.type, field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def stream_of(data: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]] | None:
    """The schema of any table or stream of records, and its batches, of which one is in memory; else None."""
    if type(data).__module__.startswith("polars") and type(data).__name__ == "LazyFrame":
        schema = _read(lambda: data.collect_schema().to_frame().to_arrow().schema)
        frames = _each(lambda: data.collect_batches(engine="streaming"))
        return schema, (batch for frame in frames for batch in frame.to_arrow().to_batches())
    if hasattr(data, "__arrow_c_stream__"):
        reader = _read(lambda: pa.RecordBatchReader.from_stream(data))
        return reader.schema, _each(lambda: reader)
    return None


def _each(records: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    waiting = _read(lambda: iter(records()))
    while (some := _read(lambda: next(waiting, None))) is not None:
        yield some


def _is_table(data: Any) -> bool:
    """Whether the records are there, and not yet to come, as those of DuckDB's relations or a reader are."""
    try:
        return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)
    except nw.exceptions.DuplicateError:  # told where the table is looked at
        return True


def _read(records: Callable[[], Any]) -> Any:
    try:
        return records()
    except Exception as error:  # whatever the library that sends them raises
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"the stream of records broke off: {reason}") from error


def index_names(data: Any) -> list[Any]:
    """The names that the index of a table of pandas has: each is a column to us."""
    if type(data).__module__.partition(".")[0] != "pandas" or type(data).__name__ != "DataFrame":
        return []
    return [name for name in data.index.names if name is not None]


def _filled(data: np.ma.MaskedArray) -> np.ndarray:
    """Masked cells as gaps: what lies under a mask is never published."""
    if not np.ma.is_masked(data):
        return np.asarray(data)
    if data.dtype.kind != "f":
        raise InputError(
            "a masked array of whole numbers has no sign for a gap: convert it with astype(float)"
        )
    return np.asarray(data.filled(np.nan))
