"""Stata, SPSS and SAS files, through pyreadstat. Labels travel with the table and into the output.

Values that a file itself calls missing (SPSS's user-missing codes, Stata's .a to .z) are gaps for the
grouping, never numbers. They come out as they went in: of a protected column where all of a group have one.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError, needs_extra
from shoal.frame.levels import is_text
from shoal.frame.metadata import details_of, with_details
from shoal.io.contents import Contents
from shoal.io.limits import refuse_size
from shoal.io.mixed_cells import texts

if TYPE_CHECKING:
    import pandas as pd

#: What pyreadstat knows of a file and takes back, by the name it has on the way in.
_COMMON = {
    "column_names_to_labels": "column_labels",
    "variable_value_labels": "variable_value_labels",
    "original_variable_types": "variable_format",
}
_SPSS = ("missing_ranges", "variable_measure", "variable_display_width")  # the same on both ways
_OWNERS = {"sav": "SPSS", "dta": "Stata", "sas7bdat": "SAS", "xport": "SAS"}
_LONG_TEXT = 32768  # the type of a column of long texts in Stata; numbers are above, short texts below
_STATA_LONG = 2_147_483_620  # its largest whole number; those above are its letters


def read(kind: str, path: Path) -> Contents:
    """In the table what the file calls missing is a gap; the cells have it as it stands there.

    `kind` is sav, dta, sas7bdat or xport.
    """
    with needs_extra("files of Stata, SPSS and SAS need", "stats"):
        import pyreadstat
    options = {"user_missing": True} if kind in ("sav", "dta") else {}
    read = getattr(pyreadstat, f"read_{kind}")
    try:
        promised = read(str(path), metadataonly=True)[1]
        widths = (promised.variable_storage_width or {}).values()
        size = (promised.number_rows or 0) * sum(max(8, width or 0) for width in widths)  # set aside at once
        size += _long_texts(path) if kind == "dta" else 0
        refuse_size(size, path.stat().st_size, str(path))
        cells, details = read(str(path), output_format="dict", **options)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # nobody knows all that a broken file makes the library raise
        raise InputError(f"{str(path)!r} cannot be read as a file of {_OWNERS[kind]}: {error}") from None
    lettered, ranges = details.missing_user_values or {}, details.missing_ranges or {}

    def column(name: str, values: Any, letters: bool) -> pa.Array:
        form, stored = details.original_variable_types.get(name), details.readstat_variable_types.get(name)
        return _column(values, form, stored, letters)

    as_written = {name: column(name, values, name in lettered) for name, values in cells.items()}
    columns = dict(as_written)
    for name in {*lettered, *ranges} & set(cells):
        present = _without_missing(cells[name], set(lettered.get(name, ())), ranges.get(name, ()))
        columns[name] = column(name, present, False)
    known = _COMMON | dict(zip(_SPSS, _SPSS))
    facts = {there: getattr(details, here) for here, there in known.items()}
    facts["variable_value_labels"] = {n: list(v.items()) for n, v in details.variable_value_labels.items()}
    facts["missing_user_values"] = lettered
    facts["file_label"] = details.file_label or ""
    tables = [with_details(pa.table(held), stats={"kind": kind, **facts}) for held in (columns, as_written)]
    return Contents(*tables) if kind in ("sav", "dta") else Contents(tables[0])


def _long_texts(path: Path) -> int:
    """Bytes of all cells that hold long texts (strL) in a file of Stata: many may refer to one text.

    The map names the sections; a reference is the column and the row where the text first stood.
    """
    content = np.memmap(path, np.uint8, "r")
    head = content[:1000].tobytes()
    release, order = re.search(rb"<release>(11[789])<", head), "<" if b"<byteorder>LSF<" in head else ">"
    if release is None:
        return 0  # older files have none
    version, at = int(release[1]), head.index(b"<map>") + 5
    places = np.frombuffer(head, f"{order}i8", 14, at)
    types = content[places[2] + 16 : places[3] - 17].view(f"{order}u2")
    widths = np.where(types > _LONG_TEXT, np.array([1, 2, 4, 4, 8])[(65530 - types) % 5], types)
    widths = np.where(types == _LONG_TEXT, 8, widths).astype(np.int64)
    rows = content[places[9] + 6 : places[10] - 7].reshape(-1, widths.sum())
    starts = (np.cumsum(widths) - widths)[types == _LONG_TEXT]
    lengths = _lengths(content[places[10] + 7 : places[11] - 8], version, order)
    total = 0
    for start in starts:
        cells, counts = np.unique(rows[:, start : start + 8].copy().view("V8"), return_counts=True)
        total += sum(lengths.get(c.tobytes(), 0) * n for c, n in zip(cells, counts.tolist()))
    return total


def _lengths(texts: NDArray[np.uint8], version: int, order: str) -> dict[bytes, int]:
    """The length of each long text, by the eight bytes that refer to it."""
    sides = {117: (4, 4), 118: (2, 6), 119: (3, 5)}[version]
    head = struct.Struct(f"{order}3sI{'I' if version == 117 else 'Q'}BI")
    lengths, at = {}, 0
    while at < len(texts):
        _, column, row, _, length = head.unpack_from(texts.data, at)  # whose mark the library has checked
        word: Literal["little", "big"] = "little" if order == "<" else "big"
        lengths[b"".join(n.to_bytes(m, word) for n, m in zip((column, row), sides))] = length
        at += head.size + length
    return lengths


def _without_missing(values: Any, letters: set[str], ranges: Collection[dict[str, Any]]) -> list[Any]:
    """The values, with a gap where the file calls one missing: by a letter of Stata, or a range of SPSS."""

    def missing(value: Any) -> bool:
        if isinstance(value, str):
            return value in letters or any(value.rstrip() == str(r["lo"]).rstrip() for r in ranges)
        number = isinstance(value, (int, float))
        return number and any(not isinstance(r["lo"], str) and r["lo"] <= value <= r["hi"] for r in ranges)

    return [None if value is None or missing(value) else value for value in values]


def any_missing(values: list[Any], ranges: Collection[dict[str, Any]]) -> bool:
    """Whether one of these values would be taken for missing."""
    there = [value for value in values if value is not None]
    return None in _without_missing(there, set(), ranges)


def _column(values: Any, form: str | None, stored: str | None, lettered: bool) -> pa.Array:
    """A list of cells as an Arrow array; whole numbers where the file's own format shows no decimals.

    Stata's whole numbers have at most 32 bits; wider ones would be written as doubles.
    """
    values = list(values)
    if lettered:  # numbers and Stata's letters: kept as texts until they are written
        return texts(values)
    array = pa.array(values, from_pandas=True)
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)  # a gap makes them doubles
    if stored in ("int8", "int16", "int32") and number:
        return array.cast(pa.int32())
    shows_whole = form is not None and form.startswith("F") and form.endswith(".0")
    if shows_whole and pa.types.is_floating(array.type):
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            return array
    return array


def write(kind: str, table: pa.Table, path: Path) -> None:
    """`kind` is sav or dta."""
    with needs_extra("files of Stata, SPSS and SAS need", "stats"):
        import pyreadstat as package
    details = details_of(table).get("stats", {})

    def told(fact: str) -> dict[str, Any]:
        """What is told of the columns that are there."""
        mapping = details.get(fact, {})
        return {name: mapping[name] for name in table.column_names if mapping.get(name)}

    def key(value: Any) -> Any:
        return int(value) if kind == "dta" and isinstance(value, float) and value.is_integer() else value

    options = {fact: told(fact) for fact in _COMMON.values()}
    options["variable_value_labels"] = {
        name: {key(value): label for value, label in pairs}
        for name, pairs in options["variable_value_labels"].items()
    }
    if details.get("kind") != kind:
        options["variable_format"] = {}
    elif kind == "sav":
        options |= {fact: told(fact) for fact in _SPSS}
    signs = told("missing_user_values") if kind == "dta" else {}
    lettered = {name: own for name, own in signs.items() if is_text(table[name].type)}
    if lettered:
        options["missing_user_values"] = lettered
    if kind == "sav":  # which has only doubles: a format says that they are whole
        whole = {name: f"F{max(8, len(str(top)) + 1)}.0" for name, top in _whole_columns(table).items()}
        options["variable_format"] = whole | options["variable_format"]
    frame = _as_pandas(table if kind == "sav" else _narrow(table), lettered)
    try:
        write_file = getattr(package, f"write_{kind}")
        write_file(frame, str(path), file_label=details.get("file_label", ""), **options)
    except (package.PyreadstatError, package.ReadstatError, ValueError, TypeError) as error:
        strange = [name for name in table.column_names if not re.fullmatch(r"[^\W\d]\w*", name)]
        hint = f" (rename {strange[0]!r}?)" if strange and "name" in str(error) else ""
        what = f"this table cannot be written as a file of {_OWNERS[kind]}"
        raise InputError(f"{what}: {error}{hint}") from None


def refuse_sas(table: pa.Table, path: Path) -> None:
    raise InputError("SAS files can be read but not written: name an output such as out.parquet with -o")


def forget_codes(table: pa.Table, names: Collection[str]) -> pa.Table:
    """These columns have gaps and no user-missing codes: a mean must not be taken for one."""
    details = details_of(table).get("stats", {})
    ranges = {name: r for name, r in details.get("missing_ranges", {}).items() if name not in names}
    return with_details(table, stats={**details, "missing_ranges": ranges})


def _whole_columns(table: pa.Table) -> dict[str, int]:
    """The columns of whole numbers, and the largest absolute value in each."""
    whole = [name for name in table.column_names if pa.types.is_integer(table[name].type)]
    ends = {name: pc.min_max(table[name]).as_py() for name in whole}
    return {name: max(abs(end["min"] or 0), abs(end["max"] or 0)) for name, end in ends.items()}


def _narrow(table: pa.Table) -> pa.Table:
    """Whole numbers as Stata's own where they fit: it has none of 64 bits."""
    for name, top in _whole_columns(table).items():
        place = table.column_names.index(name)
        if top <= _STATA_LONG and table.schema.field(name).type.bit_width > 32:
            field = table.schema.field(name).with_type(pa.int32())
            table = table.set_column(place, field, table[name].cast(pa.int32()))
    return table


def _as_pandas(table: pa.Table, lettered: dict[str, Any]) -> pd.DataFrame:
    with needs_extra("files of Stata and SPSS need", "stats"):
        import pandas as pd
    nullable = {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.to_pandas(types_mapper=nullable.get)
    for name, signs in lettered.items():
        cells = [v if v is None or v in signs else float(v) for v in table[name].to_pylist()]
        frame[name] = pd.Series(cells, dtype=object, index=frame.index)
    return frame
