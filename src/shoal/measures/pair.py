"""The original and the released table side by side: the same records in the same order."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind
from shoal.io.source import frame_of
from shoal.measures.groups import same
from shoal.measures.uniqueness import FEW, codes_of
from shoal.words import CATEGORIES

#: Columns by their names, or one of them.
Names = Sequence[Any] | str | int
#: Longer texts are compared by their first characters and their hash, so that one long cell of free text does
#: not make numpy reserve its length for every record. The two together have 84 characters.
LONGEST = 84
#: What stands for a gap among texts; no cell has it.
GAP = "\0gap"


class Column(NamedTuple):
    """One column before and after: doubles (NaN is a gap), or numbers that stand for categories."""

    name: Any
    before: NDArray
    after: NDArray
    numeric: bool
    moment: bool = False  # microseconds since 1970
    ordered: bool = False  # of categories: whether their numbers follow their order
    gap: int = -1  # of categories: the number that stands for a gap
    levels: tuple[str, ...] = ()  # of categories: the text of each number

    def scaled(self) -> "Column":
        """Extreme magnitudes brought near 1, so that squares neither overflow nor vanish."""
        if not self.numeric:
            return self
        largest = max(np.nanmax(np.abs(v), initial=0) for v in (self.before, self.after))
        if largest == 0 or 1e-100 < largest < 1e100:
            return self
        shift = -int(np.frexp(largest)[1])
        return self._replace(before=np.ldexp(self.before, shift), after=np.ldexp(self.after, shift))

    @property
    def there(self) -> Bools:
        """Which records have a value in the original."""
        return ~np.isnan(self.before) if self.numeric else self.before != self.gap

    @property
    def complete(self) -> "Column":
        """The records that have a number before and after."""
        whole = ~(np.isnan(self.before) | np.isnan(self.after))
        return self if whole.all() else self._replace(before=self.before[whole], after=self.after[whole])

    def filled(self) -> tuple[NDArray, NDArray]:
        """Before and after, with gaps at the mean of the original's numbers."""
        present = self.before[~np.isnan(self.before)]
        mean = float((present / max(len(present), 1)).sum())  # divided first: the sum cannot overflow
        before, after = (np.where(np.isnan(v), mean, v) for v in (self.before, self.after))
        return before, after


@dataclass(frozen=True, eq=False)
class Pair:
    """The columns of both tables, each read once, and what else a release knows of its records."""

    original: Frame
    released: Frame
    columns: list[Column]
    read: Callable[[Any], Column]  # a further column of the original, beside itself
    labels: Mapping[Any, NDArray] = field(default_factory=dict)  # the groups of each column, if known
    per_column: bool = False  # whether each column was grouped on its own
    weight: Floats | None = None
    units: Ints | None = None  # whom records are about
    may_know: Names | None = None  # kept columns that an intruder knows; None: all with few values
    strata: Sequence[Any] = ()  # columns that he knows in any case
    hidden: Collection[Any] = ()  # columns that he does not
    loss: float | None = None  # what the release says of its information loss
    notes: Sequence[str] = ()

    def scaled(self) -> "Pair":
        """The same for measures that do not depend on units."""
        return replace(self, columns=[column.scaled() for column in self.columns])

    def unprotected(self) -> "Pair":
        """The original beside itself: what an intruder could do if it were published."""
        same = [column._replace(after=column.before) for column in self.columns]
        return replace(self, released=self.original, columns=same, labels={})

    @cached_property
    def known(self) -> dict[Any, Ints]:
        """The kept columns that an intruder knows, each with a number for every different value."""
        frame, known = self.released, {}
        hidden = {*self.hidden, *(column.name for column in self.columns)}
        told = None if self.may_know is None else names_of(self.may_know)
        for name in dict.fromkeys([*self.strata, *(frame.names if told is None else told)]):
            if name in hidden:
                continue
            codes = value_codes(frame, name)
            if told is not None or name in self.strata or codes.max() < FEW:
                known[name] = codes
        return known

    @cached_property
    def groups(self) -> tuple[Ints, list[Ints]]:
        """The groups that all columns make together, and those of each column by itself."""
        after = [column.after for column in self.columns]
        if not self.labels:
            joint = same(after)
            return joint, [same([values]) for values in after] if self.per_column else [joint] * len(after)
        each = [self.labels[column.name] for column in self.columns]
        dense = {id(labels): same([labels]) for labels in each}
        return same(list(dense.values())), [dense[id(labels)] for labels in each]

    @property
    def numbers(self) -> list[Column]:
        return [column for column in self.columns if column.numeric]

    def matrices(self) -> tuple[Floats, Floats]:
        """The numeric columns before and after, as two matrices; a gap lies at its column's mean."""
        columns = self.numbers
        X, Y = (np.empty((len(self.original), len(columns))) for _ in range(2))
        for j, column in enumerate(columns):
            X[:, j], Y[:, j] = column.filled()
        return X, Y


