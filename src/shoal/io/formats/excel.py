"""Excel workbooks: read through fastexcel (calamine), written by XlsxWriter.

`book.xlsx` is its first sheet, `book.xlsx#Sheet 2` another, `book.xlsx#Sheet 2!3` one with names in row 3.
"""

import datetime as dt
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, did_you_mean, needs_extra
from shoal.frame.metadata import details_of, with_details
from shoal.io.contents import Contents
from shoal.io.formats.sheet import Sheet, letters, scan
from shoal.io.limits import refuse_names, refuse_size
from shoal.io.mixed_cells import mixed_column, own_cells, texts

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # that a sheet has
MOST_CELLS = 50_000_000  # empty ones among them, for each takes memory
_LONGEST = 32767  # characters that a cell may have
_EXACT = 2**53  # whole numbers beyond this are kept as texts: a cell holds a double
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_FORMS = {dt.datetime: "yyyy-mm-dd hh:mm:ss.000", dt.date: "yyyy-mm-dd", dt.time: "hh:mm:ss"}


class _Number(float):
    """A number that is written with every digit."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def place(path: Path) -> tuple[Path, str | None, int]:
    """The file, the sheet and the row of names that `book.xlsx#Sheet 2!3` stands for."""
    name, sign, chosen = path.name.partition(".xlsx#")
    if not sign:
        return path, None, 1
    sheet, _, row = chosen.rpartition("!") if re.search(r"!\d{1,7}$", chosen) else (chosen, "", "1")
    if int(row) < 1 or not chosen:
        raise InputError(f"{path.name!r} should read like book.xlsx#Sheet 2!3: a sheet, and the row of names")
    return path.with_name(f"{name}.xlsx"), sheet or None, int(row)


def sheets(path: Path) -> list[str]:
    """The names of a workbook's sheets."""
    file = place(path)[0]
    try:
        with zipfile.ZipFile(file) as package:
            refuse_size(sum(part.file_size for part in package.infolist()), file.stat().st_size, str(path))
            return list(_parts(package))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise InputError(f"{str(path)!r} cannot be read as Excel: {error}") from None


