"""The original and the released table side by side: the same records in the same order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.io.source import frame_of

if TYPE_CHECKING:
    from narwhals.dtypes import DType

#: Columns by their names, or one of them.
Names = Sequence[Any] | str | int
#: Longer texts are compared by their first characters and their hash, so that one long cell of free text does
#: not make numpy reserve its length for every record. The two together have 84 characters.
LONGEST = 84


class Column(NamedTuple):
    """One column before and after: doubles, or numbers that stand for categories."""

    name: Any
    before: NDArray
    after: NDArray
    numeric: bool
    moment: bool = False  # microseconds since 1970

    def scaled(self) -> Column:
        """Extreme magnitudes brought near 1, so that squares neither overflow nor vanish."""
        if not self.numeric:
            return self
        largest = max(np.abs(self.before).max(initial=0), np.abs(self.after).max(initial=0))
        if largest == 0 or 1e-100 < largest < 1e100:
            return self
        shift = -int(np.frexp(largest)[1])
        return self._replace(before=np.ldexp(self.before, shift), after=np.ldexp(self.after, shift))


@dataclass(frozen=True, eq=False)
class Pair:
    """The columns of both tables, each read once."""

    original: Frame
    released: Frame
    whole: list[Column]  # all records, with their gaps
    columns: list[Column]  # the records without a gap
    rows: NDArray[np.intp]  # where these stand in the table
    notes: list[str]

    def scaled(self) -> Pair:
        """The same for measures that do not depend on units."""
        return replace(self, columns=[column.scaled() for column in self.columns])

    def unprotected(self) -> Pair:
        """The original beside itself: what an intruder could do if it were published."""
        same = [column._replace(after=column.before) for column in self.whole]
        return _without_gaps(self.original, self.original, same)

    @property
    def numbers(self) -> list[Column]:
        return [column for column in self.columns if column.numeric]

    def matrices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The numeric columns before and after, as two matrices."""
        columns = self.numbers
        shape = (len(self.rows), len(columns))
        X, Y = np.empty(shape), np.empty(shape)
        for j, column in enumerate(columns):
            X[:, j], Y[:, j] = column.before, column.after
        return X, Y


def pair(original: Any, released: Any, columns: Names | None) -> Pair:
    """Read the columns of both tables; without `columns`, every numeric one that both have.

    Records with a gap in a numeric column, before or after, are left out, and a note says how many; if all
    have one, a gap counts as the column's mean.
    """
    before, after = frame_of(original), frame_of(released)
    if len(before) != len(after):
        raise InputError(
            f"the original has {len(before)} records and the release {len(after)}: "
            "measures compare the same records in the same order"
        )
    if not len(before):
        raise InputError("the tables have no records: there is nothing to measure")
    if columns is None:
        there = set(after.numeric())
        names = [name for name in before.numeric() if name in there]
        if not names:
            raise InputError("the two tables share no numeric column: name the columns to measure")
    else:
        names = names_of(columns)
    return _without_gaps(before, after, [_column(before, after, name) for name in names])


def names_of(given: Names) -> list[Any]:
    """Columns as a list, where one name alone may stand for a list of one."""
    return [given] if isinstance(given, (str, int)) else list(given)


def _without_gaps(original: Frame, released: Frame, columns: list[Column]) -> Pair:
    complete = np.ones(len(original), bool)
    for column in columns:
        if column.numeric:
            complete &= np.isfinite(column.before) & np.isfinite(column.after)
    notes, measured = [], columns
    if not complete.any():
        notes.append("every record has a gap: in the measures a gap counts as its column's mean")
        measured = [_filled(column) if column.numeric else column for column in columns]
        complete[:] = True
    elif not complete.all():
        notes.append(f"{int((~complete).sum())} records with a gap are left out of the measures")
        measured = [c._replace(before=c.before[complete], after=c.after[complete]) for c in columns]
    return Pair(original, released, columns, measured, np.flatnonzero(complete), notes)


def _filled(column: Column) -> Column:
    present = column.before[np.isfinite(column.before)]
    mean = float((present / max(len(present), 1)).sum())  # divided first: the sum cannot overflow
    before, after = (np.where(np.isfinite(v), v, mean) for v in (column.before, column.after))
    return column._replace(before=before, after=after)


def column_values(frame: Frame, name: Any, which: str = "table") -> NDArray:
    """A column as doubles (a gap is NaN) where it holds numbers or moments, else as texts."""
    if name not in frame.names:
        hint = did_you_mean(str(name), map(str, frame.names))
        raise InputError(f"there is no column {name!r} in the {which}: {hint}")
    if isinstance(frame.native, (np.ndarray, list, tuple)):
        return np.asarray(frame.native, np.float64).reshape(len(frame), -1)[:, name]
    import narwhals as nw

    column = nw.from_native(frame.native, eager_only=True)[name]
    if _is_moment(column.dtype):
        column = column.cast(nw.Datetime("us")).dt.timestamp("us")
    if column.dtype.is_numeric():
        import pyarrow as pa

        doubles = column.to_arrow().cast(pa.float64(), safe=False)  # the nearest, where it is not exact
        return doubles.to_numpy(zero_copy_only=False)
    return np.array([_text(cell) for cell in column.to_list()], dtype=np.str_)


def _text(cell: Any) -> str:
    """A category as a text. A gap gets a text that no cell has; a long text is shortened to a hash."""
    if cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return "\0gap"
    text = str(cell)
    if len(text) <= LONGEST:
        return text
    return text[:20] + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _holds_moments(frame: Frame, name: Any) -> bool:
    if isinstance(frame.native, (np.ndarray, list, tuple)):
        return False
    import narwhals as nw

    return _is_moment(nw.from_native(frame.native, eager_only=True)[name].dtype)


def _is_moment(kind: DType) -> bool:
    import narwhals as nw

    return kind in (nw.Date, nw.Datetime)


def _column(before: Frame, after: Frame, name: Any) -> Column:
    old, new = column_values(before, name, "original"), column_values(after, name, "release")
    if old.dtype.kind == "f" and new.dtype.kind == "f":
        return Column(name, old, new, True, _holds_moments(before, name))
    if old.dtype.kind == "f" or new.dtype.kind == "f":
        raise InputError(f"column {name!r} holds numbers in one table and text in the other")
    codes = np.unique(np.concatenate((old, new)), return_inverse=True)[1]
    return Column(name, codes[: len(old)], codes[len(old) :], False)