def pair(
    original: Any,
    released: Any,
    columns: Names | None,
    *,
    types: Mapping[Any, str] | None = None,
    levels: Mapping[Any, Sequence[Any]] | None = None,
    weight: Any = None,
    known: Names | None = None,
    hidden: Sequence[Any] = (),
    codes_of: Callable[[Any], Sequence[Any]] = lambda name: (),
    **facts: Any,
) -> Pair:
    """Read the columns of both tables; without `columns`, every numeric one that both have.

    `types`, `levels` and `codes_of` (codes for gaps) are those of a plan. `hidden` columns are kept, but
    not known to an intruder.
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

    def read(name: Any, other: Frame = before) -> Column:
        kind, order = (types or {}).get(name), (levels or {}).get(name)
        return _column(before, other, name, kind, order, codes_of(name))

    measured = [read(name, after) for name in names]
    gaps = np.zeros(len(before), bool)
    for column in measured:
        gaps |= ~column.there
    notes = [f"{int(gaps.sum())} records have a gap: in the measures a gap is a value of its own"]
    return Pair(
        before,
        after,
        measured,
        read,
        weight=None if weight is None else column_values(before, weight, "original"),
        may_know=known,
        hidden={*hidden, weight},
        notes=notes if gaps.any() else (),
        **facts,
    )


def names_of(given: Names) -> list[Any]:
    """Columns as a list, where one name alone may stand for a list of one."""
    return [given] if isinstance(given, (str, int)) else list(given)


def value_codes(frame: Frame, name: Any) -> Ints:
    """A number for each different value of a released column."""
    try:
        return codes_of(pa.chunked_array([frame.arrow(name)]))
    except (InputError, KeyError):  # it mixes kinds of values, or is not there
        return np.unique(column_values(frame, name, "release"), return_inverse=True)[1]


def column_values(frame: Frame, name: Any, which: str = "table") -> NDArray:
    """A column as doubles (a gap is NaN) where it holds numbers or moments, else as texts."""
    if name not in frame.names:
        hint = did_you_mean(str(name), map(str, frame.names))
        raise InputError(f"there is no column {name!r} in the {which}: {hint}")
    if isinstance(frame.native, (np.ndarray, list, tuple)):
        return np.asarray(frame.native, np.float64).reshape(len(frame), -1)[:, name]
    column = nw.from_native(frame.native, eager_only=True)[name]
    if column.dtype in (nw.Date, nw.Datetime):
        column = column.cast(nw.Datetime("us")).dt.timestamp("us")
    if column.dtype.is_numeric():
        doubles = column.to_arrow().cast(pa.float64(), safe=False)  # the nearest, where it is not exact
        return doubles.to_numpy(zero_copy_only=False)
    return np.array([_text(cell) for cell in column.to_list()], dtype=np.str_)


def _text(cell: Any) -> str:
    """A category as a text. A gap gets a text that no cell has; a long text is shortened to a hash."""
    if cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return GAP
    text = str(cell)
    if len(text) <= LONGEST:
        return text
    return text[:20] + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _level(value: Any) -> str:
    """A category as it is shown."""
    if value == GAP or value != value:
        return "gap"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _objects(frame: Frame, name: Any, kind: str) -> Floats:
    """Dates written as text, and dates or decimals that pandas keeps as objects, as doubles."""
    column = read_column(frame, name, kind)
    stored: Any = column.stored
    values = column.values.astype(np.float64)
    if types.is_decimal(stored):
        values /= 10.0**stored.scale
    else:
        values *= {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}.get(getattr(stored, "unit", ""), 86_400e6)
    return values if column.gaps is None else np.where(column.gaps, np.nan, values)


def _column(
    before: Frame,
    after: Frame,
    name: Any,
    kind: str | None,
    levels: Sequence[Any] | None,
    missing: Sequence[Any],
) -> Column:
    old, new = column_values(before, name, "original"), column_values(after, name, "release")
    kind = kind or ("ordinal" if levels else stored_kind(before, name))
    kind = "nominal" if kind in ("text", "other") else kind
    if kind not in CATEGORIES and old.dtype.kind == new.dtype.kind == "U":
        old, new = _objects(before, name, kind), _objects(after, name, kind)
    if missing:
        holes = [read_column(frame, name, kind, levels, missing).gaps for frame in (before, after)]
        gap = np.nan if old.dtype.kind == "f" else GAP
        old, new = (v if gaps is None else np.where(gaps, gap, v) for gaps, v in zip(holes, (old, new)))
    if old.dtype.kind != new.dtype.kind:
        raise InputError(f"column {name!r} holds numbers in one table and text in the other")
    if old.dtype.kind == "f" and kind not in CATEGORIES:
        old, new = (np.where(np.isfinite(v), v, np.nan) for v in (old, new))
        return Column(name, old, new, True, kind == "date")
    values, codes = np.unique(np.concatenate((old, new)), return_inverse=True)
    ordered = kind == "ordinal"
    if ordered:
        rows = read_column(before, name, kind, levels, missing).first
        place = {value: i for i, value in enumerate(old[rows].tolist())}
        rank = np.array([place.get(value, len(place) + i) for i, value in enumerate(values.tolist())])
        codes, values = np.argsort(np.argsort(rank))[codes], values[np.argsort(rank)]
    gaps = np.isnan(old) if old.dtype.kind == "f" else old == GAP
    gap = int(codes[: len(old)][gaps][0]) if gaps.any() else -1
    levels = tuple(map(_level, values.tolist()))
    return Column(name, codes[: len(old)], codes[len(old) :], False, False, ordered, gap, levels)
