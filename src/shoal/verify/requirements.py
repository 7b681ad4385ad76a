"""What groups must hold beyond k, counted by code of its own on whole columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind
from shoal.verify.fingerprint import Fingerprints

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.plan.rules import Rule

_ROUNDING = 1e-9  # a figure may miss what is asked for by this part of it
_SHOWN = 3  # combinations that fail are told, the first few


@dataclass(frozen=True)
class Held:
    """How a requirement is held by the groups that share a published combination."""

    requirement: str
    records: int = 0
    groups: int = 0
    failing_groups: int = 0
    failing_records: int = 0
    first: tuple[str, ...] = ()  # of those that fail
    faults: tuple[str, ...] = ()  # why it could not be counted

    @property
    def passed(self) -> bool:
        return self.failing_groups == 0 and not self.faults

    def __str__(self) -> str:
        if self.faults:
            return f"no: {self.requirement}: {'; '.join(self.faults)}"
        if self.passed:
            return f"yes: each of the {self.groups} groups has {self.requirement}"
        return (
            f"no: {self.failing_groups} of {self.groups} groups ({self.failing_records} of {self.records} "
            f"records) do not have {self.requirement}, such as {'; '.join(self.first)}"
        )


def read_watched(frame: Frame, rule: Rule, plan: Plan) -> Column:
    """The column that a rule is about; text is nominal. Sums and widths need numbers."""
    (name,) = frame.find([rule.column])
    text = stored_kind(frame, name) in ("text", "other") and name not in plan.levels
    kind = plan.types.get(name, "nominal" if text else None)
    column = read_column(frame, name, kind, list(plan.levels.get(name, ())), plan.codes_of(name))
    refuse_without_numbers(rule, column)
    return column


def refuse_without_numbers(rule: Rule, column: Column) -> None:
    """Say that a rule is about sums or widths, and the column has none."""
    no_sum = column.type == "date" and (rule.field, rule.kind) != ("spread", "sd")
    if rule.field in ("dominance", "spread") and (column.categorical or no_sum):
        name = column.name
        raise InputError(f"{rule.field} needs numbers, but column {name!r} is {column.type}: leave it out")


def groups_of(columns: Sequence[Any], strata: Sequence[Any] = ()) -> Ints:
    """The group of each row, 0, 1, ..: rows that agree in these Arrow columns, within each stratum."""
    cells = [pa.array(key) if isinstance(key, np.ndarray) else key for key in [*columns, *strata]]
    return np.unique(Fingerprints().of(cells), return_inverse=True)[1].astype(np.int64)


def held_by(
    plan: Plan,
    frame: Frame,
    blocks: Sequence[Sequence[Any]],
    groups: Sequence[Ints],
    units: Ints | None = None,
    original: Frame | None = None,
    shown: Any = None,
) -> list[Held]:
    """How each block's groups hold the rules of a plan, with kept columns as this frame publishes them.

    Protected and dropped columns are the `original`'s: without it, rules on them cannot be counted. `shown`
    is an Arrow table of what records publish.
    """
    found = []
    protected = {str(name) for block in blocks for name in block}
    for rule in plan.rules:
        needs = [rule.column, *([plan.weight, *plan.unit] if rule.field == "dominance" else ())]
        known = {str(name) for name in frame.names} - protected
        lacks = [name for name in needs if name is not None and str(name) not in known]
        if original is None and lacks:
            why = f"not checkable from the file: {lacks[0]!r} is not in it as it was"
            found.append(Held(str(rule), faults=(f"{why}; give --original with the plan",)))
            continue
        column = read_watched((original if rule.column in lacks else None) or frame, rule, plan)
        weight = None
        if rule.field == "dominance" and plan.weight is not None:
            whole = original or frame
            weight = whole.numbers(*whole.find([plan.weight]))[0].astype(np.float64)
        for block, ids in zip(blocks, groups):
            if str(rule.column) in map(str, block) or str(rule.column) not in protected:
                cells = None if shown is None else shown.select(block)
                found.append(held(rule, column, ids, weight, units, cells))
    return found


def held(
    rule: Rule,
    column: Column,
    groups: Ints,
    weight: Floats | None = None,
    units: Ints | None = None,
    shown: Any = None,
) -> Held:
    """Count which of the groups 0, 1, .. hold a rule; `shown` is an Arrow table of what records publish."""
    fails, sizes = failing(rule, column, groups, weight, units), np.bincount(groups)
    first = []
    for group in np.flatnonzero(fails)[:_SHOWN]:
        row = int(np.argmax(groups == group))
        cells = [] if shown is None else [f"{n}={shown[n][row].as_py()}" for n in shown.column_names]
        first.append(f"{', '.join(cells) or f'group {group}'} ({sizes[group]} records)")
    return Held(
        *(str(rule), len(groups), len(sizes), int(fails.sum()), int(sizes[fails].sum())), tuple(first)
    )


def failing(
    rule: Rule, column: Column, groups: Ints, weight: Floats | None = None, units: Ints | None = None
) -> Bools:
    """Which of the groups 0, 1, .. fail."""
    if rule.field == "dominance":
        return _dominated(rule, column, groups, weight, units)
    if rule.field == "spread":
        return _narrow(rule, column, groups)
    gaps = np.zeros(len(groups), bool) if column.gaps is None else column.gaps
    order = np.lexsort((column.values, gaps))
    ranked, last = column.values[order], gaps[order]
    levels = np.empty(len(order), np.int64)
    levels[order] = np.cumsum(
        np.r_[False, ((ranked[1:] != ranked[:-1]) & ~last[1:]) | (last[1:] != last[:-1])]
    )
    if rule.field == "diversity":
        return _uniform(rule, levels, groups)
    return _far(rule, levels, groups, column.type in ("nominal", "boolean"))


def _counted(levels: Ints, groups: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Each level of each group: the group, the level, how many records; and their share of the group."""
    many = int(levels.max()) + 1
    pairs, counts = np.unique(groups * many + levels, return_counts=True)
    group, level = np.divmod(pairs, many)
    return group, level, counts, counts / np.bincount(groups)[group]


