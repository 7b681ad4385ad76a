"""Files in and out. What is read is an Arrow table; what is written appears whole or not at all."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa

from shoal.errors import InputError, did_you_mean
from shoal.frame.large import LargeTable
from shoal.frame.levels import arrow_levels
from shoal.frame.metadata import published
from shoal.frame.series import as_table
from shoal.io import stores
from shoal.io.atomic import first_sentence, replacing
from shoal.io.contents import Contents
from shoal.io.databases import sql
from shoal.io.databases.address import is_remote
from shoal.io.formats import arrow, excel, fixed, r, stats, text
from shoal.io.limits import refuse_names


class Format(NamedTuple):
    """How to read and write one kind of file.

    A file of the same `family` gets its own cells back unchanged where they are not protected.
    """

    name: str
    read: Callable[[Path], Contents]
    write: Callable[[pa.Table, Path], None]
    family: str = ""
    fit: Callable[[pa.Table, list[str]], pa.Table] = lambda table, names: table  # what such a file can hold

    @property
    def writable(self) -> bool:
        return self.write is not stats.refuse_sas


FORMATS: dict[str, Format] = {
    ".parquet": Format("Parquet", arrow.read_parquet, arrow.write_parquet),
    ".arrow": Format("Arrow", arrow.read_arrow, arrow.write_arrow),
    ".feather": Format("Feather", arrow.read_arrow, arrow.write_arrow),
    ".sav": Format("SPSS", partial(stats.read, "sav"), partial(stats.write, "sav"), "sav"),
    ".dta": Format("Stata", partial(stats.read, "dta"), partial(stats.write, "dta"), "dta"),
    ".sas7bdat": Format("SAS", partial(stats.read, "sas7bdat"), stats.refuse_sas),
    ".xpt": Format("SAS", partial(stats.read, "xport"), stats.refuse_sas),
    ".rds": Format("R", r.read, r.write),
    ".xlsx": Format("Excel", excel.read, excel.write, "excel"),
}
for _name, _sign in (("CSV", ","), ("TSV", "\t")):
    for _ending, _packing in (("", None), (".gz", "gzip"), (".zst", "zstd")):
        FORMATS[f".{_name.lower()}{_ending}"] = Format(
            _name, partial(text.read, _sign, _packing), partial(text.write, _sign, _packing), "text"
        )


for _ending in fixed.ENDINGS:  # which a layout completes
    FORMATS[_ending] = Format("fixed widths", partial(text.read, ",", None), stats.refuse_sas)


def read(path: str | os.PathLike[str]) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    path : path or str
        A file, whose ending says the format (book.xlsx#Sheet 2!3 is a sheet whose names stand in row 3), or
        the URL of a table in a database, such as sqlite:///file.db#table,
        duckdb:///file.duckdb#table or postgresql://user@host/database#table, or the address of a file in a
        store, such as s3://bucket/file.csv.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> import os, tempfile, shoal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "firms.csv")
    ...     shoal.write(shoal.datasets.survey(5), path)
    ...     shoal.read(path).column_names[:2]
    ['region', 'sector']
    """
    with stores.brought(path) as near:
        return sql.load(str(near))[0] if sql.is_url(near) else read_contents(near).table


def read_contents(path: str | os.PathLike[str]) -> Contents:
    """The table in a file and its cells as they stand there, from one reading."""
    wanted = Path(path)
    kind, path = file_format(wanted), file_of(wanted)
    if not path.exists():
        there = [p.name for p in path.parent.glob("[!.]*") if p.is_file()] if path.parent.is_dir() else []
        hint = f" ({did_you_mean(path.name, there)})" if there else ""
        raise InputError(f"there is no file {str(path)!r}{hint}")
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a file: name one file")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{str(path)!r} is empty: a table needs a header line and at least k records")
        contents = kind.read(wanted)._replace(family=kind.family)
    except MemoryError:
        raise
    except pa.ArrowException as error:
        if "launch worker thread" in str(error):  # a thread needs memory of its own
            raise MemoryError from None
        raise InputError(f"{str(path)!r} cannot be read as {kind.name}: {first_sentence(error)}") from None
    except UnicodeDecodeError as error:
        raise text.undecodable(error, str(path)) from None
    except PermissionError:
        raise InputError(f"{str(path)!r} may not be read by this user: change its permissions") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {first_sentence(error)}") from None
    refuse_names(contents.table.column_names, str(path))
    return contents


def write(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a table. An existing file is replaced in one step.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, or a numpy array.
    path : path or str
        A file, whose ending says the format, or the URL of a new table in a database, which is written in
        one transaction.

    Examples
    --------
    >>> import os, tempfile, shoal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "firms.parquet")
    ...     shoal.write(shoal.datasets.survey(5), path)
    ...     shoal.read(path).num_rows
    5
    """
    if is_remote(path):
        with stores.sending(str(path)) as near:
            write(table, near)
        return
    if sql.is_url(path):
        sql.write(str(path), as_arrow(table), False, lambda *written: None)
        return
    path = Path(path)
    writer = file_format(path).write
    with replacing(file_of(path)) as part:
        writer(as_arrow(table), part)


def as_arrow(table: Any) -> Any:
    """A pandas, polars or pyarrow table, or an array, as an Arrow table; a LargeTable as it is."""
    data = as_table(table)[0]
    if isinstance(data, LargeTable):
        return data
    if isinstance(data, np.ndarray):
        columns = data.reshape(len(data), -1).astype(data.dtype.newbyteorder("="), copy=False).T
        return pa.table({str(j): np.ascontiguousarray(column) for j, column in enumerate(columns)})
    try:
        frame = nw.from_native(data, eager_only=True)
        pandas = frame.implementation.is_pandas()
        made = pa.Table.from_pandas(data, preserve_index=False) if pandas else frame.to_arrow()
        for place, field in enumerate(made.schema):
            if pa.types.is_dictionary(field.type) and not field.type.ordered:  # polars has them by row
                made = made.set_column(place, field.name, arrow_levels(made[field.name]))
        return published(made)
    except TypeError:
        raise InputError(
            f"a {type(table).__name__} cannot be written: give a pandas, polars or pyarrow table"
        ) from None


def file_of(path: Path) -> Path:
    """The file itself, where a sheet (book.xlsx#Sheet 2) or its layout (a.fwf#layout.csv) may be named."""
    found = fixed.place(path)
    return excel.place(path)[0] if found is None else found[0]


def file_format(path: Path) -> Format:
    """The format that a file's ending stands for; of fixed widths, with its layout."""
    kind, found = FORMATS[file_ending(path)], fixed.place(path)
    if found is None:
        return kind
    layout = found[1]
    return kind._replace(
        read=lambda part: fixed.read(file_of(part), layout),
        write=lambda table, part: fixed.write(table, part, layout),
        fit=lambda table, names: fixed.fitted(table, layout, names),
    )


def file_ending(path: Path) -> str:
    """The part of a file's name that tells its format, such as .csv.gz."""
    for ending in FORMATS:
        if file_of(path).name.lower().endswith(ending):
            return ending
    if path.is_dir():
        readers = "protect, check, bound, measure, compare, suggest, inspect and plan"
        raise InputError(f"{path.name!r} is a folder, for {readers}, of Parquet files: name one of its files")
    raise InputError(f"{path.name!r} has an ending shoal does not know: use one of {', '.join(FORMATS)}")