def read(path: Path, most_cells: int = MOST_CELLS) -> Contents:
    """The values; of formulas what they gave when the workbook was last saved.

    In the table a column of mixed kinds holds texts; in the cells it keeps the kind of each.
    """
    with needs_extra("Excel files need", "stats"):
        import fastexcel
    file, wanted, row = place(path)
    try:
        with zipfile.ZipFile(file) as package:
            refuse_size(sum(part.file_size for part in package.infolist()), file.stat().st_size, str(path))
            parts = _parts(package)
            title = _choose(parts, wanted, file)
            sheet = scan(package, parts[title], row)
        _refuse_cells(sheet, path, file.stat().st_size, most_cells)
        _refuse_header(sheet, title, row, file)
        book = fastexcel.read_excel(file.read_bytes())
        head = book.load_sheet(title, header_row=None, skip_rows=row - 1, n_rows=1, dtypes="string")
        mixed: Any = {at: "string" for at, kinds in enumerate(sheet.by_column()) if len(kinds) != 1}
        table = book.load_sheet(title, header_row=None, skip_rows=row, schema_sample_rows=None, dtypes=mixed)
        body = table.to_arrow()
        names = [column[0].as_py() for column in head.to_arrow().columns]
    except (OSError, InputError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook fails in many ways, and a ValueError may tell a cell
        why = type(error).__name__ if isinstance(error, ValueError) else error or type(error).__name__
        raise InputError(f"{str(path)!r} cannot be read as Excel: {str(why).splitlines()[0]}") from None
    return _contents(sheet, names, body, path, {"sheet": title, "unread": [t for t in parts if t != title]})


def _parts(package: zipfile.ZipFile) -> dict[str, str]:
    """Sheet -> the part of the package that holds it, where calamine looks for it."""
    names = [name.lower() for name in package.namelist()]
    if len(set(names)) < len(names):
        raise InputError("the workbook cannot be read as Excel: two of its parts have one name")
    known = {name.lower(): name for name in package.namelist()}
    book, links = (
        ElementTree.fromstring(package.read(known[name]))  # expat limits what entities unpack to
        for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels")
    )
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    found = {}
    for sheet in book.iter():
        if sheet.tag.rpartition("}")[2] == "sheet":
            link = next((value for key, value in sheet.items() if key.endswith("}id")), None)
            target = targets.get(link, "").removeprefix("/")
            part = known.get((target if target.startswith("xl/") else f"xl/{target}").lower())
            if part is not None and "worksheet" in part:
                found[sheet.get("name", "")] = part
    return found


def _choose(parts: dict[str, str], wanted: str | None, file: Path) -> str:
    if not parts:
        raise InputError(f"{str(file)!r} cannot be read as Excel: it has no sheet")
    if wanted is not None and wanted not in parts:
        raise InputError(f"{str(file)!r} has no sheet {wanted!r}: {did_you_mean(wanted, parts)}")
    return wanted or next(iter(parts))


def _refuse_cells(sheet: Sheet, path: Path, packed: int, most_cells: int) -> None:
    """Refuse far cells, which would make room for all between, and texts that repeat too often."""
    if sheet.last_row > MOST_ROWS:
        raise InputError(f"{str(path)!r} has more rows than Excel's {MOST_ROWS:,}: use CSV or Parquet")
    if sheet.last_row * sheet.last_column > most_cells:
        raise InputError(
            f"{str(path)!r} has more than {most_cells:,} cells, empty ones among them: use CSV or Parquet"
        )
    refuse_size(32 * sheet.last_row * sheet.last_column, 1 << 40, str(path))
    refuse_size(sheet.letters, packed, str(path))


def _refuse_header(sheet: Sheet, title: str, row: int, file: Path) -> None:
    """Say what is wrong with the row of names."""
    where = f"sheet {title!r} of {str(file)!r}"
    if not sheet.rows:
        raise InputError(
            f"{where} is empty: a table needs a header line and at least k records; choose another sheet "
            f"({file.name}#NAME), or fill it"
        )
    first = next((r for r in sorted(sheet.rows) if sheet.rows[r] >= len(sheet.columns)), min(sheet.rows))
    remedy = f"or say which row has the names ({file.name}#{title}!{max(first, row + 1)})"
    blocks = sheet.merged.items()
    merged = [block for block, (top, end, left, right) in blocks if top <= row <= end and left < right]
    if merged:
        raise InputError(
            f"{where} has merged cells ({merged[0]}) in row {row}, where each column should have a name: "
            f"unmerge them, {remedy}"
        )
    if row not in sheet.rows:
        raise InputError(f"row {row} of {where} names no column: name it, {remedy}")
    blank = [column for column in sheet.columns if column not in sheet.named]
    if blank:
        raise InputError(f"column {letters(blank[0])} of {where} has no name in row {row}: name it, {remedy}")


def _contents(sheet: Sheet, names: list[Any], body: Any, path: Path, facts: dict[str, Any]) -> Contents:
    if len(names) != len(sheet.by_column()):
        raise InputError(f"{str(path)!r} cannot be read as Excel: its cells are not where it says")
    kept = [at for at, name in enumerate(names) if name is not None]
    names = [names[at] for at in kept]
    refuse_names(names, str(path))
    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []
    mixed: dict[int, tuple[Any, Any]] = {}
    empty = pa.array([], pa.string())
    columns = [_column(body.column(at), sheet, at) if body.num_columns else empty for at in kept]
    length = max((len(c) - _tail(c) for c in columns), default=0)
    for name, column in zip(names, columns):
        array = column[:length]
        if isinstance(array, list):
            mixed[len(fields)] = mixed_column(name, array)
            array = texts(array)
        fields.append(pa.field(name, array.type))
        arrays.append(array)
    cells = table = with_details(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), excel=facts)
    for at, (field, array) in mixed.items():
        cells = cells.set_column(at, field, array)
    return Contents(table, cells)


