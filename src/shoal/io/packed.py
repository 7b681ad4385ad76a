"""Parquet files may hold far more than they weigh: what they unpack to is counted before it is unpacked."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.frame.series import without_views
from shoal.io.limits import refuse_bomb, refuse_memory

BATCH = 262_144  # records that are read at once: 20 MB for ten columns of doubles
_FEW = 256  # the same where texts cannot be counted before they are unpacked: 256 MB, if each has 1 MB
#: Parquet packs what repeats to almost nothing: bytes that any file may hold, and so many times its own size.
_ALWAYS, _TIMES = 1 << 30, 1000


class PackedFile:
    """A Parquet file read batch by batch; texts come as dictionaries, in which one that repeats lies once."""

    def __init__(self, path: Path, batch: int = BATCH):
        import pyarrow.parquet as pq

        self.path = path
        file = pq.ParquetFile(path)
        self.schema, facts = without_views(file.schema_arrow), file.metadata
        self.rows, size, texts, few = facts.num_rows, 0, [], False
        for j in range(facts.num_columns):
            leaf = file.schema.column(j)
            chunks = [facts.row_group(g).column(j) for g in range(facts.num_row_groups)]
            size += max(8, leaf.length or 0) * sum(chunk.num_values for chunk in chunks)
            if leaf.physical_type == "BYTE_ARRAY":
                shared = any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks)  # not as a dictionary
                few |= shared
                texts += [] if shared else [leaf.path]
        self.size = size  # bytes of its cells, texts not counted
        self._refuse(size)
        packed = pq.ParquetFile(path, read_dictionary=texts).schema_arrow
        for name in {text.partition(".")[0] for text in texts}:
            if packed.names.count(name) != 1 or not _unpacks(packed.field(name), self.schema.field(name)):
                few, texts = True, [text for text in texts if text.partition(".")[0] != name]
        self.batch = min(batch, _FEW) if few else batch
        self.file = pq.ParquetFile(path, read_dictionary=texts, buffer_size=1 << 20, pre_buffer=False)

    def _refuse(self, size: int) -> None:
        refuse_bomb(size, self.path.stat().st_size, str(self.path), _ALWAYS, _TIMES)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One batch after another, each of a size that fits into memory."""
        schema, total = self.schema, 0
        for batch in self.file.iter_batches(self.batch, columns=columns):
            size = unpacked_size(batch)
            total += size
            self._refuse(total)
            refuse_memory(size, str(self.path))
            if columns is not None:
                schema = pa.schema([self.schema.field(name) for name in batch.schema.names])
            yield batch.cast(schema)


def _unpacks(packed: pa.Field, plain: pa.Field) -> bool:
    """Whether texts come as dictionaries there, and can be made what they are."""
    if packed.type == plain.type:
        return pa.types.is_dictionary(plain.type)
    try:
        return pa.nulls(0, packed.type).cast(plain.type) is not None
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False


def unpacked_size(cells: pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray) -> int:
    """Bytes of the cells with every one written out, at least eight for each."""
    if isinstance(cells, (pa.Table, pa.RecordBatch)):
        return sum(map(unpacked_size, cells.columns))
    if isinstance(cells, pa.ChunkedArray):
        return sum(map(unpacked_size, cells.chunks))
    if isinstance(cells, pa.DictionaryArray):
        values = cells.dictionary
        kind = values.type
        if not (pa.types.is_nested(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind)):
            lengths = pc.fill_null(pc.binary_length(values), 0).cast(pa.int64())
            return 8 * len(cells) + (pc.sum(lengths.take(cells.indices)).as_py() or 0)
        return 8 * len(cells) + cells.nbytes
    if pa.types.is_struct(cells.type):
        return sum(map(unpacked_size, cells.flatten()))
    if pa.types.is_map(cells.type):
        return unpacked_size(cells.keys) + unpacked_size(cells.items)
    if isinstance(cells, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return 8 * len(cells) + unpacked_size(cells.flatten())
    return max(cells.nbytes, 8 * len(cells))
