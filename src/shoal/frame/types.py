"""What a column holds, and how it becomes numbers: by its stored type, or as its user says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column, categories
from shoal.frame.frame import Frame
from shoal.words import CATEGORIES

if TYPE_CHECKING:
    import pyarrow as pa


def read_column(
    frame: Frame, name: Any, kind: str | None = None, levels: Sequence[Any] | None = None
) -> Column:
    """A column as numbers. Without `kind`, its stored type decides; text has to be given one.

    `levels` are the ordered categories of an ordinal column, lowest first.
    """
    stored = stored_kind(frame, name)
    kind = kind or ("ordinal" if levels else stored)
    if levels and kind != "ordinal":
        raise InputError(f"column {name!r} has levels in order, so its type is 'ordinal', not {kind!r}")
    if kind in CATEGORIES:
        return _categories(frame, name, kind, stored, levels)
    if kind == "date":
        return _date(frame, name)
    if kind in ("integer", "continuous") and _is_decimal(frame, name):
        return _decimal(frame, name)
    values, gaps = frame.numbers(name)
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
    return Column(name, kind, values, gaps)


def stored_kind(frame: Frame, name: Any) -> str:
    """What the stored type of a column says: one of our types, "text", or "other"."""
    import narwhals as nw

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
    import pyarrow.types as types

    try:
        stored = frame.arrow(name).type
    except InputError:
        return "other"
    if types.is_boolean(stored):
        return "boolean"
    if types.is_decimal(stored):
        return "continuous"
    return "date" if types.is_date(stored) or types.is_timestamp(stored) else "other"


def _categories(frame: Frame, name: Any, kind: str, stored: str, levels: Sequence[Any] | None) -> Column:
    import pyarrow as pa

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
    present = encoded.dictionary.to_pylist()
    position = {level: place for place, level in enumerate(order or sorted(present))}
    strange = [level for level in present if level not in position]
    if strange:
        row = cells.index(strange[0]).as_py()
        raise InputError(
            f"column {name!r} has in row {row + 1} what is not among its {len(order)} levels: "
            "add it to them, or mend it"
        )
    if kind == "boolean" and len(present) > 2:
        raise InputError(
            f"column {name!r} is said to be boolean, but has {len(present)} values: call it 'nominal'"
        )
    gaps = encoded.is_null().to_numpy(zero_copy_only=False)
    codes: NDArray = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    places = np.array([position[level] for level in present] or [0], np.int64)
    return categories(name, kind, places[codes], gaps)


def _is_decimal(frame: Frame, name: Any) -> bool:
    import narwhals as nw
    import pyarrow.types as types

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


def _date(frame: Frame, name: Any) -> Column:
    import pyarrow as pa

    cells = frame.arrow(name)
    stored = cells.type
    if pa.types.is_string(stored) or pa.types.is_large_string(stored):
        cells = _parsed(cells, name)
    elif not pa.types.is_date(stored) and not pa.types.is_timestamp(stored):
        raise InputError(
            f"column {name!r} is stored as {stored}, not as dates: convert it, or leave its type out"
        )
    gaps = cells.is_null().to_numpy(zero_copy_only=False)
    counts = cells.cast(pa.int32() if cells.type.bit_width == 32 else pa.int64()).fill_null(0)
    values = counts.to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(name, "date", values, gaps if gaps.any() else None, stored=stored)


def _parsed(texts: pa.Array, name: Any) -> pa.Array:
    """Texts such as 2031-12-24 as dates; an empty text is a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.if_else(pc.is_in(texts, value_set=pa.array(["", "NA"], texts.type)), None, texts)
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
    from datetime import date

    try:
        return text is None or bool(date.fromisoformat(text))
    except ValueError:
        return False
