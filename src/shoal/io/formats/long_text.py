"""CSV and TSV larger than memory: read in pieces for dialect and types, then column by column."""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.frame.large import LargeTable
from shoal.io.atomic import first_sentence
from shoal.io.contents import Contents
from shoal.io.formats import text
from shoal.io.formats.text import FLOAT, INTEGER, NOTHING, TEXT, WIDE, Dialect
from shoal.io.limits import refuse_bomb
from shoal.io.parquet import write_batches
from shoal.io.private import storing

BLOCK = 1 << 24  # bytes that are read together; no record may be longer
_PACKED = {".gz": "gzip", ".zst": "zstd"}


class LongText:
    """A text file that is read several times, piece by piece."""

    def __init__(self, path: Path, block: int = BLOCK, chunk: int = text.CHUNK):
        self.path, self._block, self._chunk = path, block, chunk
        self._packing = _PACKED.get(path.suffix.lower())
        self._delimiter = "\t" if path.name.lower().endswith((".tsv", ".tsv.gz", ".tsv.zst")) else ","

    def __iter__(self) -> Iterator[memoryview]:
        size, total = self.path.stat().st_size, 0
        with self._open() as stream:
            while piece := stream.read(self._chunk):
                total += len(piece)
                if self._packing is not None:
                    refuse_bomb(total, size, str(self.path))
                yield memoryview(piece)

    def _open(self) -> Any:
        return pa.input_stream(str(self.path), compression=self._packing)

    def longer_than(self, size: int) -> bool:
        """Whether the text, unpacked, has more bytes."""
        if self._packing is None:
            return self.path.stat().st_size > size
        with self._speaking():
            total = 0
            return any((total := total + len(piece)) > size for piece in self)

    def to_parquet(self, target: Path) -> None:
        """Write the table as one Parquet file: numbers where all cells of a column are, as in memory."""
        with self._speaking():
            dialect = self._dialect()
            schema, typed = _types(dialect, self._batches(dialect))
            write_batches(target, schema, map(typed, self._batches(dialect)))

    def head(self, most: int) -> pa.Table:
        """The first records; columns are what these can be."""
        with self._speaking():
            dialect, batches = self._dialect(), []
            for batch in self._batches(dialect):
                batches.append(batch)
                if sum(map(len, batches)) >= most:
                    break
            schema, typed = _types(dialect, batches)
            return pa.Table.from_batches(map(typed, batches), schema).slice(0, most)

    def by_column(self) -> Contents:
        """The table and its cells as they are written, with single columns in memory.

        The cells lie in a file without a name, which is gone when nobody reads it, or this process ends.
        """
        import pyarrow.parquet as pq

        store = tempfile.TemporaryFile()  # noqa: SIM115

        def kept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            writer = None
            for batch in batches:
                with storing():
                    writer = writer or pq.ParquetWriter(store, batch.schema)
                    writer.write_table(pa.Table.from_batches([batch]))
                yield batch
            with storing():
                if writer is not None:
                    writer.close()
                store.flush()

        with self._speaking():
            dialect = self._dialect()
            schema, typed = _types(dialect, kept(self._batches(dialect)))
        file = pq.ParquetFile(store)

        def read(name: str, change: Callable[[Any], Any] = lambda batch: batch) -> pa.ChunkedArray:
            batches = [change(batch.select([name])) for batch in file.iter_batches(columns=[name])]
            kind = None if batches else pa.string()  # as every column of a table without records
            return pa.chunked_array([batch.column(0) for batch in batches], kind)

        records = file.metadata.num_rows
        table = LargeTable(schema, records, lambda name: read(name, typed))
        return Contents(table, LargeTable(file.schema_arrow, records, read), "text")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """What is wrong with the text, in one sentence."""
        where = str(self.path)
        try:
            yield
        except UnicodeDecodeError as error:
            raise text.undecodable(error, where) from None
        except (pa.ArrowException, OSError) as error:
            if "Expected" in str(error):
                raise text.uneven(str(error), where) from None
            if "straddling" in str(error):
                raise InputError(
                    f"{where!r} has a record of more than {self._block:,} letters: is a quote left open?"
                ) from None
            why = first_sentence(error)
            raise InputError(f"{where!r} cannot be read as a text, it may be cut short: {why}") from None

    def _dialect(self) -> Dialect:
        dialect = text.sniff_pieces(self, str(self.path), self._delimiter)
        if dialect.encoding == "utf-16":
            self.longer_than(sys.maxsize)  # only its head was read so far: refuse a bomb
        return dialect

    def _batches(self, dialect: Dialect) -> Iterator[pa.RecordBatch]:
        """Every cell as text, one batch after another."""
        import pyarrow.csv as pacsv

        with self._open() as stream:
            head = text.Decoded(stream, dialect.encoding)
            options = text.reading(head, dialect, str(self.path), self._block, threads=False)
        with (
            self._open() as stream,
            pacsv.open_csv(text.Decoded(stream, dialect.encoding), *options) as batches,
        ):
            yield pa.RecordBatch.from_pylist([], batches.schema)  # the columns, where no record follows
            yield from batches


def _types(
    dialect: Dialect, batches: Iterable[pa.RecordBatch]
) -> tuple[pa.Schema, Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """What the columns are when all batches are seen, and what makes that of a batch of texts."""
    found = _kinds(batches)
    decimal, kinds = _settled(dialect, found["."], found[","])
    types = {INTEGER: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])

    def typed(batch: pa.RecordBatch) -> pa.RecordBatch:
        cells = [
            column if kinds[name] == TEXT else text.as_number(text.without_gaps(column), kinds[name], decimal)
            for name, column in zip(batch.schema.names, batch.columns)
        ]
        return pa.RecordBatch.from_arrays(cells, schema=pa.schema(map(schema.field, batch.schema.names)))

    return schema, typed


def _kinds(batches: Iterable[pa.RecordBatch]) -> dict[str, dict[str, int]]:
    """For each decimal mark and column, what all its cells can be."""
    kinds: dict[str, dict[str, int]] = {".": {}, ",": {}}
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns):
            filled = text.without_gaps(column)
            for decimal, found in kinds.items():
                if found.get(name, NOTHING) != TEXT:
                    found[name] = max(found.get(name, NOTHING), _kind(filled, decimal))
    return kinds


def _kind(filled: Any, decimal: str) -> int:
    kind = text.kind_of(filled, decimal)
    if kind == INTEGER:
        try:
            text.as_number(filled, kind, decimal)
        except pa.ArrowInvalid:  # more digits than an int64 holds
            return WIDE
    return kind


def _settled(dialect: Dialect, points: dict[str, int], commas: dict[str, int]) -> tuple[str, dict[str, int]]:
    """The decimal mark, and what each column is: a comma is one if only that makes numbers of a column."""
    numbers = (INTEGER, FLOAT)
    only = [name for name in points if commas[name] in numbers and points[name] not in numbers]
    if dialect.delimiter == "," or not only:
        return ".", {name: kind if kind in numbers else TEXT for name, kind in points.items()}
    whole = {name: kind if kind == INTEGER else TEXT for name, kind in points.items()}
    return ",", whole | {name: commas[name] for name in only}
