"""Parquet, and Arrow's own file format (also called Feather)."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read()


def write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def read_arrow(path: Path) -> Any:
    """Both forms, the file and the stream."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source).read_all()
        source.seek(0)
        return pa.ipc.open_stream(source).read_all()


def write_arrow(table: Any, path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(table, str(path), compression="lz4")
