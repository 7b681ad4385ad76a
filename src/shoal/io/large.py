"""Parquet files whose columns are read one by one, because all of them may not fit into memory."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.frame.large import LargeTable
from shoal.io.parquet import ParquetTable

#: Records of a Parquet file above which its columns are read one by one; those of folders always are.
LARGE = 1_000_000


def large_table(source: Any, most: int = LARGE, seen: Callable[[], Any] = int) -> LargeTable | None:
    """The table in a folder of Parquet files, or in one of many records; None for whatever else.

    `seen` is called with each column that is read.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    return by_column(ParquetTable(path), seen) if path.is_dir() or promised(path) > most else None


def by_column(table: ParquetTable, seen: Callable[[], Any] = int) -> LargeTable:
    """A table of Parquet files, of which single columns are read."""

    def read(name: str) -> pa.ChunkedArray:
        batches = (batch for _, batch in table.batches([name]))
        seen()
        return pa.chunked_array([batch.column(0) for batch in batches], table.schema.field(name).type)

    return LargeTable(table.schema, len(table), read)


def promised(path: Path) -> int:
    """How many records a Parquet file promises; 0 if it is none, which its reader then says better."""
    if path.suffix != ".parquet" or not path.is_file():
        return 0
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return 0
