"""Parquet files read batch by batch as one table, and written part by part so that all appears or nothing."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.frame.large import LargeTable
from shoal.frame.levels import arrow_levels
from shoal.frame.metadata import foreign, from_outside, published
from shoal.io import atomic, hive
from shoal.io.atomic import first_sentence, refuse_input, refuse_missing_folder, writing
from shoal.io.contents import sha256, stamp
from shoal.io.json_text import json_text
from shoal.io.limits import refuse_names
from shoal.io.packed import BATCH, PackedFile
from shoal.io.private import private_folder

if TYPE_CHECKING:
    import pyarrow.parquet as pq

PART = 2_000_000  # records of a part file: some 100 MB
MANIFEST = "_manifest.json"  # readers of a folder pass over names with an underscore


class ParquetTable:
    """One Parquet file, or all of a folder's in the order of their names, seen as one table.

    Folders such as year=2020 name cells of `keys`, the last columns; they are of these `kinds` if given.
    """

    def __init__(self, source: str | os.PathLike[str], batch: int = BATCH, kinds: pa.Schema | None = None):
        self.source, self.batch = Path(source), batch
        parts = hive.find(self.source)
        self.files = [part.path for part in parts]
        named, self._cells = hive.columns(parts, kinds)
        self.keys: list[str] = named.names
        self._stamps = [stamp(path) for path in self.files]
        self.rows: list[int] = []
        for path in self.files:
            with _open(path, batch) as file:
                refuse_names([*file.schema.names, *self.keys], str(path))
                carried = from_outside(file.schema.empty_table())
                schema = published(carried).schema
                if not self.rows:
                    self.schema, self.notes = schema, foreign(carried)
                else:
                    _same_columns(self.schema, self.files[0], schema, path)
                self.rows.append(file.rows)
        for field in named:
            self.schema = self.schema.append(field)

    def __len__(self) -> int:
        return sum(self.rows)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(place of its first row in the whole, record batch) one after another; only these columns."""
        begin = 0
        for path, known, rows, cells in zip(self.files, self._stamps, self.rows, self._cells):
            if stamp(path) != known:
                raise InputError(f"{str(path)!r} has changed since it was first read: protect it again")
            first = begin
            with _open(path, self.batch) as file:
                parts = file.batches([n for n in columns if n not in cells] or file.schema.names[:1])
                while True:
                    try:
                        batch = next(parts, None)
                    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                        raise _unreadable(path, error) from None
                    if batch is None:
                        break
                    yield begin, hive.with_cells(batch, cells, columns)
                    begin += len(batch)
            if begin - first != rows:
                raise InputError(f"{str(path)!r} promises {rows} records, but has {begin - first}: mend it")

    def has_gaps(self, columns: Collection[str]) -> bool:
        """Whether the files say of one of these columns that cells are empty."""
        import pyarrow.parquet as pq

        for facts in map(pq.read_metadata, self.files):
            for place in itertools.product(range(facts.num_row_groups), range(facts.num_columns)):
                column = facts.row_group(place[0]).column(place[1])
                if column.path_in_schema in columns and column.statistics and column.statistics.null_count:
                    return True
        return False

    def by_column(self) -> LargeTable:
        """The table with single columns in memory."""

        def read(name: str) -> pa.ChunkedArray:
            batches = (batch for _, batch in self.batches([name]))
            return pa.chunked_array([batch.column(0) for batch in batches], self.schema.field(name).type)

        return LargeTable(self.schema, len(self), read)


class SomeRows(ParquetTable):
    """The rows of a table for which `kept` is true, seen as a table."""

    def __init__(self, table: ParquetTable, kept: Any, notes: Sequence[str] = ()):
        self._table, self._kept, self.keys = table, kept, table.keys
        self.schema, self.rows, self.notes = table.schema, [int(kept.sum())], (*table.notes, *notes)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """As of the whole table; places are counted in the rows that are kept."""
        begin = 0
        for first, whole in self._table.batches(columns):
            batch = whole.filter(pa.array(self._kept[first : first + len(whole)]))
            yield begin, batch
            begin += len(batch)


def promised(path: Path) -> int:
    """How many records a Parquet file promises; 0 if it is none, which its reader then says better."""
    if path.suffix != ".parquet" or not path.is_file():
        return 0
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return 0


