"""Parquet, and Arrow's own file format (also called Feather)."""

import struct
from pathlib import Path

import pyarrow as pa

from shoal.frame.metadata import from_outside, published
from shoal.frame.series import without_views
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
    """Both forms, the file and the stream: a file is a stream after eight bytes, and what follows its end.

    The bytes are taken in first: a damaged length then points beyond them, and no memory is set aside for it.
    """
    refuse_memory(path.stat().st_size, str(path))
    with pa.OSFile(str(path)) as file:
        content = file.read_buffer()
    stream = content[8:] if content[:6].to_pybytes() == b"ARROW1" else content
    refuse_size(_promised(stream), len(content), str(path))
    table = pa.ipc.open_stream(stream).read_all()
    refuse_size(unpacked_size(table), len(content), str(path))
    return Contents(_valid(table))


def _promised(stream: pa.Buffer) -> int:
    """The bytes that packed columns say they unpack to: each begins with that number.

    Arrow checks messages when it reads them, and shows no buffers: so these are looked up in the message, by
    the numbers of fields in the format's description.
    """
    total = 0
    reader = pa.ipc.MessageReader.open_stream(stream)
    for message in reader:
        if message.type not in ("record batch", "dictionary"):
            continue
        facts, body = message.metadata.to_pybytes(), message.body
        batch = _table_at(facts, _field(facts, int.from_bytes(facts[:4], "little"), 2))
        if message.type == "dictionary":
            batch = _table_at(facts, _field(facts, batch, 1))
        at, packed = _field(facts, batch, 2), _field(facts, batch, 3)
        if not at or not packed:
            continue
        at = _table_at(facts, at)
        (count,) = struct.unpack_from("<I", facts, at)
        for offset, length in struct.iter_unpack("<qq", facts[at + 4 : at + 4 + 16 * count]):
            size = int.from_bytes(body[offset : offset + 8].to_pybytes(), "little", signed=True)
            total += max(size, 0) if length else 0
    return total


def _field(facts: bytes, table: int, number: int) -> int:
    """Where a field of a table stands (FlatBuffers); 0 if it has none."""
    known = table - struct.unpack_from("<i", facts, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", facts, known)[0]:
        return 0
    (offset,) = struct.unpack_from("<H", facts, known + 4 + 2 * number)
    return table + offset if offset else 0


def _table_at(facts: bytes, field: int) -> int:
    return field + struct.unpack_from("<I", facts, field)[0]


def _valid(table: pa.Table) -> pa.Table:
    """Arrow believes what a file says of itself; looked through once, a damaged one does no harm later."""
    table.validate(full=True)
    table = from_outside(table)
    return table.cast(without_views(table.schema))


def write_arrow(table: pa.Table, path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(published(table, "stats"), str(path), compression="lz4")
