"""Parquet, and Arrow's own file format (also called Feather)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.table.limits import refuse_memory


def read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    least = file.metadata.num_rows * file.metadata.num_columns  # bytes, however tightly they are packed
    refuse_memory(least, str(path))
    return _valid(file.read())


def write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def read_arrow(path: Path) -> Any:
    """Both forms, the file and the stream."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        if source.read(6) == b"ARROW1":
            return _valid(pa.ipc.open_file(source).read_all())
        source.seek(0)
        return _valid(pa.ipc.open_stream(source).read_all())


def _valid(table: Any) -> Any:
    """Arrow believes what a file says of itself; looked through once, a damaged one does no harm later."""
    table.validate(full=True)
    return table


def write_arrow(table: Any, path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(table, str(path), compression="lz4")