def _tail(column: Any) -> int:
    """How many cells at the end are empty."""
    cells = column if isinstance(column, list) else column.to_pylist()
    return next((back for back, cell in enumerate(reversed(cells)) if cell is not None), len(cells))


def _column(cells: pa.Array, sheet: Sheet, at: int) -> pa.Array | list[Any]:
    """A column as Arrow cells of one kind, or as a list of what is of several."""
    kinds = sheet.by_column()[at]
    if pa.types.is_floating(cells.type):
        whole = pc.all(pc.equal(pc.floor(cells), cells)).as_py() is not False
        small = pc.all(pc.less_equal(pc.abs(cells), _EXACT)).as_py() is not False
        return cells.cast(pa.int64()) if whole and small else cells
    if pa.types.is_timestamp(cells.type):
        moments = cells.to_pylist()
        if any(moment is not None and moment.year < 1900 for moment in moments):  # a time of no day
            return [m if m is None or m.year >= 1900 else m.time() for m in moments]
        days = all(moment is None or moment.time() == dt.time() for moment in moments)
        return cells.cast(pa.date32()) if days else cells.cast(pa.timestamp("us"))
    if pa.types.is_boolean(cells.type) or kinds <= {"text"}:
        return cells
    errors = sheet.errors(at)
    plain = sheet.texts(at)
    row = sheet.header + 1
    return [
        errors.get(row + j, cell) if cell is None else cell if row + j in plain else _value(cell)
        for j, cell in enumerate(cells.cast(pa.string()).to_pylist())
    ]


def _value(text: str) -> Any:
    """What a cell that is no text shows: a truth, a number or a moment."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        moment = dt.datetime.fromisoformat(text)
        if moment.year < 1900:
            return moment.time()
        return moment.date() if moment.time() == dt.time() else moment
    return int(number) if number == int(number) and abs(number) <= _EXACT else number


def write(table: pa.Table, path: Path) -> None:
    """Every text as a text: what looks like a formula is none."""
    with needs_extra("Excel files need", "stats"):
        import xlsxwriter
    if len(table) >= MOST_ROWS or len(table.column_names) > MOST_COLUMNS:
        raise InputError("an Excel sheet holds 1,048,576 rows and 16,384 columns: write another format")
    columns = [[name, *_cells(table, name)] for name in table.column_names]
    for column in columns:
        _refuse_texts(column)
    book = xlsxwriter.Workbook(str(path), {"in_memory": True})  # no cell lies in a file of its own
    title = details_of(table).get("excel", {}).get("sheet", "Sheet1")
    good = re.fullmatch(r"[^\[\]:*?/\\']{1,31}", title) and title.lower() != "history"
    sheet = book.add_worksheet(title if good else "Sheet1")
    forms = {kind: book.add_format({"num_format": form}) for kind, form in _FORMS.items()}
    for row, cells in enumerate(zip(*columns)):
        for place, cell in enumerate(cells):
            if isinstance(cell, str):
                sheet.write_string(row, place, cell)
            elif isinstance(cell, bool):
                sheet.write_boolean(row, place, cell)
            elif isinstance(cell, (int, float)):
                sheet.write_number(row, place, _Number(cell))
            elif cell is not None:
                sheet.write_datetime(row, place, cell, forms.get(type(cell)))
    book.close()


def _refuse_texts(cells: list[Any]) -> None:
    for text in cells:
        if not isinstance(text, str):
            continue
        if len(text) > _LONGEST:
            raise InputError(f"an Excel cell holds {_LONGEST} characters, but one text has {len(text)}")
        if _CONTROL.search(text):
            raise InputError("Excel cannot hold a control character that a text has: write another format")


def _cells(table: pa.Table, name: str) -> list[Any]:
    """The cells of a column as what is written."""
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