@contextlib.contextmanager
def _open(path: Path, batch: int) -> Iterator[PackedFile]:
    try:
        packed = PackedFile(path, batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    with packed.file:
        yield packed


def _unreadable(path: Path, error: Exception) -> InputError:
    why = first_sentence(error)
    return InputError(f"{str(path)!r} cannot be read as Parquet, it may be cut short: {why}")


def _same_columns(schema: pa.Schema, first: Path, other: pa.Schema, path: Path) -> None:
    """Files of one table have the same columns of the same types; their order may differ."""
    for name in [*schema.names, *other.names]:
        if name not in other.names or name not in schema.names:
            raise InputError(f"only one of {str(first)!r} and {str(path)!r} has a column {name!r}: mend them")
        ours, theirs = schema.field(name).type, other.field(name).type
        if ours != theirs:
            raise InputError(
                f"column {name!r} is {ours} in {str(first)!r} but {theirs} in {str(path)!r}: convert one"
            )


@contextlib.contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """A private folder beside the target for everything unfinished; it is always removed.

    If this process is killed, the next that writes to the same target removes it.
    """
    refuse_missing_folder(target.parent)
    with writing(target), private_folder(target.name, target.parent, handle=True) as folder:
        yield folder


def write_batches(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write batches as one file. A disk that is full is not taken for batches that broke off."""
    import pyarrow.parquet as pq

    with writing(path):
        writer = pq.ParquetWriter(path, schema)
    try:
        for batch in batches:
            with writing(path):
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    finally:
        with writing(path):
            writer.close()


def refuse_target(source: Path, target: Path, replace: bool) -> None:
    """Say before the work what would fail after it. A named file may be replaced, a folder only if asked."""
    refuse_input(target, source)
    if source.is_dir() and source.resolve() in target.resolve().parents:
        raise InputError(f"{str(target)!r} lies inside the input: name another output")
    if target.is_dir() and any(target.iterdir()):
        if not replace:
            raise InputError(
                f"the folder {str(target)!r} exists and is not empty: name another, or let it be replaced "
                "(--replace)"
            )
        if not (target / MANIFEST).is_file():
            raise InputError(f"{str(target)!r} has no {MANIFEST}, so it is no release: name another folder")
    elif target.exists() and not target.is_dir() and target.suffix != ".parquet":
        raise InputError(f"{str(target)!r} is a file: name a folder, or a .parquet file")
    elif target.is_dir() and target.suffix == ".parquet":
        raise InputError(f"{str(target)!r} is a folder: name a file to write to")


class PartWriter:
    """Writes batches in order, into one file or into parts of so many records.

    With `folders`, their rows come one folder after another, and lose the columns that name it.
    """

    def __init__(self, place: Path, schema: pa.Schema, part: int = PART, folders: hive.Folders | None = None):
        self.single = place.suffix == ".parquet"
        self.place, self.part = place, part
        self.schema = schema.empty_table().drop_columns([] if folders is None else folders.names).schema
        self._runs = [] if folders is None else folders.runs()[::-1]
        self.parts: list[Path] = []
        self._file: pq.ParquetWriter | None = None
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        while self._runs and len(batch):
            folder, left = self._runs.pop()
            self._write(batch.slice(0, left), self.place / folder)
            if left > len(batch):
                self._runs.append((folder, left - len(batch)))
            else:
                self.close()
            batch = batch.slice(left)
        if len(batch):
            self._write(batch, self.place)

    def _write(self, batch: pa.RecordBatch, folder: Path) -> None:
        import pyarrow.parquet as pq

        if self._file is None:
            if not self.single:
                folder.mkdir(parents=True, exist_ok=True)
            name = self.place if self.single else folder / f"part-{len(self.parts):05d}.parquet"
            self._file, self._rows = pq.ParquetWriter(name, self.schema), 0
            self.parts.append(name)
        batch = batch.select(self.schema.names)
        columns = [arrow_levels(pa.chunked_array([column])).combine_chunks() for column in batch.columns]
        self._file.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        self._rows += len(batch)
        if self._rows >= self.part and not self.single:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def write_manifest(folder: Path, parts: Sequence[Path], facts: dict[str, Any]) -> None:
    """Which parts belong to the release, how many records each has, and its fingerprint."""
    import pyarrow.parquet as pq

    listed = []
    for path in parts:
        name, records = path.relative_to(folder).as_posix(), pq.read_metadata(path).num_rows
        listed.append({"name": name, "records": records, "sha256": sha256(path)})
    (folder / MANIFEST).write_text(json_text({**facts, "parts": listed}, indent=1) + "\n")


def private_path(target: str | os.PathLike[str]) -> Path:
    """Where the owner of a release finds what is not for its readers: beside its folder."""
    return Path(f"{str(target).rstrip('/')}.private.json")


def write_private(path: Path, facts: dict[str, Any]) -> str:
    """Write them for their owner alone; gives the note that tells where."""
    with atomic.replacing(path, private=True) as part:
        part.write_text(json_text(facts, indent=1) + "\n")
    return private_note(str(path))


def private_note(path: str) -> str:
    return f"seed and block plan are in {path!r}: they hold single records' values, so keep them inside"


def publish(made: Path, target: Path) -> None:
    """Give the finished file or folder its name, in one step; what is left of an old one is removed later."""
    for path in [*made.rglob("*"), made]:
        atomic.sync(path)
    if target.exists():
        made.chmod(stat.S_IMODE(target.stat().st_mode))
    if target.is_dir() and any(target.iterdir()):
        atomic.exchange(made, target)
    else:
        made.replace(target)
