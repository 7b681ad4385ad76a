"""Text of fixed widths: each column has its place in every line, which a layout file tells.

`persons.fwf#layout.csv` names the layout beside the file; `persons.fwf` alone has `persons.layout.csv`. A
layout is a CSV file with the columns name, start (from 1), width, type (text, integer or number) and
decimals: how many of a number's digits stand behind a point that is not written. Blank cells are gaps, and
a column that is blank in every line is passed over: so one layout serves a table and its release.
"""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.frame.levels import written_out
from shoal.io.contents import Contents
from shoal.io.formats.text import encoding_of, refuse_nul
from shoal.io.limits import refuse_memory, refuse_names

ENDINGS = (".fwf", ".dat", ".asc")
WIDEST = 1 << 20  # letters of a line
_LARGEST = 1 << 24  # bytes of a layout
_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}


class Place(NamedTuple):
    """Where a column stands, and what it holds."""

    name: str
    start: int
    width: int
    type: str
    decimals: int


def place(path: Path) -> tuple[Path, Path] | None:
    """The file and its layout that `persons.fwf#layout.csv` stands for; None for other files."""
    for ending in ENDINGS:
        name, sign, layout = path.name.partition(f"{ending}#")
        if sign and not layout:
            raise InputError(f"{path.name!r} names no layout: write it like persons{ending}#layout.csv")
        if sign:
            return path.with_name(f"{name}{ending}"), path.with_name(layout)
        if path.name.lower().endswith(ending):
            return path, path.with_name(f"{path.name[: -len(ending)]}.layout.csv")
    return None


def layout_of(path: Path) -> list[Place]:
    """The layout in a file, or one sentence on what is wrong with it."""
    if not path.is_file():
        raise InputError(
            f"there is no layout {str(path)!r}: name one beside the table (persons.fwf#layout.csv), with the "
            "columns name, start, width, type, decimals"
        )
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{str(path)!r} is no layout: it has more than {_LARGEST >> 20} MB")
    try:
        lines = list(csv.DictReader(io.StringIO(text_of(path), newline="")))
        places = [_place(line, f"line {at} of {str(path)!r}") for at, line in enumerate(lines, 2)]
    except csv.Error as error:
        raise InputError(f"{str(path)!r} cannot be read as a layout: {error}") from None
    if not places:
        raise InputError(f"{str(path)!r} lists no column: a layout has name, start, width, type, decimals")
    refuse_names([p.name for p in places], str(path))
    ordered = sorted(places, key=lambda p: p.start)
    for one, other in itertools.pairwise(ordered):
        if one.start + one.width > other.start:
            raise InputError(
                f"columns {one.name!r} and {other.name!r} of {str(path)!r} overlap: mend the layout"
            )
    return places


def _place(line: dict[str, str | None], where: str) -> Place:
    cells = {(key or "").strip(): (cell or "").strip() for key, cell in line.items() if isinstance(cell, str)}
    numbers = {}
    for name, least, most in (("start", 1, WIDEST), ("width", 1, WIDEST), ("decimals", 0, 15)):
        word = cells.get(name, "") or ("0" if name == "decimals" else "")
        if not (word.isascii() and word.isdecimal() and len(word) < 9 and least <= int(word) <= most):
            raise InputError(f"{where} has no {name}: it is a whole number from {least:,} to {most:,}")
        numbers[name] = int(word)
    kind = cells.get("type", "") or ("number" if numbers["decimals"] else "text")
    if kind not in _TYPES or (numbers["decimals"] and kind != "number") or not cells.get("name"):
        raise InputError(
            f"{where} needs a name, and a type: text, integer, or number, which may have decimals"
        )
    if numbers["start"] + numbers["width"] > WIDEST:
        raise InputError(f"{where} ends beyond {WIDEST:,} letters: no line is so long")
    return Place(cells["name"], numbers["start"], numbers["width"], kind, numbers["decimals"])


def read(path: Path, layout: Path) -> Contents:
    """The columns of the layout, cut out of every line."""
    places = layout_of(layout)
    refuse_memory(8 * path.stat().st_size, str(path))
    lines = pa.array(text_of(path).split("\n"), pa.large_string())
    lines = pc.utf8_rtrim(lines, "\r\x1a")
    lines = lines[: len(lines) - 1] if len(lines) and lines[-1].as_py() == "" else lines
    columns = {p.name: _column(p, lines, str(path)) for p in places}
    return Contents(pa.table({n: c for n, c in columns.items() if c.null_count < len(c) or not len(c)}))


