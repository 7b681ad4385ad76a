"""Folders that name cells: all rows of year=2020/part-0.parquet have 2020 in the column year."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.frame.levels import is_text, written_out

GAP = "__HIVE_DEFAULT_PARTITION__"  # how every writer of such folders names a gap
MOST = 10_000  # folders of a release
LONGEST = 255  # bytes of a name that file systems take
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
#: What Hive and Spark escape, and what Windows refuses. All letters stay: Spark takes %C3%A9 for two.
_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:<=>?\\\\{}\\[\\]^|]")


class Part(NamedTuple):
    """A Parquet file, and the cells that its folders name; None is a gap."""

    path: Path
    cells: dict[str, str | None]


def find(source: Path) -> list[Part]:
    """The Parquet file, or those of a folder and of folders such as year=2020 in it, in the order of names.

    Names that begin with a dot or an underscore are passed over, as everywhere, unless they name a cell.
    """
    if not source.exists():
        raise InputError(f"there is no file or folder {str(source)!r}")
    if source.is_file():
        return [Part(source, {})]
    parts = _below(source, {})
    if not parts:
        raise InputError(f"{str(source)!r} has no .parquet files: name a folder of Parquet files")
    for part in parts:
        if list(part.cells) != list(parts[0].cells):
            raise InputError(
                f"{str(parts[0].path)!r} and {str(part.path)!r} lie in folders that name other columns: "
                "all files of a table need the same, in the same order"
            )
    return parts


def _below(folder: Path, cells: dict[str, str | None]) -> list[Part]:
    there = [p for p in sorted(folder.iterdir()) if not p.name.startswith((".", "_")) or _cell(p)]
    folders = [path for path in there if path.is_dir()]
    files = [path for path in there if path.suffix == ".parquet" and path not in folders]
    if not folders:
        return [Part(path, cells) for path in files]
    if files:
        raise InputError(
            f"{str(folder)!r} has files beside folders, such as {files[0].name!r} and {folders[0].name!r}: "
            "part them"
        )
    parts = []
    for path in folders:
        cell = _cell(path)
        if cell is None:
            raise InputError(
                f"{str(folder)!r} has folders in it, such as {path.name!r}: name a folder of Parquet files, "
                "or of folders such as year=2020"
            )
        if cell[0] in cells:
            raise InputError(f"{str(path)!r} names a cell of {cell[0]!r} twice: mend it")
        parts += _below(path, {**cells, cell[0]: cell[1]})
    return parts


def _cell(path: Path) -> tuple[str, str | None] | None:
    """The column and the cell that a folder names; None if it names none."""
    name, sign, value = path.name.partition("=")
    if not name or not sign or name.startswith("."):
        return None
    try:
        name, value = (unquote(word, errors="strict") for word in (name, value))
        (name + value).encode()
    except UnicodeError:
        raise InputError(f"the name of the folder {str(path)!r} is no text: rename it") from None
    return name, None if value in ("", GAP) else value


def columns(parts: Sequence[Part], kinds: pa.Schema | None) -> tuple[pa.Schema, list[dict[str, pa.Scalar]]]:
    """The columns that folders name, and each part's cells: of these `kinds`, or numbers if all are."""
    fields = []
    for name in parts[0].cells:
        said = {part.cells[name] for part in parts} - {None}
        whole = bool(said) and all(_NUMBER.fullmatch(value or "") for value in said)
        kind = (pa.int64() if whole else pa.string()) if kinds is None else kinds.field(name).type
        fields.append(pa.field(name, kind.value_type if types.is_dictionary(kind) else kind))
    schema = pa.schema(fields)
    texts = ({f: pa.scalar(part.cells[f.name], pa.string()) for f in schema} for part in parts)
    return schema, [{f.name: text.cast(f.type) for f, text in part.items()} for part in texts]


def with_cells(batch: pa.RecordBatch, cells: dict[str, pa.Scalar], names: Sequence[str]) -> pa.RecordBatch:
    """The columns of these names, from the batch or, in every row the same, from the cells."""
    fields = [pa.field(n, cells[n].type) if n in cells else batch.schema.field(n) for n in names]
    arrays = [pa.repeat(cells[n], len(batch)) if n in cells else batch.column(n) for n in names]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))


def refuse_unnameable(schema: pa.Schema, names: Sequence[str]) -> None:
    """Refuse columns whose cells do not come back from names of folders as what they were."""
    for name in names:
        kind = schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_integer(kind) or is_text(kind)):
            raise InputError(
                f"column {name!r} is {kind}: only whole numbers and texts can name folders; convert it, or "
                "partition by another"
            )


class Folders:
    """Which folder each row of a release goes to; the rows of one come together."""

    def __init__(self, names: Sequence[str]):
        self.names = list(names)
        self._numbers: dict[tuple[str, ...], int] = {}
        self._rows: list[Ints] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """The next rows; every cell must be published as it is here."""
        paths: list[tuple[str, ...]] = [()]
        codes = np.zeros(len(batch), np.int64)
        for name in self.names:
            encoded = written_out(batch.column(name)).dictionary_encode()
            called = [_folder(name, cell) for cell in [*encoded.dictionary.to_pylist(), None]]
            own = encoded.indices.fill_null(len(called) - 1).to_numpy(zero_copy_only=False)
            pairs, codes = np.unique(codes * len(called) + own, return_inverse=True)
            paths = [(*paths[pair // len(called)], called[pair % len(called)]) for pair in pairs.tolist()]
        numbers = [self._numbers.setdefault(path, len(self._numbers)) for path in paths]
        if len(self._numbers) > MOST:
            raise InputError(
                f"{', '.join(map(repr, self.names))} would make more than {MOST:,} folders: partition by "
                "columns with fewer values"
            )
        self._rows.append(np.array(numbers, np.int64)[codes])

    def sorted(self, order: Ints | None) -> Ints:
        """Rows in this order (None: as they came), but folder by folder, in the order of their names."""
        ranks = np.argsort([self._numbers[path] for path in sorted(self._numbers)])
        rows = ranks[np.concatenate(self._rows)]
        order = np.arange(len(rows)) if order is None else order
        return order[np.argsort(rows[order], kind="stable")]

    def runs(self) -> list[tuple[Path, int]]:
        """The folders in the order of their names, and how many rows each has."""
        counts = np.bincount(np.concatenate(self._rows), minlength=len(self._numbers))
        return [(Path(*path), int(counts[self._numbers[path]])) for path in sorted(self._numbers)]


def by_folder(table: Any, names: Sequence[str], order: Ints | None) -> Ints:
    """The rows of a table in this order, but folder by folder, as a release has them."""
    folders = Folders(names)
    for batch in pa.table({name: table[name] for name in names}).to_batches():
        folders.add(batch)
    return folders.sorted(order)


def _folder(name: str, cell: Any) -> str:
    """The folder of a cell. Readers take back what is escaped."""
    if cell in ("", GAP):
        raise InputError(f"column {name!r} has {cell!r}, which names no folder: partition by another")
    value = GAP if cell is None else _escaped(str(cell))
    begin = f"%{ord(name[0]):02X}{_escaped(name[1:])}" if name[:1] in ("_", ".") else _escaped(name)
    made = f"{begin}={value}"
    if len(made.encode()) > LONGEST or not name:
        raise InputError(f"column {name!r} has cells too long to name a folder: partition by another")
    return made


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
