"""Parquet, and Arrow's own file format (also called Feather)."""

import re
from pathlib import Path

import pyarrow as pa

from shoal.frame.metadata import from_outside, published
from shoal.io.contents import Contents
from shoal.io.limits import refuse_memory, refuse_size
from shoal.io.packed import PackedFile, unpacked_size


def read_parquet(path: Path) -> Contents:
    file = PackedFile(path)
    refuse_memory(file.size, str(path))
    batches, size = [], 0
    for batch in file.batches():
        size += unpacked_size(batch)
        refuse_memory(size, str(path))
        batches.append(batch)
    return Contents(_valid(pa.Table.from_batches(batches, file.schema)))


def write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(published(table, "stats"), path)


def read_arrow(path: Path) -> Contents:
    """Both forms, the file and the stream.

    The bytes are taken in first: a damaged length then points beyond them, and no memory is set aside for it.
    """
    refuse_memory(path.stat().st_size, str(path))
    with pa.OSFile(str(path)) as file:
        content = file.read_buffer()
    opened = pa.ipc.open_file if content[:6].to_pybytes() == b"ARROW1" else pa.ipc.open_stream
    try:
        table = opened(content).read_all()
        refuse_size(unpacked_size(table), len(content), str(path))
        return Contents(_valid(table))
    except pa.ArrowMemoryError as error:  # unpacking a column, says the file, takes this much
        refuse_size(int(re.findall(r"\d+|$", str(error))[0] or 0), len(content), str(path))
        raise


def _valid(table: pa.Table) -> pa.Table:
    """Arrow believes what a file says of itself; looked through once, a damaged one does no harm later."""
    table.validate(full=True)
    return from_outside(table)


def write_arrow(table: pa.Table, path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(published(table, "stats"), str(path), compression="lz4")
