"""Whether a release shows what the plan's steps make of the original: tails, levels, rounding, new numbers.

It is written apart from `shoal.stages`, in the obvious way, and looks at two tables whose rows agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from shoal.arrays import Floats, Ints
from shoal.verify.compare import numbers
from shoal.verify.requirements import groups_of

if TYPE_CHECKING:
    from shoal.plan import Plan

#: The mean of a tail is published if no unit holds more than this share of what lies beyond the threshold.
DOMINANT = 0.5
#: How far numbers may lie apart that were computed in two ways.
NEAR = 1e-9


def stepped(plan: Plan, protected: Sequence[str] = ()) -> list[str]:
    """The columns that the plan's steps change, beside the protected."""
    return [str(name) for name in plan.stepped if str(name) not in set(protected)]


def recoded(original: pa.Table, plan: Plan) -> pa.Table:
    """The original's Arrow table with tails as the plan publishes them; joined levels are texts."""
    for name in map(str, plan.regroup):
        words, places = _words(original[name])
        texts = pa.array(words, pa.string()).take(pa.array(places, mask=places < 0))
        original = original.set_column(original.column_names.index(name), name, texts)
    for name in dict.fromkeys(map(str, [*plan.top, *plan.bottom])):
        values = _capped(original, plan, name)
        place = original.column_names.index(name)
        original = original.set_column(place, name, pa.array(values, mask=np.isnan(values)))
    return original


def slack(plan: Plan, original: pa.Table) -> dict[str, tuple[float, float]]:
    """How far rounding may move a value, at the most: by so much, and by this share of itself."""
    found = {}
    for name, rule in _rules(plan, original).items():
        step = _step(rule)
        found[name] = (0.0, 0.5 * 10.0 ** (1 - step)) if isinstance(step, int) else (float(step) / 2, 0.0)
    return found


def step_faults(
    original: pa.Table, release: pa.Table, plan: Plan, protected: Sequence[str], near: float = NEAR
) -> list[str]:
    """One sentence for each column that is not what the plan's steps make of the original's rows.

    `near` is how far published numbers may lie from what is expected, as a share of themselves.
    """
    faults, after = [], recoded(original, plan)
    rules, kept = _rules(plan, original), stepped(plan, protected)
    for name in (name for name in rules if name in protected):
        distinct = np.unique(_doubles(release[name], plan, name))
        distinct = distinct[~np.isnan(distinct)]
        if not np.isclose(distinct, _rounded(distinct, rules[name]), rtol=near, atol=0).all():
            faults.append(f"column {name!r} has values that are not rounded as the plan says")
    for name in kept:
        if plan.pseudonyms is not None and name == str(plan.unit[0]):
            if not _one_to_one(_owners(original, plan), release[name]):
                faults.append(f"the new numbers in {name!r} are not one for each unit")
        elif name not in set(map(str, plan.regroup)):
            expected, found = (_doubles(table[name], plan, name) for table in (after, release))
            expected = _rounded(expected, rules[name]) if name in rules else expected
            wrong = ~np.isclose(expected, found, rtol=near, atol=0, equal_nan=True)
            if wrong.any():
                faults.append(
                    f"column {name!r} is not what its steps make of row {int(np.argmax(wrong)) + 1}"
                )
    for name, joined in plan.regroup.items():
        (old, rows), (shown, places) = _words(original[str(name)]), _words(release[str(name)])
        new = _levels(original, plan, str(name), joined)
        told = np.array([*(new[word] for word in old), None], object)
        if {shown[p] for p in np.unique(places[places >= 0])} - {
            told[r] for r in np.unique(rows[rows >= 0])
        } or (str(name) in kept and (np.array([*shown, None], object)[places] != told[rows]).any()):
            faults.append(f"column {name!r} has levels that should have been joined")
    return faults


def _owners(table: pa.Table, plan: Plan) -> Ints:
    """Whose record each is: a number for each unit."""
    return groups_of([table[str(unit)] for unit in plan.unit]) if plan.unit else np.arange(len(table))