def text_of(path: Path) -> str:
    """What a text file says, in the encoding that its bytes allow."""
    content = path.read_bytes()
    refuse_nul([memoryview(content)], str(path))
    return content.decode(encoding_of([memoryview(content)]))


def _column(p: Place, lines: pa.Array, where: str) -> pa.Array:
    cells = pc.utf8_slice_codeunits(lines, p.start - 1, p.start - 1 + p.width)
    cells = pc.utf8_rtrim(cells, " ") if p.type == "text" else pc.utf8_trim_whitespace(cells)
    cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
    if p.type == "text":
        return cells.cast(pa.string())
    pattern = r"^[+-]?\d+$" if p.type == "integer" else r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
    good = pc.fill_null(pc.match_substring_regex(cells, pattern), True)
    row = pc.index(good, False).as_py()
    if row >= 0:
        raise InputError(
            f"column {p.name!r} of {where!r} has no {p.type} in row {row + 1}: mend it, or call it text in "
            "its layout"
        )
    numbers = pc.utf8_ltrim(cells, "+").cast(_TYPES[p.type])
    if not p.decimals:
        return numbers
    pointed = pc.match_substring_regex(cells, r"[.eE]")
    return pc.if_else(pointed, numbers, pc.divide(numbers, 10.0**p.decimals))


def write(table: pa.Table, path: Path, layout: Path) -> None:
    """The table in its layout; texts to the left, numbers to the right."""
    places = sorted(layout_of(layout), key=lambda p: p.start)
    _refuse_strangers(table, places)
    refuse_memory(len(table) * (places[-1].start + places[-1].width), str(path))
    here = [p for p in places if p.name in table.column_names]
    pieces, end = [], 1
    for p in here:
        pieces += [pa.scalar(" " * (p.start - end), pa.large_string()), _padded(table[p.name], p)]
        end = p.start + p.width
    nothing = pa.scalar("", pa.large_string())
    lines = pc.binary_join_element_wise(*pieces, pa.scalar("\n", pa.large_string()), nothing)
    path.write_bytes("".join(lines.to_pylist()).encode())


def fitted(table: pa.Table, layout: Path, rounded: list[str]) -> pa.Table:
    """The table as the layout can hold it: numbers of the columns to be `rounded` with its decimals."""
    places = layout_of(layout)
    _refuse_strangers(table, places)
    for p in places:
        if p.type == "number" and p.name in rounded and p.name in table.column_names:
            cells = pc.utf8_trim_whitespace(_padded(table[p.name], p))
            at = table.column_names.index(p.name)
            held = _column(p._replace(start=1), pc.fill_null(cells, ""), p.name)
            table = table.set_column(at, table.schema.field(at).with_type(pa.float64()), held)
    return table


def _refuse_strangers(table: pa.Table, places: list[Place]) -> None:
    for name in table.column_names:
        if name not in {p.name for p in places}:
            raise InputError(f"the layout has no place for column {name!r}: add it, or leave the column out")


def _padded(column: pa.ChunkedArray, p: Place) -> pa.Array:
    """The cells of a column in its width."""
    column = written_out(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    if p.type == "number":
        texts = [None if v is None else _digits(float(v), p) for v in column.to_pylist()]
        cells = pa.array(texts, pa.string())
    else:
        whole = p.type == "integer" and pa.types.is_floating(column.type)
        cells = (column.cast(pa.int64()) if whole else column).cast(pa.string())
    cells = pc.fill_null(cells.cast(pa.large_string()), "")
    if pc.any(pc.match_substring_regex(cells, r"[\r\n\x00]")).as_py():
        raise InputError(f"column {p.name!r} has a line within a cell: a line of fixed width holds none")
    longest = pc.max(pc.utf8_length(cells)).as_py() or 0
    if longest > p.width:
        raise InputError(
            f"column {p.name!r} has a value of {longest} letters, and the layout gives it {p.width}: widen it"
        )
    return (pc.utf8_rpad if p.type == "text" else pc.utf8_lpad)(cells, p.width)


def _digits(value: float, p: Place) -> str:
    """A number in so many letters: with decimals without their point, else as many digits as fit."""
    if p.decimals:
        return f"{round(value * 10**p.decimals):d}"
    texts = (repr(float(f"{value:.{digits}g}")).removesuffix(".0") for digits in range(17, 0, -1))
    return next((text for text in texts if len(text) <= p.width), repr(value))
