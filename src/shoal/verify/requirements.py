"""What groups must hold beyond k, counted by code of its own on whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    asked: float = np.nan
    reached: float = np.nan  # the figure of the group that is nearest to failing
    at_least: bool = False  # whether figures may not be below what is asked for; else not above
    first: tuple[str, ...] = ()  # of those that fail
    faults: tuple[str, ...] = ()  # why it could not be counted

    @property
    def passed(self) -> bool:
        return self.failing_groups == 0 and not self.faults

    def __add__(self, other: Held) -> Held:
        """The same of the groups of both, for example of two blocks."""
        return replace(
            self,
            records=self.records + other.records,
            groups=self.groups + other.groups,
            failing_groups=self.failing_groups + other.failing_groups,
            failing_records=self.failing_records + other.failing_records,
            reached=(min if self.at_least else max)(self.reached, other.reached),
        )

    def facts(self) -> dict[str, Any]:
        """What is asked and reached, in plain values; None for a figure without limit."""
        reached = self.reached if np.isfinite(self.reached) else None
        worst = "no limit" if reached is None else f"{reached:.4g}"
        fail = f"{self.failing_groups} of {self.groups:,} groups fail"
        return {
            "requirement": self.requirement,
            "asked": self.asked,
            "reached": reached,
            "groups": self.groups,
            "failing_groups": self.failing_groups,
            "said": f"{self.requirement}: asked {self.asked:g}, reached {worst}, {fail}",
        }

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


def groups_of(columns: Iterable[Any], strata: Sequence[Any] = ()) -> Ints:
    """The group of each row, 0, 1, ..: rows that agree in these Arrow columns, within each stratum."""
    rows = Fingerprints().of(
        chain(columns, strata)
    )  # and then, in their place, the groups: a large table has many
    order, new = np.argsort(rows), np.zeros(len(rows), bool)
    rows = rows[order]
    new[1:] = rows[1:] != rows[:-1]
    rows[order] = np.cumsum(new)
    return rows.view(np.int64)


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
    (figures, fails), sizes = figures_of(rule, column, groups, weight, units), np.bincount(groups)
    first = []
    for group in np.flatnonzero(fails)[:_SHOWN]:
        row = int(np.argmax(groups == group))
        cells = [] if shown is None else [f"{n}={shown[n][row].as_py()}" for n in shown.column_names]
        first.append(f"{', '.join(cells) or f'group {group}'} ({sizes[group]} records)")
    return Held(
        *(str(rule), len(groups), len(sizes), int(fails.sum()), int(sizes[fails].sum())),
        *(rule.limit, float(figures.min() if rule.at_least else figures.max()), rule.at_least),
        first=tuple(first),
    )


def contributed(
    asked: int,
    columns: Sequence[Column],
    released: Mapping[Any, Column],
    groups: Ints,
    weight: Floats | None,
    units: Ints | None,
    zeros: bool,
) -> Held:
    """How many contributors the published cells of the groups 0, 1, .. have: who has a value, and weight.

    Where all weigh nothing, each with a value counts. With `zeros` apart, a zero is no value.
    """
    n, fewest, failing = len(groups), np.inf, np.zeros(int(groups.max()) + 1, bool)
    who = np.arange(n) if units is None else units
    for column in columns:
        there = column.there
        if zeros and not column.categorical:
            there &= column.values != 0
        there &= released[column.name].there
        if weight is not None:
            heavy = there & (weight > 0)
            there &= heavy | (np.bincount(groups, heavy) == 0)[groups]
        pairs = np.unique(np.stack([groups[there], who[there]]), axis=1)[0]
        counts = np.bincount(pairs, minlength=len(failing))
        failing |= (counts > 0) & (counts < asked)
        fewest = np.where(counts > 0, counts, fewest).min()
    sizes, whose = np.bincount(groups), f"at least {asked} contributors to each published cell"
    fails = int(failing.sum()), int(sizes[failing].sum())
    return Held(whose, n, len(sizes), *fails, asked, float(fewest), True)


def figures_of(
    rule: Rule, column: Column, groups: Ints, weight: Floats | None = None, units: Ints | None = None
) -> tuple[Floats, Bools]:
    """The figure of each of the groups 0, 1, .. that a rule sets a limit to, and which of them fail."""
    if rule.field == "dominance":
        return _dominated(rule, column, groups, weight, units)
    if rule.field == "spread":
        return _narrow(rule, column, groups)
    gaps = np.zeros(len(groups), bool) if column.gaps is None else column.gaps
    order = np.lexsort((column.values, gaps))
    ranked, last = column.values[order], gaps[order]
    levels = np.empty(len(order), np.int64)
    new = ((ranked[1:] != ranked[:-1]) & ~last[1:]) | (last[1:] != last[:-1])
    levels[order] = np.cumsum(np.r_[False, new])
    if rule.field == "diversity":
        return _uniform(rule, levels, groups)
    table = np.bincount(levels)
    if column.whole is not None:  # a block: its levels are those of the whole table, and gaps come last
        levels = np.where(gaps, len(column.whole.values), np.digitize(column.values, column.whole.values) - 1)
        table = column.whole.counts
    return _far(rule, levels, groups, table / table.sum(), column.type in ("nominal", "boolean"))


def _counted(levels: Ints, groups: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Each level of each group: the group, the level, how many records; and their share of the group."""
    many = int(levels.max()) + 1
    pairs, counts = np.unique(groups * many + levels, return_counts=True)
    group, level = np.divmod(pairs, many)
    return group, level, counts, counts / np.bincount(groups)[group]