def _words(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The levels of a column as words, and the place of each cell's among them; -1 for a gap."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    listed = column if types.is_dictionary(column.type) else column.dictionary_encode()
    places = listed.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return [_word(level) for level in listed.dictionary.to_pylist()], places


def _codes(plan: Plan, name: str) -> Sequence[Any]:
    codes = plan.missing_codes
    return {str(n): c for n, c in codes.items()}.get(name, ()) if isinstance(codes, Mapping) else codes


def _doubles(column: pa.ChunkedArray, plan: Plan, name: str) -> Floats:
    """Numbers and dates as doubles; gaps, and the codes for them, as NaN."""
    if {str(n): kind for n, kind in plan.types.items()}.get(name) == "date" and "string" in str(column.type):
        column = column.cast(pa.date32())
    found = numbers(column, True)
    values: Floats = found.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # type: ignore[union-attr]
    values = np.array(values, np.float64)
    for code in _codes(plan, name):
        try:
            values[values == float(Decimal(str(code)))] = np.nan
        except InvalidOperation:
            continue
    return values


def _capped(original: pa.Table, plan: Plan, name: str) -> Floats:
    """The column with its tails at their mean, or at their threshold."""
    values = _doubles(original[name], plan, name)
    owners, weights = _owners(original, plan), np.ones(len(values))
    if plan.weight is not None:
        weights = _doubles(original[str(plan.weight)], plan, str(plan.weight))
    new = values.copy()
    for given, sign in ((plan.bottom, -1), (plan.top, 1)):
        limits = {str(n): limit for n, limit in given.items()}
        if name not in limits:
            continue
        limit = _threshold(values[~np.isnan(values)], limits[name], str(original[name].type))
        tail = np.flatnonzero(sign * (values - limit) > 0)  # gaps are not beyond anything
        _, unit_of = np.unique(owners[tail], return_inverse=True)
        held = np.bincount(unit_of, weights[tail] * np.abs(values[tail] - limit))
        if len(held) >= plan.k and held.max(initial=0) <= DOMINANT * held.sum():
            middle = np.average(values[tail] - limit, weights=weights[tail]) + limit
            unit = _unit(original[name].type)
            new[tail] = np.copysign(np.floor(abs(middle) / unit + 0.5) * unit, middle) if unit else middle
        else:
            new[tail] = limit
    return new


def _unit(stored: pa.DataType) -> float:
    """What values of a type are multiples of; 0 if it holds any. Dates and times count microseconds."""
    if types.is_floating(stored):
        return 0.0
    if types.is_timestamp(stored):
        return {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1.0}[stored.unit]
    if types.is_decimal(stored):
        return float(10.0**-stored.scale)
    return 1.0 if types.is_integer(stored) else 86_400e6


def _threshold(present: Floats, given: Any, stored: str) -> float:
    word = str(given)
    if word.startswith("q"):
        ordered = np.sort(present)
        return float(ordered[max(ceil(Fraction(word[1:]) * len(ordered)) - 1, 0)])
    if "date" in stored or "timestamp" in stored or "string" in stored:
        return float(np.datetime64(word, "us").astype(np.int64))
    return float(word)


def _rules(plan: Plan, original: pa.Table) -> dict[str, int | str]:
    """How each column is rounded; where decimals are asked for, to as many as the original shows."""
    rules: dict[str, int | str | None] = {}
    if plan.decimals:
        for name in map(str, plan.columns or original.column_names):
            if "double" in str(original[name].type) or "float" in str(original[name].type):
                rules[name] = _shown(_doubles(original[name], plan, name))
    rules |= {str(name): rule for name, rule in plan.round.items()}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _shown(values: Floats) -> int | None:
    """The most decimals that a value shows when it is written; None for more than fifteen."""
    texts = pa.array(np.unique(values[~np.isnan(values)])).cast(pa.string())
    parts = pc.extract_regex(texts, r"^-?\d+(?:\.(?P<after>\d+))?(?:e(?P<power>[+-]?\d+))?$")
    digits = pc.utf8_length(pc.struct_field(parts, "after"))
    power = pc.struct_field(parts, "power")
    power = pc.if_else(pc.equal(power, ""), "0", pc.utf8_ltrim(power, "+")).cast(pa.int64())
    most = max(pc.max(pc.subtract(digits, power)).as_py() or 0, 0)
    return most if most <= 15 else None


def _step(rule: int | str) -> Fraction | int:
    """What values are multiples of, or to how many digits they are given."""
    kind, _, number = str(rule).rpartition(":")
    if kind == "sig":
        return int(number)
    return Fraction(number) if kind == "base" else Fraction(1, 10 ** int(number))


def _rounded(values: Floats, rule: int | str) -> Floats:
    """The nearest values that the rule allows; of two the one farther from zero."""
    distinct, places = np.unique(values, return_inverse=True)
    step = _step(rule)
    if isinstance(step, int):
        return np.array([float(f"{value:.{step - 1}e}") for value in distinct.tolist()])[places]
    steps = np.abs(distinct) * step.denominator / step.numerator
    count = np.floor(steps + 0.5)
    new = np.copysign(count * step.numerator / step.denominator, distinct) + 0.0
    near = np.abs(steps - np.floor(steps) - 0.5) < 1e-6  # halves, which are decided by whole numbers
    for place in np.flatnonzero(near | (count * step.numerator >= 2**52)):
        exact = (2 * abs(Fraction(distinct[place])) / step + 1) // 2
        new[place] = float(exact * step) * (1 if distinct[place] >= 0 else -1)
    return new[places]


def _word(cell: Any) -> str:
    """A level as a word; a number without needless digits."""
    try:
        return format(Decimal(str(cell)).normalize(), "f")
    except InvalidOperation:
        return str(cell)


def _levels(original: pa.Table, plan: Plan, name: str, joined: Mapping[Any, Any]) -> dict[str, str]:
    """What each level of a column became."""
    words, places = _words(original[name])
    new = {word: word for word in words}
    for title, members in joined.items():
        if title != "rare":
            new |= {_word(member): _word(title) for member in members}
    if "rare" not in joined:
        return new
    codes, least = {_word(code) for code in _codes(plan, name)}, joined["rare"]
    titles = list(dict.fromkeys(new[word] for word in words if word not in codes))
    title_of = np.array([titles.index(new[word]) if word not in codes else -1 for word in words] + [-1])
    counted = np.stack([title_of[places], _owners(original, plan)])[:, title_of[places] >= 0]
    counted = np.unique(counted, axis=1)
    owners = {title: set(counted[1, counted[0] == place].tolist()) for place, title in enumerate(titles)}
    rare = {level for level in owners if len(owners[level]) < least}
    together = set[int]().union(*(owners[level] for level in rare | ({"other"} & set(owners))))
    for level in sorted(owners, key=lambda level: (len(owners[level]), level)):
        if rare and len(together) < least and level not in rare:
            rare.add(level)
            together |= owners[level]
    return {old: "other" if level in rare else level for old, level in new.items()}


def _one_to_one(owners: Ints, found: pa.ChunkedArray) -> bool:
    if found.null_count or not (types.is_integer(found.type) or types.is_floating(found.type)):
        return False
    numbered = groups_of([found])
    pairs = np.unique(np.stack([owners, numbered]), axis=1).shape[1]
    return bool(pairs == owners.max() + 1 == numbered.max() + 1)
