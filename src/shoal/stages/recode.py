"""Recoding before grouping: tails are capped, levels joined, and units get new numbers.

What becomes of a cell is decided by the whole table (`Steps`), then done to all of it, or batch by batch.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import CheckFailed, InputError, did_you_mean
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.order import cells as bits_of
from shoal.frame.types import is_level, read_column, value_in
from shoal.grouping.partition import Partition
from shoal.io.private import key_file
from shoal.stages.loss import lost_by_recoding
from shoal.stages.publish import publish
from shoal.stages.round import refuse_rounding, rounded

if TYPE_CHECKING:
    from shoal.plan import Plan

#: A unit dominates a tail if it holds more than this share of what the tail lies beyond the threshold.
DOMINANT = 0.5
#: New numbers of units are below this: Excel shows fifteen digits.
NUMBERS = 10**15
#: What rare levels are called together.
OTHER = "other"


class Recoded(NamedTuple):
    """The table after recoding: `names` are the columns, beside the protected, that have other cells."""

    frame: Frame
    columns: dict[Any, Column]
    names: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    loss: Mapping[str, float] = MappingProxyType({})  # what each of these loses, in percent; not of units


class End(NamedTuple):
    """A tail of a column: values above the limit (sign 1) or below it (-1) become `value`."""

    limit: Any
    sign: int
    value: Any

    def beyond(self, column: Column) -> NDArray[np.bool_]:
        beyond = column.values > self.limit if self.sign > 0 else column.values < self.limit
        return beyond & column.there


class Steps(NamedTuple):
    """What recoding makes of each cell; `rounded` are the columns to round that are not protected."""

    plan: Plan
    ends: Mapping[Any, Sequence[End]]
    rounded: Sequence[Any]
    levels: Mapping[Any, Mapping[Any, Any]]  # column -> level -> what it becomes
    key: bytes | None = None

    def numbers(self, frame: Frame, read: Callable[[Any], Column]) -> dict[Any, tuple[Column, Column]]:
        """The columns of numbers that change, as they were and as they are; `read` gives one."""
        found = {}
        for name in dict.fromkeys([*self.ends, *self.rounded]):
            if name in frame.names:
                old = read(name)
                new = _capped(old, self.ends.get(name, ()))
                if name in self.rounded:
                    new = new.holding(rounded(new.values, self.plan.round[name], new), new.gaps)
                found[name] = (old, new)
        return found

    def cells(self, frame: Frame) -> dict[Any, pa.Array]:
        """The cells of columns whose levels are joined, and the new numbers of units."""
        names = [name for name in self.levels if name in frame.names]
        found = {name: _with_levels(name, frame.arrow(name), self.levels[name]) for name in names}
        if self.key is not None and self.plan.unit[0] in frame.names:
            found[self.plan.unit[0]] = numbered(self.plan, frame, self.key)
        return found


def recode(
    plan: Plan, frame: Frame, columns: dict[Any, Column], units: Ints | None, weight: Floats | None
) -> Recoded:
    """Cap tails, join levels, round kept columns and number units, as the plan says.

    `columns` are those that are protected, as they are; a recoded one remembers what it was.
    """
    tails = frame.find(dict.fromkeys([*plan.top, *plan.bottom]))
    kept = [name for name in frame.find(plan.round) if name not in columns]
    refuse_roles(plan, [*tails, *frame.find(plan.regroup), *kept])
    if not (tails or kept or plan.regroup or plan.pseudonyms):
        refuse_rounding(plan, list(columns.values()))
        return Recoded(frame, columns)
    read = {
        name: columns.get(name) or read_column(frame, name, plan.types.get(name), codes=plan.codes_of(name))
        for name in dict.fromkeys([*tails, *kept])
    }
    ends, levels, notes = dict[Any, list[End]](), dict[Any, dict[Any, Any]](), list[str]()
    for name in tails:
        quantile = lambda c, word: np.sort(c.present)[place_of(c, word, len(c.present))]  # noqa: E731
        limits = limits_of(plan, read[name], quantile)
        ends[name], said = ends_of(plan, read[name], limits, units, weight)
        notes += said
    refuse_rounding(plan, [*columns.values(), *(read[name] for name in kept)])
    for name in frame.find(plan.regroup):
        levels[name], said = joins_of(plan, name, *_holders(frame.arrow(name), units))
        notes += said
    key = None if plan.pseudonyms is None else key_file(plan.pseudonyms)
    notes += numbers_note(plan)
    steps = Steps(plan, ends, kept, levels, key)
    numbers, cells = steps.numbers(frame, read.__getitem__), steps.cells(frame)
    made = frame.recoded({name: new for name, (_, new) in numbers.items()}, cells)
    protected = {}
    for name, old in columns.items():
        new = numbers[name][1] if name in numbers else old
        if name in cells:
            new = read_column(made, name, plan.types.get(name), plan.levels.get(name), plan.codes_of(name))
            refuse_numbers(plan, [new])
        protected[name] = old if new is old else replace(new, before=old)
    names = tuple(name for name in (*numbers, *cells) if name not in columns)
    loss = {}
    for name in (name for name in names if name in numbers or name in levels):
        kinds = ("nominal", None, plan.codes_of(name))
        old, new = numbers.get(name) or (read_column(table, name, *kinds) for table in (frame, made))
        loss[str(name)] = lost_by_recoding(replace(new, before=old))
    return Recoded(made, protected, names, tuple(notes), loss)


def numbers_note(plan: Plan) -> list[str]:
    """A note on units that are published as new numbers."""
    if plan.pseudonyms is None:
        return []
    return [
        f"units are published as new numbers in {plan.unit[0]!r}: rows of a unit can be linked, and "
        f"together they may be its own; only who has {plan.pseudonyms!r} can find units again"
    ]


def refuse_roles(plan: Plan, names: Iterable[Any]) -> None:
    """Say which of these columns are not published as values, so that they cannot be recoded."""
    for name in names:
        role = plan.roles.get(name)
        if role in ("identifier", "unit", "weight"):
            why = "which would change what it counts" if role == "weight" else "which is not published"
            raise InputError(f"column {name!r} is the {role}, {why}: leave it out of the recoding")


def refuse_numbers(plan: Plan, columns: Iterable[Column]) -> None:
    """Say that numbers which are averaged have no levels to join."""
    for column in columns:
        if column.name in plan.regroup and not column.categorical:
            raise InputError(
                f"column {column.name!r} is {column.type}, whose values are averaged: to join levels of it, "
                f"call it nominal (--type {column.name}=nominal, types={{{column.name!r}: 'nominal'}})"
            )


def limits_of(plan: Plan, column: Column, quantile: Callable[[Column, str], Any]) -> dict[int, Any]:
    """Where the tails of a column begin: below (-1) and above (1); `quantile` finds that of q0.99."""
    limits = {}
    for sign, given in ((-1, plan.bottom), (1, plan.top)):
        if column.name not in given:
            continue
        if column.categorical:
            raise InputError(
                f"column {column.name!r} is {column.type} and has no tails: join levels (regroup)"
            )
        word = given[column.name]
        if str(word).startswith("q"):
            limits[sign] = quantile(column, str(word))
            continue
        value = value_in(column, word)
        if value is None:
            raise InputError(f"{word!r} is no value that column {column.name!r} ({column.type}) can have")
        limits[sign] = column.values.dtype.type(value)
    if len(limits) == 2 and not limits[-1] < limits[1]:
        raise InputError(f"bottom and top of column {column.name!r} cross: bottom must lie below top")
    return limits


def place_of(column: Column, word: str, present: int) -> int:
    """The place, in order, of the smallest value that a share (q0.99) of the values does not exceed."""
    if not present:
        raise InputError(f"column {column.name!r} holds no value: leave it out of top and bottom")
    return max(ceil(Decimal(word[1:]) * present) - 1, 0)


def ends_of(
    plan: Plan, column: Column, limits: Mapping[int, Any], units: Ints | None, weight: Floats | None
) -> tuple[list[End], list[str]]:
    """What the tails become: their mean, or the threshold where that would tell of few.

    The column has all values that lie beyond the limits; others do no harm.
    """
    units = np.arange(len(column.values)) if units is None else units
    ends, notes = [], []
    for sign, limit in limits.items():
        beyond = End(limit, sign, limit).beyond(column)
        word, given = ("above", plan.top) if sign > 0 else ("below", plan.bottom)
        where = f"{column.name!r} {word} {given[column.name]}"
        if not beyond.any():
            notes.append(f"no value of {where}: nothing was capped")
            continue
        rows = np.flatnonzero(beyond)
        by_value = [column.values[rows]] if weight is None else [weight[rows], column.values[rows]]
        rows = rows[np.lexsort(by_value)]  # the mean is the same, to the last digit, in any order of rows
        tail = Column(column.name, column.type, column.values[rows], stored=column.stored)
        share = None if weight is None else weight[rows]
        why = _too_few(plan.k, tail.values, limit, units[rows], share)
        if why is None:
            middle = publish(tail, Partition(np.zeros(len(tail.values), np.int64)), "mean", share)
            value, how = middle.values[0], "their mean"
        else:
            value, how = limit, f"the threshold: {why}"
        ends.append(End(limit, sign, value))
        many = "1 value of {} is" if len(tail.values) == 1 else f"{len(tail.values):,} values of {{}} are"
        notes.append(f"{many.format(where)} published as {how}")
    return ends, notes


def _capped(column: Column, ends: Sequence[End]) -> Column:
    values = column.values.copy()
    for end in ends:
        values[end.beyond(column)] = end.value
    return column.holding(values, column.gaps)


def _too_few(k: int, values: NDArray, limit: Any, units: Ints, weight: Floats | None) -> str | None:
    """Why the mean of a tail would tell of single units; None if it does not."""
    distinct, whose = np.unique(units, return_inverse=True)
    if len(distinct) < k:
        return f"{len(distinct)} {'is' if len(distinct) == 1 else 'are'} fewer than k={k}"
    excess = np.abs(values.astype(np.float64) - float(limit))
    held = np.bincount(whose, excess / excess.max() * (1.0 if weight is None else weight))
    if not held.max() <= DOMINANT * held.sum():
        return f"one unit holds more than {DOMINANT:.0%} of what lies beyond it"
    return None


def _holders(cells: pa.Array, units: Ints | None) -> tuple[pa.Array, list[tuple[int, int, int]]]:
    """The levels of a column, and who holds them, as `joins_of` takes it."""
    listed = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    codes = listed.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    there = codes >= 0
    if units is None:
        counts = np.bincount(codes[there]).tolist()
        return listed.dictionary, [(code, code, count) for code, count in enumerate(counts)]
    pairs = np.unique(np.stack([codes, units])[:, there], axis=1).T.tolist()
    return listed.dictionary, [(code, unit, 1) for code, unit in pairs]


def joins_of(
    plan: Plan, name: Any, listed: pa.Array, holders: Iterable[tuple[int, int, int]]
) -> tuple[dict[Any, Any], list[str]]:
    """What each level of a column becomes where levels are joined as the plan says.

    `holders` has, for each level by its place, the units that hold it: (place, unit, 1). Where records are
    counted, all that have a level are one holder: (place, place, how many).
    """
    kind = listed.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not texts and not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        raise InputError(f"column {name!r} holds {kind}: only levels of texts and numbers can be joined")
    levels = listed.to_pylist()
    new, notes = list(levels), []
    for title, members in plan.regroup[name].items():
        if title == "rare":
            continue
        for member in members:
            places = [place for place, level in enumerate(levels) if is_level(level, [member])]
            if not places:
                said = did_you_mean(str(member), [str(level) for level in levels])
                raise InputError(f"column {name!r} has no level {member!r} to join: {said}")
            for place in places:
                new[place] = _level(name, title, texts)
        notes.append(f"{name!r}: {', '.join(map(str, members))} became {title}")
    if "rare" in plan.regroup[name]:
        free = [not is_level(level, plan.codes_of(name)) for level in levels]
        rare = _rare(plan.regroup[name]["rare"], new, free, holders)
        new = [_level(name, OTHER, texts) if level in rare else level for level in new]
        notes.append(
            f"{name!r}: {len(rare)} levels with fewer than {plan.regroup[name]['rare']} became {OTHER}"
        )
    return dict(zip(levels, new)), notes


def _with_levels(name: Any, old: pa.Array, new: Mapping[Any, Any]) -> pa.Array:
    """Cells whose levels became others."""
    listed = old if pa.types.is_dictionary(old.type) else old.dictionary_encode()
    levels = listed.dictionary.to_pylist()
    if any(level not in new for level in levels):
        raise CheckFailed(f"column {name!r} has changed meanwhile: protect it again")
    made = pa.array([new[level] for level in levels], listed.dictionary.type)
    if not pa.types.is_dictionary(old.type):
        return made.take(listed.indices)
    distinct = made.unique()
    indices = pc.index_in(made, value_set=distinct).take(listed.indices).cast(old.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, distinct, ordered=old.type.ordered)


def _level(name: Any, title: Any, texts: bool) -> Any:
    """The name of a joined level, in the type of its column."""
    if texts:
        return str(title)
    try:
        number = Decimal(str(title))
    except ArithmeticError:
        number = Decimal("nan")
    if not number.is_finite():
        raise InputError(
            f"column {name!r} holds numbers: {title!r} cannot be a level of it; join them under a number"
        )
    return int(number) if number == number.to_integral_value() else float(number)


def _rare(
    least: int, levels: list[Any], free: list[bool], holders: Iterable[tuple[int, int, int]]
) -> set[Any]:
    """The levels to join: those of fewer units, and the next until they have as many together."""
    members: dict[Any, dict[int, int]] = {level: {} for level, may in zip(levels, free) if may}
    for code, unit, count in holders:
        if free[code]:
            members[levels[code]][unit] = count
    sizes = {level: sum(found.values()) for level, found in members.items()}
    rare = {level for level in members if sizes[level] < least}
    together = dict(members.get(OTHER, {}))
    for level in rare:
        together |= members[level]
    for level in sorted(members.keys() - rare, key=lambda level: (sizes[level], str(level))):
        if not rare or sum(together.values()) >= least:
            break
        rare.add(level)
        together |= members[level]
    return rare


def numbered(plan: Plan, frame: Frame, key: bytes) -> pa.Array:
    """A new number for each unit, made of its columns under the key: the same key gives the same number."""
    rows = np.stack([bits_of(frame.arrow(name)) for name in plan.unit], axis=1)
    distinct, whose = np.unique(rows, axis=0, return_inverse=True)
    digests = [hmac.digest(key, row.astype("<u8").tobytes(), "sha256") for row in distinct]
    numbers = np.array([int.from_bytes(digest[:16], "big") % NUMBERS for digest in digests], np.int64)
    refuse_same_numbers(plan, numbers)
    return pa.array(numbers[whose.ravel()])


def refuse_same_numbers(plan: Plan, numbers: Ints) -> None:
    """Say that two units got one number; `numbers` has that of each unit once."""
    if len(np.unique(numbers)) < len(numbers):
        raise InputError(f"two units have one number under the key {plan.pseudonyms!r}: use another key file")