def _uniform(rule: Rule, levels: Ints, groups: Ints) -> tuple[Floats, Bools]:
    group, _, counts, share = _counted(levels, groups)
    asked = rule.numbers[0]
    if rule.kind == "distinct":
        many = np.bincount(group).astype(np.float64)
        return many, many < asked
    if rule.kind == "entropy":
        even = np.exp(np.bincount(group, -share * np.log(share)))
        return even, even < asked * (1 - _ROUNDING)
    largest = np.zeros(group.max() + 1)
    np.maximum.at(largest, group, share)
    if rule.kind == "share":
        return largest, largest > asked * (1 + _ROUNDING)
    order = np.lexsort((-counts, group))
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.bincount(group))
    rare = order[place >= rule.numbers[1] - 1]
    rest = np.bincount(group[rare], share[rare], len(largest))
    return _ratio(largest, rest), largest * (1 + _ROUNDING) >= asked * rest


def _ratio(part: NDArray, whole: NDArray) -> Floats:
    """One by the other; inf where the other is 0."""
    return np.divide(part, whole, out=np.full(len(part), np.inf), where=whole > 0)


def _far(rule: Rule, levels: Ints, groups: Ints, table: Floats, unordered: bool) -> tuple[Floats, Bools]:
    (group, level, _, share), asked = _counted(levels, groups), rule.numbers[0]
    table = table[: np.flatnonzero(table)[-1] + 1]
    if rule.kind == "t":
        over: NDArray = np.bincount(group, np.maximum(share - table[level], 0))
        far = over if unordered else _moved(levels, groups, table)
        return far, far > asked + _ROUNDING
    ratio = share / table[level]
    if rule.kind == "delta":
        figure = np.abs(np.log(ratio))
        fails = figure > asked * (1 + _ROUNDING)
    else:
        allowed = np.minimum(asked, -np.log(table[level])) if rule.kind == "enhanced_beta" else asked
        figure, fails = ratio - 1, ratio > (1 + allowed) * (1 + _ROUNDING)
    most = np.full(group.max() + 1, -np.inf)
    np.maximum.at(most, group, figure)
    return most, np.bincount(group, fails) > 0


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


def _dominated(
    rule: Rule, column: Column, groups: Ints, weight: Floats | None, units: Ints | None
) -> tuple[Floats, Bools]:
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
        share = np.where(total > 0, 100 * top / np.where(total > 0, total, 1), 0)
        return share, top > (rule.numbers[1] / 100 + _ROUNDING) * total
    whole = rule.numbers[1] if rule.kind == "pq" else 100.0
    left, largest = np.bincount(group, size * (copies - taken)), size[begins]
    return whole * _ratio(left, largest), left < (rule.numbers[0] / whole - _ROUNDING) * largest


def _narrow(rule: Rule, column: Column, groups: Ints) -> tuple[Floats, Bools]:
    there = column.there
    value, group, many = column.values[there].astype(np.float64), groups[there], int(groups.max()) + 1
    scale = np.abs(value).max(initial=0.0) or 1.0
    value = value / scale
    low, high = np.full(many, np.inf), np.full(many, -np.inf)
    np.minimum.at(low, group, value)
    np.maximum.at(high, group, value)
    if rule.kind == "rel":
        unit = np.abs(np.bincount(group, value, many)) / np.maximum(np.bincount(group, minlength=many), 1)
    else:
        own = value.std() if len(value) else 0.0
        unit = np.full(many, own if column.whole is None else column.whole.deviation / scale)
    width = np.maximum(high - low, 0)
    narrow = (high <= low) | (width < rule.numbers[0] * unit * (1 - _ROUNDING))
    return np.where(width > 0, _ratio(width, unit), 0), narrow
