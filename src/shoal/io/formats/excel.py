"""Excel workbooks, through openpyxl: the first sheet, its first row the names of the columns."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.errors import InputError, needs_extra
from shoal.frame.metadata import details_of, with_details
from shoal.io.contents import Contents
from shoal.io.limits import refuse_names, refuse_size
from shoal.io.mixed_cells import mixed_column, own_cells

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # that a sheet has
MOST_CELLS = 50_000_000  # openpyxl makes a Python object of each, empty ones too
_LONGEST = 32767  # characters that a cell may have
_EXACT = 2**53  # whole numbers beyond this are kept as texts: a cell holds a double


def _openpyxl() -> ModuleType:
    try:
        import openpyxl
    except ImportError:
        raise needs_extra("Excel files need", "stats") from None
    return openpyxl


def read(path: Path, most_cells: int = MOST_CELLS) -> Contents:
    """The values; of formulas what they gave when the workbook was last saved.

    In the table a column of mixed kinds holds texts; in the cells it keeps the kind of each.
    """
    import pyarrow as pa

    package = _openpyxl()
    try:
        with path.open("rb") as file:
            _refuse_bomb(file, path)
            book = package.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what it says of its size need not be so
            rows = _rows(sheet, path, most_cells)
            title, unread = sheet.title, [name for name in book.sheetnames if name != sheet.title]
            book.close()
    except (OSError, InputError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook fails in many ways, and a ValueError may tell a cell
        why = type(error).__name__ if isinstance(error, ValueError) else error or type(error).__name__
        raise InputError(f"{str(path)!r} cannot be read as Excel: {why}") from None
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise InputError(f"{str(path)!r} is empty: a table needs a header line and at least k records")
    names = ["" if cell is None else str(cell) for cell in rows[0]]
    refuse_names(names, str(path))
    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []
    mixed: dict[int, tuple[Any, Any]] = {}
    wide = max(map(len, rows))
    if wide > len(names):
        raise InputError(
            f"{str(path)!r} has cells beyond its last named column: name all columns in the first row"
        )
    rows = [(*row, *[None] * (wide - len(row))) for row in rows]
    for name, *cells in zip(names, *rows[1:]):
        array = _column(cells)
        if array is None:
            mixed[len(fields)] = mixed_column(name, cells)
            array = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
        fields.append(pa.field(name, array.type))
        arrays.append(array)
    facts = {"sheet": title, "unread": unread}
    cells = table = with_details(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), excel=facts)
    for place, (field, array) in mixed.items():
        cells = cells.set_column(place, field, array)
    return Contents(table, cells)


def _refuse_bomb(file: BinaryIO, path: Path) -> None:
    """A workbook is a zip of texts: what they unpack to is written in its table of contents."""
    with zipfile.ZipFile(file) as package:
        refuse_size(sum(part.file_size for part in package.infolist()), path.stat().st_size, str(path))


def _rows(sheet: Any, path: Path, most_cells: int) -> list[tuple[Any, ...]]:
    """All rows without the empty cells at their ends, of which a far cell makes many."""
    rows: list[tuple[Any, ...]] = []
    cells = seen = letters = 0
    packed = path.stat().st_size
    for row in sheet.iter_rows(values_only=True):
        width = len(row)
        while width and row[width - 1] is None:
            width -= 1
        rows.append(row[:width])
        if len(rows) > MOST_ROWS:
            raise InputError(f"{str(path)!r} has more rows than Excel's {MOST_ROWS:,}: use CSV or Parquet")
        letters += sum(len(cell) for cell in rows[-1] if type(cell) is str)  # one text may be in many cells
        refuse_size(letters, packed, str(path))
        cells += width
        seen += len(row)
        if cells > most_cells or seen > 20 * most_cells:
            raise InputError(
                f"{str(path)!r} has more than {most_cells:,} cells, empty ones among them: use CSV or Parquet"
            )
    return rows


def _column(cells: list[Any]) -> pa.Array | None:
    """Cells as an Arrow array if they are of one kind, else None."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {str}:
        return pa.array(cells, pa.string())
    if kinds <= {int, float}:
        return pa.array(cells, pa.int64() if kinds == {int} else pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {dt.datetime, dt.date}:
        moments = [dt.datetime(c.year, c.month, c.day) if type(c) is dt.date else c for c in cells]
        days = all(c is None or c.time() == dt.time() for c in moments)
        return pa.array([c and c.date() for c in moments] if days else moments)
    return None


def write(table: pa.Table, path: Path) -> None:
    """Every text as a text: what looks like a formula is none."""
    package = _openpyxl()
    if len(table) >= MOST_ROWS or len(table.column_names) > MOST_COLUMNS:
        raise InputError("an Excel sheet holds 1,048,576 rows and 16,384 columns: write another format")
    columns = [[name, *_cells(table, name)] for name in table.column_names]
    for column in columns:
        _refuse_texts(column, package.cell.cell.ILLEGAL_CHARACTERS_RE)
    book = package.Workbook(write_only=True)
    title = details_of(table).get("excel", {}).get("sheet", "Sheet1")
    sheet = book.create_sheet(title if re.fullmatch(r"[^\[\]:*?/\\]{1,31}", title) else "Sheet1")

    def cell(value: Any) -> Any:
        exact = isinstance(value, float) and float(f"{value:.16g}") != value  # openpyxl writes 16 digits
        if not exact and not isinstance(value, str):
            return value
        made = package.cell.WriteOnlyCell(sheet)
        made.value = repr(value) if exact else value
        made.data_type = "n" if exact else "s"
        return made

    for row in zip(*columns):
        sheet.append([cell(value) for value in row])
    book.save(str(path))


def _refuse_texts(cells: list[Any], illegal: re.Pattern[str]) -> None:
    for text in cells:
        if not isinstance(text, str):
            continue
        if len(text) > _LONGEST:
            raise InputError(f"an Excel cell holds {_LONGEST} characters, but one text has {len(text)}")
        if illegal.search(text):
            raise InputError("Excel cannot hold a control character that a text has: write another format")


def _cells(table: pa.Table, name: str) -> list[Any]:
    """The cells of a column as what openpyxl writes."""
    import pyarrow as pa

    mixed = own_cells(table, name)
    if mixed is not None:
        return mixed
    column = table[name]
    kind = column.type
    try:
        cells = column.to_pylist()
    except OverflowError:
        raise InputError(f"column {name!r} has dates after the year 9999: write another format") from None
    if pa.types.is_integer(kind) and any(cell is not None and abs(cell) > _EXACT for cell in cells):
        return [None if cell is None else str(cell) for cell in cells]
    if pa.types.is_floating(kind):
        return [None if cell is None or cell != cell else cell for cell in cells]
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return [None if cell is None else dt.datetime.fromisoformat(cell.isoformat()) for cell in cells]
    plain = (type(None), str, int, float, bool, dt.date, dt.time)
    return [c if isinstance(c, plain) and not getattr(c, "tzinfo", None) else str(c) for c in cells]
