"""Whether a release shows what the plan's steps make of the original: tails, levels, rounding, new numbers.

It is written apart from `shoal.stages`, in the obvious way, and looks at two tables whose rows agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from shoal.arrays import Floats
from shoal.verify.compare import numbers

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
        texts = pa.array([None if cell is None else _word(cell) for cell in original[name].to_pylist()])
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


def step_faults(original: pa.Table, release: pa.Table, plan: Plan, protected: Sequence[str]) -> list[str]:
    """One sentence for each column that is not what the plan's steps make of the original's rows."""
    faults, after = [], recoded(original, plan)
    rules, kept = _rules(plan, original), stepped(plan, protected)
    for name in rules:
        if name in protected and not _all_rounded(_doubles(release[name], plan, name), rules[name]):
            faults.append(f"column {name!r} has values that are not rounded as the plan says")
    for name in kept:
        if plan.pseudonyms is not None and name == str(plan.unit[0]):
            owners = list(zip(*(original[str(unit)].to_pylist() for unit in plan.unit)))
            if not _one_to_one(owners, release[name].to_pylist()):
                faults.append(f"the new numbers in {name!r} are not one for each unit")
        elif name not in set(map(str, plan.regroup)):
            expected, found = (_doubles(table[name], plan, name) for table in (after, release))
            expected = _rounded(expected, rules[name]) if name in rules else expected
            wrong = ~np.isclose(expected, found, rtol=NEAR, atol=0, equal_nan=True)
            if wrong.any():
                faults.append(
                    f"column {name!r} is not what its steps make of row {int(np.argmax(wrong)) + 1}"
                )
    for name, joined in plan.regroup.items():
        new = _levels(original, plan, str(name), joined)
        shown = ["" if cell is None else _word(cell) for cell in release[str(name)].to_pylist()]
        told = ["" if cell is None else new[_word(cell)] for cell in original[str(name)].to_pylist()]
        if set(shown) - set(told) or (str(name) in kept and shown != told):
            faults.append(f"column {name!r} has levels that should have been joined")
    return faults


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
    rows = range(len(values))
    columns = [original[str(unit)].to_pylist() for unit in plan.unit]
    owners = list(zip(*columns)) if plan.unit else list(rows)
    weights = np.ones(len(values))
    if plan.weight is not None:
        weights = _doubles(original[str(plan.weight)], plan, str(plan.weight))
    new = values.copy()
    for given, sign in ((plan.bottom, -1), (plan.top, 1)):
        limits = {str(n): limit for n, limit in given.items()}
        if name not in limits:
            continue
        limit = _threshold(values[~np.isnan(values)], limits[name], str(original[name].type))
        tail = [row for row in rows if sign * (values[row] - limit) > 0]
        held: dict[Any, float] = defaultdict(float)
        for row in tail:
            held[owners[row]] += weights[row] * abs(values[row] - limit)
        enough = len(held) >= plan.k and max(held.values(), default=0) <= DOMINANT * sum(held.values())
        if enough:
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
        share, ordered = Fraction(word[1:]), sorted(present.tolist())
        return float(next(v for place, v in enumerate(ordered, 1) if place >= share * len(ordered)))
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
    most = 0
    for value in set(values[~np.isnan(values)].tolist()):
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        most = max(most, -int(exponent))
    return most if most <= 15 else None


def _step(rule: int | str) -> Fraction | int:
    """What values are multiples of, or to how many digits they are given."""
    kind, _, number = str(rule).rpartition(":")
    if kind == "sig":
        return int(number)
    return Fraction(number) if kind == "base" else Fraction(1, 10 ** int(number))


def _rounded(values: Floats, rule: int | str) -> Floats:
    return np.array([value if np.isnan(value) else _nearest(value, _step(rule)) for value in values.tolist()])


def _nearest(value: float, step: Fraction | int) -> float:
    """The nearest multiple, by whole numbers; of two the one farther from zero."""
    exact = Fraction(value)
    if isinstance(step, int):
        return float(f"{value:.{step - 1}e}")
    count = (2 * abs(exact) / step + 1) // 2
    return float(count * step) * (1 if value >= 0 else -1)


def _all_rounded(values: Floats, rule: int | str) -> bool:
    distinct = np.unique(values[~np.isnan(values)])
    return bool(np.isclose(distinct, _rounded(distinct, rule), rtol=NEAR, atol=0).all())


def _word(cell: Any) -> str:
    """A level as a word; a number without needless digits."""
    try:
        return format(Decimal(str(cell)).normalize(), "f")
    except InvalidOperation:
        return str(cell)


def _levels(original: pa.Table, plan: Plan, name: str, joined: Mapping[Any, Any]) -> dict[str, str]:
    """What each level of a column became."""
    cells = [None if cell is None else _word(cell) for cell in original[name].to_pylist()]
    new = {cell: cell for cell in cells if cell is not None}
    for title, members in joined.items():
        if title != "rare":
            new |= {_word(member): _word(title) for member in members}
    if "rare" in joined:
        columns = [original[str(unit)].to_pylist() for unit in plan.unit]
        owners: dict[str, set[Any]] = defaultdict(set)
        codes = {_word(code) for code in _codes(plan, name)}
        for row, cell in enumerate(cells):
            if cell is not None and cell not in codes:
                owners[new[cell]].add(tuple(column[row] for column in columns) if columns else row)
        rare = {level for level in owners if len(owners[level]) < joined["rare"]}
        together = set[Any]().union(*(owners[level] for level in rare | ({"other"} & set(owners))))
        for level in sorted(owners, key=lambda level: (len(owners[level]), level)):
            if rare and len(together) < joined["rare"] and level not in rare:
                rare.add(level)
                together |= owners[level]
        new = {old: "other" if level in rare else level for old, level in new.items()}
    return new


def _one_to_one(owners: Sequence[Any], found: Sequence[Any]) -> bool:
    pairs = set(zip(owners, found))
    return len(pairs) == len(set(owners)) == len(set(found)) and all(
        isinstance(n, (int, float)) for n in found
    )
