"""Recoding before grouping: tails are capped, levels joined, and units get new numbers."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import InputError, did_you_mean
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


def recode(
    plan: Plan, frame: Frame, columns: dict[Any, Column], units: Ints | None, weight: Floats | None
) -> Recoded:
    """Cap tails, join levels, round kept columns and number units, as the plan says.

    `columns` are those that are protected, as they are; a recoded one remembers what it was.
    """
    tails = frame.find(dict.fromkeys([*plan.top, *plan.bottom]))
    kept = [name for name in frame.find(plan.round) if name not in columns]
    _refuse_roles(plan, [*tails, *frame.find(plan.regroup), *kept])
    if not (tails or kept or plan.regroup or plan.pseudonyms):
        refuse_rounding(plan, list(columns.values()))
        return Recoded(frame, columns)
    numbers, before = dict[Any, Column](), dict[Any, Column]()
    cells, notes = dict[Any, Any](), list[str]()
    whose = np.arange(len(frame)) if units is None else units
    for name in dict.fromkeys([*tails, *kept]):
        column = columns.get(name) or read_column(
            frame, name, plan.types.get(name), codes=plan.codes_of(name)
        )
        before[name] = column
        numbers[name], said = _capped(plan, column, whose, weight)
        notes += said
    refuse_rounding(plan, [*columns.values(), *(numbers[name] for name in kept)])
    for name in kept:
        column = numbers[name]
        numbers[name] = column.holding(rounded(column.values, plan.round[name], column), column.gaps)
    for name in frame.find(plan.regroup):
        cells[name], said = _joined(plan, frame, name, whose)
        notes += said
    if plan.pseudonyms is not None:
        cells[plan.unit[0]] = _numbered(plan, frame, key_file(plan.pseudonyms))
        notes.append(
            f"units are published as new numbers in {plan.unit[0]!r}: rows of a unit can be linked, and "
            f"together they may be its own; only who has {plan.pseudonyms!r} can find units again"
        )
    made = frame.recoded(numbers, cells)
    protected = {}
    for name, old in columns.items():
        new = numbers.get(name, old)
        if name in cells:
            new = read_column(made, name, plan.types.get(name), plan.levels.get(name), plan.codes_of(name))
        protected[name] = old if new is old else replace(new, before=old)
    names = tuple(name for name in (*numbers, *cells) if name not in columns)
    loss = {}
    for name in (name for name in names if name in before or name in plan.regroup):
        kinds = ("nominal", None, plan.codes_of(name))
        new = numbers[name] if name in before else read_column(made, name, *kinds)
        old = before[name] if name in before else read_column(frame, name, *kinds)
        loss[str(name)] = lost_by_recoding(replace(new, before=old))
    return Recoded(made, protected, names, tuple(notes), loss)


def _refuse_roles(plan: Plan, names: list[Any]) -> None:
    for name in names:
        role = plan.roles.get(name)
        if role in ("identifier", "unit", "weight"):
            why = "which would change what it counts" if role == "weight" else "which is not published"
            raise InputError(f"column {name!r} is the {role}, {why}: leave it out of the recoding")


def _capped(plan: Plan, column: Column, units: Ints, weight: Floats | None) -> tuple[Column, list[str]]:
    """The column with its tails replaced by their mean, or by the threshold where that would tell of few."""
    values, notes = column.values.copy(), []
    ends = [(plan.bottom, "below", -1), (plan.top, "above", 1)]
    limits = [_threshold(column, given[column.name]) for given, _, _ in ends if column.name in given]
    if len(limits) == 2 and not limits[0] < limits[1]:
        raise InputError(f"bottom and top of column {column.name!r} cross: bottom must lie below top")
    for given, word, sign in ends:
        if column.name not in given:
            continue
        limit = _threshold(column, given[column.name])
        beyond = column.values > limit if sign > 0 else column.values < limit
        beyond &= True if column.gaps is None else ~column.gaps
        where = f"{column.name!r} {word} {given[column.name]}"
        if not beyond.any():
            notes.append(f"no value of {where}: nothing was capped")
            continue
        tail = Column(column.name, column.type, column.values[beyond], stored=column.stored)
        share = None if weight is None else weight[beyond]
        why = _too_few(plan.k, tail.values, limit, units[beyond], share)
        if why is None:
            middle = publish(tail, Partition(np.zeros(len(tail.values), np.int64)), "mean", share)
            values[beyond] = middle.values[0]
            notes.append(f"{len(tail.values):,} values of {where} are published as their mean")
        else:
            values[beyond] = limit
            notes.append(f"{len(tail.values):,} values of {where} are published as the threshold: {why}")
    return column.holding(values, column.gaps), notes


def _threshold(column: Column, given: Any) -> Any:
    """Where the tail begins: a value, or the smallest that a share (q0.99) of the values does not exceed."""
    if column.categorical:
        raise InputError(f"column {column.name!r} is {column.type} and has no tails: join levels (regroup)")
    text = str(given)
    if text.startswith("q"):
        if not len(column.present):
            raise InputError(f"column {column.name!r} holds no value: leave it out of top and bottom")
        return np.sort(column.present)[max(ceil(Decimal(text[1:]) * len(column.present)) - 1, 0)]
    value = value_in(column, given)
    if value is None:
        raise InputError(f"{given!r} is no value that column {column.name!r} ({column.type}) can have")
    return column.values.dtype.type(value)


def _too_few(k: int, values: NDArray, limit: Any, units: Ints, weight: Floats | None) -> str | None:
    """Why the mean of a tail would tell of single units; None if it does not."""
    distinct, whose = np.unique(units, return_inverse=True)
    if len(distinct) < k:
        return f"{len(distinct)} are fewer than k={k}"
    excess = np.abs(values.astype(np.float64) - float(limit))
    held = np.bincount(whose, excess / excess.max() * (1.0 if weight is None else weight))
    if not held.max() <= DOMINANT * held.sum():
        return f"one unit holds more than {DOMINANT:.0%} of what lies beyond it"
    return None


def _joined(plan: Plan, frame: Frame, name: Any, units: Ints) -> tuple[pa.Array | pa.ChunkedArray, list[str]]:
    """The cells of a column with levels joined as the plan says."""
    old = frame.arrow(name)
    listed = old if pa.types.is_dictionary(old.type) else old.dictionary_encode()
    kind = listed.dictionary.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not texts and not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        raise InputError(f"column {name!r} holds {kind}: only levels of texts and numbers can be joined")
    levels = listed.dictionary.to_pylist()
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
    codes = listed.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if "rare" in plan.regroup[name]:
        free = [not is_level(level, plan.codes_of(name)) for level in levels]
        rare = _rare(plan.regroup[name]["rare"], new, free, codes, units)
        new = [_level(name, OTHER, texts) if level in rare else level for level in new]
        notes.append(
            f"{name!r}: {len(rare)} levels with fewer than {plan.regroup[name]['rare']} became {OTHER}"
        )
    distinct = pa.array(dict.fromkeys(new), kind)
    place_of = {level: place for place, level in enumerate(distinct.to_pylist())}
    indices = pa.array(np.array([place_of[level] for level in new] or [0])[codes], mask=codes < 0)
    made = pa.DictionaryArray.from_arrays(indices, distinct)
    if not pa.types.is_dictionary(old.type):
        return made.cast(kind), notes
    return pa.DictionaryArray.from_arrays(
        indices.cast(old.type.index_type), distinct, ordered=old.type.ordered
    ), notes


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


def _rare(least: int, levels: list[Any], free: list[bool], codes: Ints, units: Ints) -> set[Any]:
    """The levels to join: those of fewer units, and the next until they have as many together."""
    members: dict[Any, set[int]] = {level: set() for level, may in zip(levels, free) if may}
    pairs = np.unique(np.stack([codes, units])[:, codes >= 0], axis=1)
    for code, unit in pairs.T.tolist():
        if free[code]:
            members[levels[code]].add(unit)
    rare = {level for level, found in members.items() if len(found) < least}
    together = set[int]().union(*(members[level] for level in rare), members.get(OTHER, ()))
    for level in sorted(members, key=lambda level: (len(members[level]), str(level))):
        if rare and len(together) < least and level not in rare:
            rare.add(level)
            together |= members[level]
    return rare


def _numbered(plan: Plan, frame: Frame, key: bytes) -> pa.Array:
    """A new number for each unit, made of its columns under the key: the same key gives the same number."""
    rows = np.stack([bits_of(frame.arrow(name)) for name in plan.unit], axis=1)
    distinct, whose = np.unique(rows, axis=0, return_inverse=True)
    digests = [hmac.digest(key, row.astype("<u8").tobytes(), "sha256") for row in distinct]
    numbers = np.array([int.from_bytes(digest[:16], "big") % NUMBERS for digest in digests], np.int64)
    if len(np.unique(numbers)) < len(numbers):
        raise InputError(f"two units have one number under the key {plan.pseudonyms!r}: use another key file")
    return pa.array(numbers[whose.ravel()])
