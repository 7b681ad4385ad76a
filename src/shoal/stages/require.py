"""What is required of groups beyond k records: what a plan asks, what no partition can hold, which fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition, rows_of
from shoal.grouping.registry import Confidential
from shoal.kernels.search import required
from shoal.requirements.base import SLACK, Requirement
from shoal.requirements.closeness import Closeness
from shoal.requirements.contributors import Contributors
from shoal.requirements.diversity import Diversity
from shoal.requirements.dominance import Dominance
from shoal.requirements.spread import Spread
from shoal.requirements.units import Units
from shoal.stages.encode import Drawn, Levels
from shoal.stages.moments import Scale

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.plan.rules import Rule

Tables = tuple[required.Kernels, required.Asked, Ints]

_OF_A_COLUMN: dict[str, type[Diversity | Closeness | Spread]] = {
    "diversity": Diversity,
    "closeness": Closeness,
    "spread": Spread,
}


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that are grouped together; the stratum, weight and unit of each record, where there are any.

    With units, each group has records of at least k of them. It holds the rules on columns that are
    `watched`. `scales` are those of the whole table, where the records are a block of it.
    """

    columns: Sequence[Column]
    strata: Ints | None = None
    weight: Floats | None = None
    units: Ints | None = None
    watched: Sequence[tuple[Rule, Column]] = ()
    scales: Sequence[Scale | Levels | Drawn] | None = None

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def rows(self) -> list[Ints]:
        """The records of each stratum."""
        return [np.arange(len(self))] if self.strata is None else rows_of(self.strata)


def asked_of(plan: Plan, part: Part) -> list[Requirement]:
    """What the groups of these columns must hold by the plan; what holds anyway is not asked."""
    asked: list[Requirement] = []
    if part.units is not None and plan.k > 1:
        asked.append(Units.of(part.units, plan.k))
    rules: dict[bytes, Requirement] = {}
    for column in part.columns:
        if plan.thin != "widen" and not _without_gap(column):
            continue
        rule = thin_rule(plan, column, part)
        if rule is not None:
            rules.setdefault(rule.codes.tobytes(), rule)
    for asks, column in part.watched:
        if asks.field == "dominance":
            asked.append(Dominance.of(asks, column, part.weight, part.units))
        else:
            asked.append(_OF_A_COLUMN[asks.field].of(asks, column))
    return [*asked, *rules.values()]


def confidential_of(
    requirements: Sequence[Requirement], rows: Ints | slice = slice(None)
) -> Confidential | None:
    """The column and t that a method gets which needs closeness: those of the first rule with a t."""
    coded = [r.coded(rows) for r in requirements if isinstance(r, Closeness)]
    return next((column for column in coded if column is not None), None)


def refuse_infeasible(requirements: Sequence[Requirement], part: Part, k: int) -> None:
    """Say before the work what no partition can hold; and what only one group of all records can."""
    if not requirements:
        return
    n, whole = len(part), "the table" if part.scales is None else "a block"
    for rows in part.rows():
        feasible(requirements, rows, n, whole)
    for requirement in requirements if part.strata is None and n >= 2 * k else ():
        least = requirement.least(k) if isinstance(requirement, Closeness) else 0.0
        if isinstance(requirement, Closeness) and least > requirement.parameters[1] + SLACK:
            near = requirement.written(least)
            do = "leave that out" if near is None else f"ask for closeness {near} or more"
            raise InputError(f"only one group of all {n} records has {requirement.asked}: {do}")


def refuse_thin(plan: Plan, part: Part) -> None:
    """Say before the work which cells have too few contributors in any grouping, and cannot be gaps."""
    where = "the table" if part.strata is None else "a stratum"
    for column in filter(_without_gap, part.columns):
        rule = thin_rule(plan, column, part)
        if rule is not None and not all(map(rule.holds, part.rows())):
            raise InputError(
                f"column {column.name!r} has too few contributors in {where}, and no gap that could stand "
                "for them: leave it or the weight out, or ask for less (contributors=1, contributor_share=1)"
            )


def _without_gap(column: Column) -> bool:
    """Whether no gap can stand for a cell of too few: a category that has none."""
    return column.categorical and column.gaps is None


def feasible(
    requirements: Sequence[Requirement], rows: Ints, n: int, whole: str = "the table"
) -> list[Requirement]:
    """The requirements that records hold as a whole; what can never be held is refused."""
    held = [requirement for requirement in requirements if requirement.holds(rows)]
    for requirement in requirements:
        if requirement not in held and not requirement.of_cells:
            whole = whole if len(rows) == n else "a stratum"
            raise InputError(f"{whole} of {len(rows)} records {requirement.fault(rows)}")
    return held


def thin_rule(plan: Plan, column: Column, part: Part) -> Requirement | None:
    """The contributors that each cell of a column needs, unless k records say it all."""
    zeros = plan.zeros == "group" and not column.categorical
    least = min(plan.contributors, plan.k)
    if plan.k == 1 or (column.gaps is None and part.weight is None and not zeros):
        return None
    if least == 1 and (part.weight is None or plan.contributor_share == 1):
        return None
    return Contributors.of(column, least, plan.contributor_share, part.weight, part.units, zeros)


def thin_cells(plan: Plan, column: Column, partition: Partition, part: Part) -> Bools | None:
    """The groups with too few contributors to this column, which publish a gap.

    With thin="widen" they are those of strata that have too few as a whole.
    """
    rule = thin_rule(plan, column, part)
    thin = None if rule is None else failing(partition, [rule])
    return thin if thin is not None and thin.any() else None


def failing(partition: Partition, requirements: Sequence[Requirement]) -> Bools:
    """Which groups do not hold all requirements."""
    fails = [failing_in(partition, tables_of([requirement])) for requirement in requirements]
    return np.logical_or.reduce(fails) if fails else np.zeros(len(partition), bool)


def failing_in(partition: Partition, tables: Tables) -> Bools:
    fails = np.empty(len(partition), np.bool_)
    starts = np.concatenate([[0], np.cumsum(partition.sizes)])
    required.failing(*tables, np.argsort(partition.labels, kind="stable"), starts, fails)
    return fails


def tables_of(requirements: Sequence[Requirement], rows: Ints | slice = slice(None)) -> Tables:
    """The requirements as kernels take them, for some of the records; and room for the members of a group."""
    kinds = list(dict.fromkeys(type(requirement) for requirement in requirements))
    wide = max(len(requirement.parameters) for requirement in requirements)
    codes = np.stack([requirement.codes[rows] for requirement in requirements])
    values = np.stack([requirement.values[rows] for requirement in requirements])
    same = np.zeros(codes.shape[1], np.int64)
    for row in (*codes, *values):
        levels = np.unique(row, return_inverse=True)[1]
        same = np.unique(same * (1 + len(same)) + levels, return_inverse=True)[1]
    asked = required.Asked(
        np.array([kinds.index(type(requirement)) for requirement in requirements]),
        *(codes, values),
        np.stack([np.pad(r.parameters, (0, wide - len(r.parameters))) for r in requirements]),
        np.append(same, same.max() + 1),
    )
    room = np.empty(codes.shape[1] + 1, np.int64)
    return required.compiled([kind.kernel for kind in kinds]), asked, room
