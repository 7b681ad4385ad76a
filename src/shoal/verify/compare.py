"""What a release must keep of its original: its rows, and every column that is not protected.

It looks at two tables and nothing else.
"""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Ints, numbers_to
from shoal.frame.large import pieces
from shoal.frame.levels import written_out
from shoal.frame.order import row_ids
from shoal.verify.requirements import groups_of


@dataclass(frozen=True)
class Agreement:
    """How a release compares with its original; `faults` has one sentence for each thing that is wrong."""

    records: int
    untouched: tuple[str, ...]
    faults: tuple[str, ...]
    by_row: bool = True  # whether each row was found again, and not only all rows together
    units: int | None = None  # the fewest units that share a combination, where they were counted
    held: tuple[str, ...] = ()  # the requirements that every group holds

    @property
    def passed(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        if self.faults:
            return f"no: {'; '.join(self.faults)}"
        count = len(self.untouched)
        same = f"{count} untouched column{'' if count == 1 else 's'} the same" if count else "all protected"
        if self.by_row:
            shared = "" if self.units is None else f", each combination shared by at least {self.units} units"
            shared += "".join(f", each group with {requirement}" for requirement in self.held)
            return f"yes: {self.records} records, each found again, {same}{shared}"
        compared = f"{same} as a set of rows, protected columns not compared"
        compared = compared if count else "the same columns; no cell was compared, for all are protected"
        return (
            f"yes: {self.records} records in another order, {compared} (with the plan or the options of the "
            "release, each row is found again and compared)"
        )


def compare(
    original: pa.Table,
    release: pa.Table,
    protected: Collection[str],
    dropped: Collection[str] = (),
    same: Callable[[str, Any, Any], int | None] | None = None,
) -> Agreement:
    """Two Arrow tables: the same rows, the same columns but the `dropped`, the untouched ones cell by cell.

    `same` finds the first differing row of one column; the default is `first_difference`.
    """
    same = same or (lambda name, expected, found: first_difference(expected, found))
    faults = []
    gone, replaced = set(dropped), set(protected)
    names = [name for name in original.column_names if name not in gone]
    wanted, present = set(names), set(release.column_names)
    faults += [f"column {name!r} should not be there" for name in release.column_names if name not in wanted]
    faults += [f"column {name!r} is missing" for name in names if name not in present]
    if not faults and names != release.column_names:
        faults.append("the columns are in another order")
    if len(original) != len(release):
        faults.append(f"{len(original)} records went in, {len(release)} came out")
        return Agreement(len(release), (), tuple(faults))
    untouched = tuple(name for name in names if name in present and name not in replaced)
    for name in untouched:
        row = same(name, original[name], release[name])
        if row is not None:
            faults.append(f"column {name!r} is not what it was in row {row + 1}")
    return Agreement(len(release), untouched, tuple(faults))


def same_rows(one: pa.Table, other: pa.Table, columns: Sequence[str]) -> bool:
    """Whether two Arrow tables have the same rows in these columns, in whatever order."""
    return np.array_equal(np.sort(row_ids(one, columns)), np.sort(row_ids(other, columns)))


def in_place(one: pa.Table, other: pa.Table, columns: Sequence[str]) -> bool:
    """Whether rows of two tables as long agree: more than halfway from what chance gives to all of them."""
    ours, theirs = row_ids(one, columns), row_ids(other, columns)
    shares = np.unique(theirs, return_counts=True)[1] / max(len(theirs), 1)
    return bool((ours == theirs).sum() > len(theirs) * (1 + np.square(shares).sum()) / 2)


def first_difference(expected: pa.ChunkedArray, found: pa.ChunkedArray, loose: bool = False) -> int | None:
    """The first row in which two Arrow columns hold different values, gaps among them; None if there is none.

    What a file stores in another type (a date as text, a whole number as a double) is compared by value.
    `loose` is for files that know neither blanks at the end of a text, nor the difference between an empty
    text and none, nor less than a millisecond, nor the seventeenth digit.
    """
    for begin, piece in pieces(expected):
        row = _first_different(piece, found.slice(begin, len(piece)), loose)
        if row is not None:
            return begin + row
    return None


def _first_different(expected: Any, found: Any, loose: bool) -> int | None:
    expected, found = _plain(expected), _plain(found)
    try:
        found = found.cast(expected.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _first_unlike(expected, found)
    if pa.types.is_nested(expected.type):
        return _first_unlike_nest(expected, found)
    if loose:
        expected, found = _loosened(expected), _loosened(found)
    if loose and pa.types.is_float64(expected.type):
        slack = pc.multiply(pc.abs(expected), 1e-15)  # a sheet of Excel holds sixteen digits
        unlike = pc.greater(pc.abs(pc.subtract(expected, found)), slack)
    else:
        unlike = pc.not_equal(expected, found)
    one_gap = pc.not_equal(pc.is_null(expected), pc.is_null(found))
    row = pc.index(pc.or_(pc.fill_null(unlike, False), one_gap), True).as_py()
    return None if row < 0 else row


def strange_codes(release: pa.Table, written: pa.Table, cells: pa.Table, columns: Sequence[str]) -> list[str]:
    """One sentence for each column whose gaps have codes in the file that their records did not have.

    `release` has gaps where `written`, the same as in its file, has codes; `cells` are the original's.
    """
    faults = []
    for name in columns:
        coded = pc.and_(pc.is_null(release[name]), pc.is_valid(written[name]))
        if (
            pc.any(coded).as_py()
            and first_difference(cells[name].filter(coded), written[name].filter(coded)) is not None
        ):
            faults.append(f"column {name!r} has codes for gaps that are not those of its records")
    return faults


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    """Dictionaries as their values, one type for all texts, NaN as a gap, half floats wide enough to cast."""
    column = written_out(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))
    if types.is_float16(column.type):
        column = column.cast(pa.float32())
    if types.is_null(column.type) or types.is_string(column.type) or types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def _loosened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if types.is_large_string(column.type):
        texts = pc.replace_substring_regex(pc.fill_null(column, ""), "\r\n?", "\n")
        return pc.utf8_rtrim(texts, " ")
    if types.is_timestamp(column.type):
        return pc.round_temporal(column, unit="millisecond").cast(pa.timestamp("ms", column.type.tz))
    return column


def _first_unlike(expected: pa.ChunkedArray, found: pa.ChunkedArray) -> int | None:
    """Cell by cell, for what Arrow cannot bring to one type: the same if it is spelled the same."""
    spelled = expected
    with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        spelled = expected.cast(pa.large_string())
    columns = (column.to_pylist() for column in (expected, spelled, found))
    for row, cells in enumerate(zip(*columns)):
        one, text, other = (None if cell == "" else cell for cell in cells)  # one may stand for the other
        if other not in (one, text) and (isinstance(one, bytes) or str(one) != other):
            return row
    return None


def _first_unlike_nest(expected: pa.ChunkedArray, found: pa.ChunkedArray) -> int | None:
    """The same for lists and records, which Arrow cannot compare row by row; NaN is the same as NaN."""
    if expected.equals(found):
        return None
    pairs = zip(expected.to_pylist(), found.to_pylist())
    return next((row for row, (one, other) in enumerate(pairs) if repr(one) != repr(other)), None)


def outside(
    original: pa.Table,
    release: pa.Table,
    columns: Sequence[str],
    whole: bool = True,
    rounding: Mapping[str, tuple[float, float]] | None = None,
) -> list[str]:
    """One sentence for each of the columns whose published values do not stem from these rows.

    Records that share a published combination publish a mean, a median or a mode of their own values: for
    numbers and dates it lies between the smallest and the largest of them. So rows that were exchanged are
    seen even where every column is protected. `whole=False` leaves whole numbers out. `rounding` says how far
    values of a column were moved, at the most: by so much, and by this share of themselves.
    """
    rounding, faults = rounding or {}, []
    groups = groups_of(release[name] for name in columns)
    order = np.argsort(groups, kind="stable").astype(numbers_to(len(groups)))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    del groups
    for name in columns:
        published = _taken(numbers(release[name], whole), order[starts])
        own = _taken(numbers(original[name], whole), order)
        if own is None or published is None:
            continue
        told, published = pc.is_valid(published).to_numpy(zero_copy_only=False), _filled(published, 0)
        info = np.finfo(np.float64) if types.is_floating(own.type) else np.iinfo(np.int64)
        low = np.minimum.reduceat(_filled(own, info.max), starts)
        high = np.maximum.reduceat(_filled(own, info.min), starts)
        told &= low <= high  # else no record of the group has a value
        by, share = rounding.get(name, (0.0, 0.0))
        if low.dtype.kind == "f" or by or share:  # rounding, else at most that of 32 bits
            low, high = low[told].astype(np.float64), high[told].astype(np.float64)
            slack = np.maximum(np.abs(low), np.abs(high)) * (1e-6 + share) + by
            with np.errstate(over="ignore"):  # beyond the largest number lies nothing
                low, high, published = low - slack, high + slack, published[told]
            told = np.ones(len(low), bool)
        wrong = int(((published < low) | (published > high))[told].sum())
        if wrong:
            faults.append(
                f"{wrong} published values of column {name!r} lie outside the values of their records"
            )
    return faults


def _taken(cells: pa.ChunkedArray | None, rows: Ints) -> pa.Array | None:
    return None if cells is None else cells.combine_chunks().take(pa.array(rows))


def _filled(cells: pa.Array, value: Any) -> NDArray:
    """Numbers as an array, with a value for gaps."""
    return cells.fill_null(pa.scalar(value, cells.type)).to_numpy(zero_copy_only=False)


def numbers(column: pa.ChunkedArray, whole: bool) -> pa.ChunkedArray | None:
    """A column of numbers or dates as numbers, else None."""
    column = _plain(column)
    if types.is_floating(column.type) or types.is_decimal(column.type):
        return column.cast(pa.float64())
    if not whole:
        return None
    if types.is_date(column.type) or types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us")).cast(pa.int64())
    if types.is_unsigned_integer(column.type) and column.type.bit_width == 64:
        return column.cast(pa.float64(), safe=False)
    return column.cast(pa.int64()) if types.is_integer(column.type) else None
