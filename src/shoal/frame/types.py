"""What a column holds, and how it becomes numbers: by its stored type, or as its user says."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.errors import InputError
from shoal.frame.column import Column, categories
from shoal.frame.frame import Frame, holds_text
from shoal.frame.levels import is_text
from shoal.words import CATEGORIES


def read_column(
    frame: Frame,
    name: Any,
    kind: str | None = None,
    levels: Collection[Any] | None = None,
    codes: Sequence[Any] = (),
) -> Column:
    """A column as numbers. Without `kind`, its stored type decides; a text without any number is nominal.

    `levels` are the ordered categories of an ordinal column, lowest first. Cells that hold one of the
    `codes` are gaps.
    """
    stored = stored_kind(frame, name)
    said, kind = kind, kind or ("ordinal" if levels else stored)
    if kind == "text" and _all_words(frame, name, codes):
        kind = "nominal"
    if levels and kind != "ordinal":
        raise InputError(f"column {name!r} has levels in order, so its type is 'ordinal', not {kind!r}")
    if kind in CATEGORIES:
        return _categories(frame, name, kind, stored, levels, codes)
    if kind == "date":
        return with_codes(_date(frame, name, codes), codes)
    if kind in ("integer", "continuous") and _is_decimal(frame, name):
        return with_codes(_decimal(frame, name), codes)
    if stored == "text" and codes:
        return _spelled(frame, name, codes)
    values, gaps = frame.numbers(name)
    column = with_codes(Column(name, kind, values, gaps), codes)
    if said is None and kind == "continuous" and frame.is_pandas and column.gaps is not None:
        # Whole numbers become doubles in pandas where they have gaps.
        whole = (column.values == np.rint(column.values)) & (np.abs(column.values) < 2**53)
        return replace(column, type="integer") if whole.all() else column
    if kind == "integer" and values.dtype.kind == "f":
        fraction = values != np.rint(values)
        if fraction.any():
            row = int(np.argmax(fraction))
            raise InputError(
                f"column {name!r} is said to hold whole numbers, but has a fraction{frame.in_row(row)}: "
                "mend it, or call it 'continuous'"
            )
    if kind == "continuous" and values.dtype.kind != "f":
        raise InputError(
            f"column {name!r} is stored as whole numbers and cannot publish fractions: "
            "convert it to floating-point numbers, or leave its type out"
        )
    return column


def with_codes(column: Column, codes: Sequence[Any]) -> Column:
    """A column of numbers or dates in which these values are gaps; texts stand for the numbers they spell."""
    known = [value for code in codes if (value := value_in(column, code)) is not None]
    if not known:
        return column
    hits = np.isin(column.values, np.array(known, column.values.dtype))
    hits &= column.there
    if not hits.any():
        return column
    gaps = hits if column.gaps is None else hits | column.gaps
    values = np.where(gaps, column.values.dtype.type(0), column.values)
    code = column.values[np.argmax(hits)]
    return replace(column, values=values, gaps=gaps, coded=int(hits.sum()), code=code)


def require_few_codes(column: Column) -> Column:
    """The column, unless codes for gaps hit more than half of it: they are then more than codes."""
    if 2 * column.coded > len(column.values):
        raise InputError(
            f"codes for gaps hit {column.coded:,} of {len(column.values):,} records in column "
            f"{column.name!r}, more than half: name the codes of each column (missing_codes={{...}}, "
            "--missing-code COLUMN=CODE)"
        )
    return column


def value_in(column: Column, code: Any) -> int | float | None:
    """What a word or a number is among the values of a column; None where no value can equal it."""
    stored, dtype = column.stored, column.values.dtype
    if column.type == "date":
        try:
            day = date.fromisoformat(str(code)[:10])
        except ValueError:
            return None
        return int(np.datetime64(day, getattr(stored, "unit", "D")).astype(np.int64))
    number = _number(code)
    if number is None or dtype.kind == "f":
        return None if number is None else float(number)
    number, limits = number.scaleb(getattr(stored, "scale", 0)), np.iinfo(dtype)
    whole = number == number.to_integral_value() and limits.min <= number <= limits.max
    return int(number) if whole else None


def _number(word: Any) -> Decimal | None:
    """What a word or a number spells, if that is a finite number."""
    try:
        number = Decimal(str(word))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def is_level(level: Any, codes: Sequence[Any]) -> bool:
    """Whether a level is one of the codes: the same text, or the same number."""
    number = _number(level) if codes else None
    return any(str(level) == str(code) or (number is not None and number == _number(code)) for code in codes)


def stored_kind(frame: Frame, name: Any) -> str:
    """What the stored type of a column says: one of our types, "text", or "other"."""
    dtype = frame.dtype(name)
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "continuous"
    if dtype == nw.Boolean:
        return "boolean"
    if isinstance(dtype, nw.Enum) or (dtype == nw.Categorical and frame.arrow(name).type.ordered):
        return "ordinal"
    if dtype == nw.Categorical:
        return "nominal"
    if dtype == nw.String:
        return "text"
    if dtype in (nw.Date, nw.Datetime):
        return "date"
    return _kind_of_objects(frame, name) if dtype == nw.Object else "other"


def _kind_of_objects(frame: Frame, name: Any) -> str:
    """What the objects in a pandas column are, if they are all of a kind."""
    try:
        stored = frame.arrow(name).type
    except InputError:
        return "other"
    if types.is_boolean(stored):
        return "boolean"
    if types.is_decimal(stored):
        return "continuous"
    return "date" if types.is_date(stored) or types.is_timestamp(stored) else "other"


def _categories(
    frame: Frame, name: Any, kind: str, stored: str, levels: Collection[Any] | None, codes: Sequence[Any]
) -> Column:
    cells = frame.arrow(name)
    order = list(levels or ())
    if pa.types.is_dictionary(cells.type):
        order = order or (cells.dictionary.to_pylist() if stored == "ordinal" else [])
        cells = cells.cast(cells.type.value_type)
    elif kind == "ordinal" and stored in ("text", "other") and not order:
        raise InputError(
            f"column {name!r} is ordinal, but a text has no order of its own: "
            "give its levels, lowest first (levels=, or `levels` in the plan)"
        )
    if pa.types.is_nested(cells.type):
        raise InputError(f"column {name!r} holds {cells.type}, which are no categories: leave it out")
    encoded = cells.dictionary_encode()
    listed = encoded.dictionary.to_pylist()
    stands_for_gap = np.array([is_level(level, codes) for level in listed] or [False])
    present = [level for level, gap in zip(listed, stands_for_gap) if not gap]
    position = {level: place for place, level in enumerate(order or sorted(present))}
    strange = [level for level in present if level not in position]
    if strange:
        where = frame.in_row(cells.index(strange[0]).as_py())
        raise InputError(
            f"column {name!r} has{where} what is not among its {len(order)} levels: "
            "add it to them, or mend it"
        )
    if kind == "boolean" and len(present) > 2:
        raise InputError(
            f"column {name!r} is said to be boolean, but has {len(present)} values: call it 'nominal'"
        )
    gaps = encoded.is_null().to_numpy(zero_copy_only=False)
    rows: NDArray = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    places = np.array([position.get(level, 0) for level in listed] or [0], np.int64)
    hits = stands_for_gap[rows] & ~gaps
    column = categories(name, kind, places[rows], gaps | hits)
    gap_row = int(np.argmax(gaps)) if gaps.any() else column.gap_row  # an empty cell rather than a code
    return replace(column, gap_row=gap_row, coded=int(hits.sum()))


def _all_words(frame: Frame, name: Any, codes: Sequence[Any]) -> bool:
    """Whether a column of texts has cells, none of which spells a number."""
    cells = [cell for cell in frame.arrow(name).unique().to_pylist() if cell is not None]
    cells = [cell for cell in cells if cell.strip() not in ("", "NA") and not is_level(cell, codes)]
    return bool(cells) and all(_number(cell) is None for cell in cells)


def _spelled(frame: Frame, name: Any, codes: Sequence[Any]) -> Column:
    """The numbers that texts spell, where all other texts are codes for gaps."""
    cells = frame.arrow(name)
    listed = [None if cell is None or cell.strip() in ("", "NA") else cell for cell in cells.to_pylist()]
    hits = np.array([cell is not None and is_level(cell, codes) for cell in listed])
    numbers = [None if hit or cell is None else _number(cell) for cell, hit in zip(listed, hits)]
    gaps = np.array([number is None for number in numbers])
    strange = gaps & ~hits & np.array([cell is not None for cell in listed])
    if strange.any():
        raise holds_text(name, int(np.argmax(strange)))
    whole = all(number is None or number == number.to_integral_value() for number in numbers)
    values = np.array([0 if number is None else float(number) for number in numbers])
    if whole and np.abs(values).max(initial=0) < 2**53:
        values = values.astype(np.int64)
    kind, holes = "integer" if values.dtype.kind == "i" else "continuous", gaps if gaps.any() else None
    return Column(name, kind, values, holes, stored=pa.large_string(), coded=int(hits.sum()))


def _is_decimal(frame: Frame, name: Any) -> bool:
    dtype = frame.dtype(name)
    if not (dtype.is_decimal() or dtype == nw.Object):
        return False
    return types.is_decimal(frame.arrow(name).type)


def _decimal(frame: Frame, name: Any) -> Column:
    """Decimal numbers as whole numbers of their smallest unit, in which their means are rounded."""
    cells = frame.arrow(name)
    units = [0 if cell is None else int(cell.scaleb(cells.type.scale)) for cell in cells.to_pylist()]
    if max(map(abs, units), default=0) >= 2**63:
        raise InputError(f"column {name!r} has decimals of too many digits: convert it to floating-point")
    gaps = cells.is_null().to_numpy(zero_copy_only=False)
    values = np.array(units, np.int64)
    return Column(name, "continuous", values, gaps if gaps.any() else None, stored=cells.type)


def _date(frame: Frame, name: Any, codes: Sequence[Any]) -> Column:
    cells = frame.arrow(name)
    stored = cells.type
    if is_text(stored):
        cells = _parsed(cells, name, codes)
    elif not pa.types.is_date(stored) and not pa.types.is_timestamp(stored):
        raise InputError(
            f"column {name!r} is stored as {stored}, not as dates: convert it, or leave its type out"
        )
    gaps = cells.is_null().to_numpy(zero_copy_only=False)
    counts = cells.cast(pa.int32() if cells.type.bit_width == 32 else pa.int64()).fill_null(0)
    values = counts.to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(name, "date", values, gaps if gaps.any() else None, stored=stored)


def _parsed(texts: pa.Array, name: Any, codes: Sequence[Any]) -> pa.Array:
    """Texts such as 2031-12-24 as dates; an empty text is a gap, and so is a code."""
    gaps = pa.array(["", "NA", *map(str, codes)], texts.type)
    texts = pc.if_else(pc.is_in(texts, value_set=gaps), None, texts)
    good = pc.fill_null(pc.match_substring_regex(texts, r"^\d{4}-\d{2}-\d{2}$"), True)
    try:
        if pc.all(good).as_py() is not False:
            return texts.cast(pa.date32())
    except pa.ArrowInvalid:
        good = pa.array([_is_date(text) for text in texts.to_pylist()])
    row = good.index(False).as_py()
    raise InputError(
        f"column {name!r} is said to hold dates, but row {row + 1} has none: "
        "dates are written like 2031-12-24"
    )


def _is_date(text: str | None) -> bool:
    try:
        return text is None or bool(date.fromisoformat(text))
    except ValueError:
        return False


def refuse_gaps(columns: Iterable[Column]) -> None:
    """Name the first gap, if there is one."""
    for column in columns:
        if column.gaps is not None and column.gaps.any():
            raise InputError(
                f"column {column.name!r} has a gap in row {int(np.argmax(column.gaps)) + 1}: fill it, leave "
                "the column out, or choose what to do with gaps (missing='group', 'impute' or 'drop')"
            )


def left_out(records: int, complete: int, k: int) -> str:
    """The note on records that have a gap and are left out, if enough are complete."""
    if complete < k:
        raise InputError(f"only {complete} records have no gap, fewer than k={k}: keep the others")
    return f"{records - complete} of {records} records have a gap and were left out"


def read_weight(plan: Any, frame: Frame) -> Floats:
    """The weights that the plan names."""
    (name,) = frame.find([plan.weight])
    column = with_codes(Column(name, "continuous", *frame.numbers(name)), plan.codes_of(name))
    weight = as_weights(column)
    refuse_no_weight(name, weight)
    return weight


def as_weights(column: Column, first_row: int | None = 0) -> Floats:
    """A column as weights; `first_row` is the place of its first row in the table, if known."""
    name, values, gaps = column.name, column.values, column.gaps
    bad = values < 0 if gaps is None else gaps | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        what = "no weight" if gaps is not None and gaps[row] else "a negative weight"
        where = "" if first_row is None else f" in row {first_row + row + 1}"
        raise InputError(f"column {name!r} has {what}{where}: a weight is a number from 0 up")
    if values.max(initial=0) > 1e100:
        raise InputError(f"column {name!r} has weights above 1e100: divide all weights by the same number")
    return values.astype(np.float64)


def refuse_no_weight(name: Any, weight: Floats) -> None:
    """Say that nobody weighs anything."""
    if not weight.any():
        raise InputError(f"all weights in column {name!r} are 0: name another column, or none")
