"""The original and the released table side by side: the same records in the same order."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.frame.large import PIECE, LargeTable
from shoal.frame.types import read_column, stored_kind
from shoal.io.source import frame_of
from shoal.measures.columns import Column, Columns
from shoal.measures.groups import same
from shoal.measures.uniqueness import FEW, codes_of
from shoal.words import CATEGORIES

#: Columns by their names, or one of them.
Names = Sequence[Any] | str | int
#: Longer texts are compared by their first characters and their hash, so that one long cell of free text does
#: not make numpy reserve its length for every record. The two together have 84 characters.
LONGEST = 84
#: Cells that are texts, or few different ones: each different one is looked at once.
_TEXTS = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
#: What stands for a gap among texts; no cell has it.
GAP = "\0gap"


@dataclass(frozen=True, eq=False)
class Pair:
    """The columns of both tables, each read once, and what else a release knows of its records."""

    original: Frame
    released: Frame
    columns: Columns
    read: Callable[[Any], Column]  # a further column of the original, beside itself
    labels: Mapping[Any, NDArray] = field(default_factory=dict)  # the groups of each column, if known
    per_column: bool = False  # whether each column was grouped on its own
    weight: Floats | None = None
    units: Ints | None = None  # whom records are about
    may_know: Names | None = None  # kept columns that an intruder knows; None: all with few values
    strata: Sequence[Any] = ()  # columns that he knows in any case
    hidden: Collection[Any] = ()  # columns that he does not
    loss: float | None = None  # what the release says of its information loss
    itself: bool = False  # whether the original stands beside itself
    matched: bool = True  # whether each record stands beside itself; else only whole tables compare
    notes: Sequence[str] = ()

    def scaled(self) -> "Pair":
        """The same for measures that do not depend on units."""
        if not any(column.extreme for column in self.columns.heads):
            return self
        return replace(self, columns=self.columns.changed(Column.scaled))

    def unprotected(self) -> "Pair":
        """The original beside itself: what an intruder could do if it were published."""
        columns = self.columns.changed(Column.itself)
        return replace(self, released=self.original, columns=columns, labels={}, itself=True)

    @cached_property
    def known(self) -> dict[Any, Ints]:
        """The kept columns that an intruder knows, each with a number for every different value."""
        frame, known = self.released, {}
        hidden = {*self.hidden, *self.columns.names}
        told = None if self.may_know is None else names_of(self.may_know)
        for name in dict.fromkeys([*self.strata, *(frame.names if told is None else told)]):
            if name in hidden:
                continue
            codes = value_codes(frame, name)
            if told is not None or name in self.strata or codes.max() < FEW:
                known[name] = codes.astype(np.min_scalar_type(int(codes.max())))
        return known

    @cached_property
    def published(self) -> Ints:
        """A number for each combination that is published."""
        return same(column.after for column in self.columns)

    @cached_property
    def groups(self) -> tuple[Ints, list[Ints]]:
        """The groups that all columns make together, and those of each column by itself."""
        if not self.labels:
            joint = self.published
            alone = [same([column.after]) for column in self.columns] if self.per_column else []
            return joint, alone or [joint] * len(self.columns)
        each = [self.labels[name] for name in self.columns.names]
        dense = {id(labels): same([labels]) for labels in each}
        whole = list(dense.values())
        return whole[0] if len(whole) == 1 else same(whole), [dense[id(labels)] for labels in each]

    @property
    def numbers(self) -> Columns:
        return self.columns.numbers

    def matrices(self, rows: Any = slice(None), later: Any = None) -> tuple[Floats, Floats]:
        """The numeric columns before and after, as two matrices; a gap lies at its column's mean.

        `later` are the rows of the release, where they are not those of the original.
        """
        wanted = rows, rows if later is None else later
        sides = [[values[some] for values, some in zip(column.filled(), wanted)] for column in self.numbers]
        X, Y = (np.stack([pair[side] for pair in sides], axis=1) for side in (0, 1))
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
    matched: bool = True,
    **facts: Any,
) -> Pair:
    """Read the columns of both tables; without `columns`, every numeric one that both have.

    `types`, `levels` and `codes_of` (codes for gaps) are those of a plan. `hidden` columns are kept, but
    not known to an intruder.
    """
    before, after = frame_of(original), frame_of(released)
    if matched and len(before) != len(after):
        raise InputError(
            f"the original has {len(before)} records and the release {len(after)}: "
            "measures compare the same records in the same order"
        )
    if not len(before) or not len(after):
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

    gaps = np.zeros(len(before), bool)

    def each() -> Iterator[Column]:
        for name in names:
            column = read(name, after)
            np.logical_or(gaps, ~column.there, out=gaps)
            yield column
            del column  # before the next is read

    large = isinstance(before.native, LargeTable) or isinstance(after.native, LargeTable)
    measured = Columns.stored(each()) if large else Columns.of(list(each()))
    notes = [f"{int(gaps.sum())} records have a gap: in the measures a gap is a value of its own"]
    return Pair(
        before,
        after,
        measured,
        read,
        weight=None if weight is None else column_values(before, weight, "original"),
        may_know=known,
        hidden={*hidden, weight},
        matched=matched,
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
    _refuse_unknown(frame, name, which)
    if isinstance(frame.native, (np.ndarray, list, tuple)):
        return np.asarray(frame.native, np.float64).reshape(len(frame), -1)[:, name]
    column = frame.series(name)
    if column.dtype in (nw.Date, nw.Datetime):
        column = column.cast(nw.Datetime("us")).dt.timestamp("us")
    if column.dtype.is_numeric():
        doubles = column.to_arrow().cast(pa.float64(), safe=False)  # the nearest, where it is not exact
        return doubles.to_numpy(zero_copy_only=False)
    if column.dtype in _TEXTS:
        levels, codes = coded(frame, name)
        return levels[codes]
    return np.array([_text(cell) for cell in column.to_list()], dtype=np.str_)


def _refuse_unknown(frame: Frame, name: Any, which: str) -> None:
    if name not in frame.names:
        hint = did_you_mean(str(name), map(str, frame.names))
        raise InputError(f"there is no column {name!r} in the {which}: {hint}")


def cells_in_pieces(frame: Frame, name: Any) -> Iterator[NDArray]:
    """What `column_values` gives, texts some rows at a time: written out they take much room."""
    if frame.dtype(name) not in _TEXTS:
        yield column_values(frame, name)
        return
    levels, codes = coded(frame, name)
    for begin in range(0, len(codes), PIECE):
        yield levels[codes[begin : begin + PIECE]]


def coded(frame: Frame, name: Any, which: str = "table") -> tuple[NDArray, Ints]:
    """The different cells of a column, ascending, as `column_values` has them; and which each record has."""
    _refuse_unknown(frame, name, which)
    if frame.dtype(name) not in _TEXTS:
        return np.unique(column_values(frame, name, which), return_inverse=True)
    cells = pa.chunked_array([frame.arrow(name)])
    cells = cells.cast(cells.type.value_type) if types.is_dictionary(cells.type) else cells
    encoded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
    texts = np.array([_text(cell) for cell in encoded.dictionary.to_pylist()], dtype=np.str_)
    levels, codes = np.unique(texts, return_inverse=True)
    codes = codes.astype(np.min_scalar_type(len(levels)))
    return levels, codes[encoded.indices.to_numpy(zero_copy_only=False)]


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
    _refuse_unknown(before, name, "original")
    _refuse_unknown(after, name, "release")
    kind = kind or ("ordinal" if levels else stored_kind(before, name))
    kind = "nominal" if kind in ("text", "other") else kind
    frames = (before, after)
    holes = [read_column(frame, name, kind, levels, missing).gaps if missing else None for frame in frames]
    if kind in CATEGORIES:
        ordered = read_column(before, name, kind, levels, missing).first if kind == "ordinal" else None
        return _category(name, [coded(frame, name) for frame in frames], holes, ordered)
    old, new = (column_values(frame, name) for frame in frames)
    if old.dtype.kind == new.dtype.kind == "U":
        old, new = (_objects(frame, name, kind) for frame in frames)
    _refuse_two_kinds(name, old, new)
    there = [np.isfinite(v) if gaps is None else np.isfinite(v) & ~gaps for v, gaps in zip((old, new), holes)]
    old, new = (v if some.all() else np.where(some, v, np.nan) for v, some in zip((old, new), there))
    largest = max(float(max(np.nanmax(v, initial=0), -np.nanmin(v, initial=0))) for v in (old, new))
    return Column(name, old, new, True, kind == "date", largest=largest)


def _category(
    name: Any, sides: Sequence[tuple[NDArray, Ints]], holes: Sequence[Bools | None], ordered: Ints | None
) -> Column:
    """Levels and codes of both tables as one column; `ordered` are rows with the levels in their order."""
    (old, rows), (new, _) = sides
    _refuse_two_kinds(name, old, new)
    gap: Any = np.nan if old.dtype.kind == "f" else GAP
    values, inverse = np.unique(np.concatenate((old, new, [gap])), return_inverse=True)
    if ordered is not None:  # what has no place in the order, and a gap, come last
        place = {value: i for i, value in enumerate(old[rows[ordered]].tolist())}
        order = np.argsort([place.get(value, len(place)) for value in values.tolist()], kind="stable")
        values, inverse = values[order], np.argsort(order)[inverse]
    none, levels = inverse[-1], np.split(inverse[:-1], [len(old)])
    codes = [numbers[which] for numbers, (_, which) in zip(levels, sides)]
    codes = [which if gaps is None else np.where(gaps, none, which) for gaps, which in zip(holes, codes)]
    used = np.zeros(len(values), bool)
    used[codes[0]] = used[codes[1]] = True
    number = np.cumsum(used) - 1  # without levels that no record has
    gap = int(number[none]) if (codes[0] == none).any() else -1
    texts = tuple(map(_level, values[used].tolist()))
    return Column(name, number[codes[0]], number[codes[1]], False, False, ordered is not None, gap, texts)


def _refuse_two_kinds(name: Any, old: NDArray, new: NDArray) -> None:
    if old.dtype.kind != new.dtype.kind:
        raise InputError(f"column {name!r} holds numbers in one table and text in the other")
