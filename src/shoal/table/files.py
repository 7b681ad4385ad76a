"""Files in and out. What is read is an Arrow table; what is written appears whole or not at all."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import InputError, MachineError, did_you_mean


class Format(NamedTuple):
    name: str
    read: Callable[[Path], Any]
    write: Callable[[Any, Path], None]


def read(path: str | os.PathLike[str]) -> Any:
    """The table in a file, as a pyarrow Table. The format is told by the file's ending."""
    import pyarrow as pa

    path = Path(path)
    reader = file_format(path).read
    if not path.exists():
        there = [p.name for p in path.parent.glob("*") if p.is_file()] if path.parent.is_dir() else []
        hint = f" ({did_you_mean(path.name, there)})" if there else ""
        raise InputError(f"there is no file {str(path)!r}{hint}")
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a file: name one file")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{str(path)!r} is empty: a table needs a header line and at least k records")
        table = reader(path)
    except pa.ArrowInvalid as error:
        kind = file_format(path).name
        raise InputError(f"{str(path)!r} cannot be read as {kind}: {_first_sentence(error)}") from None
    except PermissionError:
        raise InputError(f"{str(path)!r} may not be read by this user: change its permissions") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {_first_sentence(error)}") from None
    _refuse_duplicates(table.column_names, path)
    return table


def write(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a pandas, polars or pyarrow table. An existing file is replaced in one step."""
    path = Path(path)
    writer = file_format(path).write
    with replacing(path) as part:
        writer(as_arrow(table), part)


def as_arrow(table: Any) -> Any:
    """A pandas, polars or pyarrow table, or an array, as an Arrow table."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(table, np.ndarray):
        columns = table.reshape(len(table), -1).T
        return pa.table({str(j): np.ascontiguousarray(column) for j, column in enumerate(columns)})
    try:
        return nw.from_native(table, eager_only=True).to_arrow()
    except TypeError:
        raise InputError(
            f"a {type(table).__name__} cannot be written: give a pandas, polars or pyarrow table"
        ) from None


def file_format(path: Path) -> Format:
    """The format that a file's ending stands for."""
    for ending, kind in FORMATS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise InputError(f"{path.name!r} has an ending shoal does not know: use one of {', '.join(FORMATS)}")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new name beside `path` to write to; it takes the place of `path` only if all went well."""
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: make it first, or write elsewhere")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file to write to")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        part.replace(path)
    except OSError as error:
        raise MachineError(f"{str(path)!r} cannot be written: {_first_sentence(error)}") from None
    finally:
        part.unlink(missing_ok=True)


def _first_sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def _refuse_duplicates(names: list[str], path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two columns of {str(path)!r} are called {name!r}: rename one of them")
        seen.add(name)


# --- CSV ---------------------------------------------------------------------------------------------

#: What a number may look like. Anything else (a leading zero, a thousands sign) makes a column text.
_INTEGER = r"^\s*[+-]?(0|[1-9][0-9]*)\s*$"
_NUMBER = (
    r"^\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$|^\s*[+-]?(?i:inf|infinity)\s*$"
)
_GAPS = ("", "NA", "NaN", "nan")


def _read_csv(delimiter: str) -> Callable[[Path], Any]:
    def read_csv(path: Path) -> Any:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            where = data.find(b"\0")
            if where >= 0:
                line = data[:where].count(b"\n") + 1
                raise InputError(f"{str(path)!r} has a NUL byte in line {line}: it is not a text file")
        parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with pacsv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        _refuse_duplicates(names, path)
        texts = pacsv.read_csv(
            path,
            parse_options=parse,
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        return pa.table({name: _typed(texts[name]) for name in names})

    return read_csv


def _typed(texts: Any) -> Any:
    """A column of texts as int64 or float64 where every cell is such a number, else as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gap = pc.is_in(texts, value_set=pa.array(_GAPS))
    filled = pc.if_else(gap, pa.scalar(None, pa.string()), texts)
    if filled.null_count == len(filled):
        return texts
    for pattern, kind in ((_INTEGER, pa.int64()), (_NUMBER, pa.float64())):
        if pc.all(pc.match_substring_regex(filled, pattern), skip_nulls=True).as_py():
            try:
                return pc.cast(pc.utf8_ltrim(pc.utf8_trim_whitespace(filled), "+"), kind)
            except pa.ArrowInvalid:  # more digits than an int64 holds: an identifier, kept as text
                return texts
    return texts


def _write_csv(delimiter: str) -> Callable[[Any, Path], None]:
    def write_csv(table: Any, path: Path) -> None:
        import pyarrow.csv as pacsv

        pacsv.write_csv(table, path, pacsv.WriteOptions(delimiter=delimiter, quoting_style="needed"))

    return write_csv


def _read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read()


def _write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


FORMATS: dict[str, Format] = {
    ".csv": Format("CSV", _read_csv(","), _write_csv(",")),
    ".tsv": Format("TSV", _read_csv("\t"), _write_csv("\t")),
    ".parquet": Format("Parquet", _read_parquet, _write_parquet),
}