def _uniform(rule: Rule, levels: Ints, groups: Ints) -> Bools:
    group, _, counts, share = _counted(levels, groups)
    asked = rule.numbers[0]
    if rule.kind == "distinct":
        return np.bincount(group) < asked
    if rule.kind == "entropy":
        return np.exp(np.bincount(group, -share * np.log(share))) < asked * (1 - _ROUNDING)
    largest = np.zeros(group.max() + 1)
    np.maximum.at(largest, group, share)
    if rule.kind == "share":
        return largest > asked * (1 + _ROUNDING)
    order = np.lexsort((-counts, group))
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.bincount(group))
    rare = order[place >= rule.numbers[1] - 1]
    rest = np.bincount(group[rare], share[rare], len(largest))
    return largest * (1 + _ROUNDING) >= asked * rest


def _far(rule: Rule, levels: Ints, groups: Ints, unordered: bool) -> Bools:
    group, level, _, share = _counted(levels, groups)
    table, asked = np.bincount(levels) / len(levels), rule.numbers[0]
    if rule.kind == "t" and unordered:
        return np.bincount(group, np.maximum(share - table[level], 0)) > asked + _ROUNDING
    if rule.kind == "t":
        return _moved(levels, groups, table) > asked + _ROUNDING
    ratio = share / table[level]
    if rule.kind == "delta":
        over = np.abs(np.log(ratio)) > asked * (1 + _ROUNDING)
    else:
        allowed = np.minimum(asked, -np.log(table[level])) if rule.kind == "enhanced_beta" else asked
        over = ratio > (1 + allowed) * (1 + _ROUNDING)
    return np.bincount(group, over) > 0


def _moved(levels: Ints, groups: Ints, table: Floats) -> Floats:
    """Earth mover's distance: the mean distance of each quantile of a group to the same one of the table.

    `area` is the integral of the table's quantiles up to each of its steps, between which it is a line.
    """
    steps = np.r_[0.0, np.cumsum(table)]
    area = np.r_[0.0, np.cumsum(table * np.arange(len(table)))]
    order, sizes = np.lexsort((levels, groups)), np.bincount(groups)
    rank, size = levels[order], np.repeat(sizes, sizes)
    begin = (np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)) / size
    end = begin + 1 / size
    turn = np.clip(steps[rank + 1], begin, end)  # up to there the table's quantile is not above this value
    left, middle, right = (np.interp(u, steps, area) for u in (begin, turn, end))
    distance = rank * (2 * turn - begin - end) - 2 * middle + left + right
    return np.bincount(groups[order], distance) / max(len(table) - 1, 1)


def _dominated(rule: Rule, column: Column, groups: Ints, weight: Floats | None, units: Ints | None) -> Bools:
    n = len(groups)
    value = np.abs(column.values.astype(np.float64)) * (1 if column.gaps is None else ~column.gaps)
    value = value / (value.max() or 1.0)
    stands_for = np.ones(n) if weight is None else np.maximum(weight, 1)
    units = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1]
    least = np.full(int(units.max()) + 1, np.inf)
    np.minimum.at(least, units, stands_for)
    pairs, which = np.unique(groups * len(least) + units, return_inverse=True)
    group, unit = np.divmod(pairs, len(least))
    copies = least[unit]
    size = np.bincount(which, value * stands_for) / copies
    order = np.lexsort((-size, group))
    group, size, copies = group[order], size[order], copies[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    upto = np.cumsum(copies)
    before = upto - copies - np.repeat((upto - copies)[begins], np.bincount(group))
    most = rule.numbers[0] if rule.kind == "largest" else 2
    taken = np.clip(most - before, 0, copies)
    total, top = np.bincount(group, size * copies), np.bincount(group, size * taken)
    if rule.kind == "largest":
        return top > (rule.numbers[1] / 100 + _ROUNDING) * total
    ratio = rule.numbers[0] / (rule.numbers[1] if rule.kind == "pq" else 100)
    return np.bincount(group, size * (copies - taken)) < (ratio - _ROUNDING) * size[begins]


def _narrow(rule: Rule, column: Column, groups: Ints) -> Bools:
    there = np.ones(len(groups), bool) if column.gaps is None else ~column.gaps
    value, group, many = column.values[there].astype(np.float64), groups[there], int(groups.max()) + 1
    value = value / (np.abs(value).max(initial=0.0) or 1.0)
    low, high = np.full(many, np.inf), np.full(many, -np.inf)
    np.minimum.at(low, group, value)
    np.maximum.at(high, group, value)
    if rule.kind == "rel":
        unit = np.abs(np.bincount(group, value, many)) / np.maximum(np.bincount(group, minlength=many), 1)
    else:
        unit = np.full(many, value.std() if len(value) else 0.0)
    return (high <= low) | (high - low < rule.numbers[0] * unit * (1 - _ROUNDING))
