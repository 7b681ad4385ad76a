"""What is required of groups beyond k records: what a plan asks, what no partition can hold, which fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.grouping.registry import Confidential
from shoal.kernels.search import required
from shoal.requirements.base import SLACK, Requirement
from shoal.requirements.closeness import Closeness
from shoal.requirements.contributors import Contributors
from shoal.requirements.diversity import Diversity
from shoal.requirements.dominance import Dominance
from shoal.requirements.spread import Spread
from shoal.requirements.units import Units

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.plan.rules import Rule

Tables = tuple[required.Kernels, required.Asked, Ints]

_OF_A_COLUMN: dict[str, type[Diversity | Closeness | Spread]] = {
    "diversity": Diversity,
    "closeness": Closeness,
    "spread": Spread,
}


def asked_of(
    plan: Plan,
    columns: Sequence[Column],
    weight: Floats | None,
    units: Ints | None,
    watched: Sequence[tuple[Rule, Column]] = (),
) -> list[Requirement]:
    """What the groups of these columns must hold by the plan; what holds anyway is not asked."""
    asked: list[Requirement] = [] if units is None or plan.k == 1 else [Units.of(units, plan.k)]
    rules: dict[bytes, Requirement] = {}
    for column in columns:
        if plan.thin != "widen" and not _without_gap(column):
            continue
        rule = thin_rule(plan, column, weight, units)
        if rule is not None:
            rules.setdefault(rule.codes.tobytes(), rule)
    for asks, column in watched:
        if asks.field == "dominance":
            asked.append(Dominance.of(asks, column, weight, units))
        else:
            asked.append(_OF_A_COLUMN[asks.field].of(asks, column))
    return [*asked, *rules.values()]


def confidential_of(
    requirements: Sequence[Requirement], rows: Ints | slice = slice(None)
) -> Confidential | None:
    """The column and t that a method gets which needs closeness: those of the first rule with a t."""
    coded = [r.coded(rows) for r in requirements if isinstance(r, Closeness)]
    return next((column for column in coded if column is not None), None)


def refuse_infeasible(
    requirements: Sequence[Requirement], strata: Ints | None, n: int, k: int, whole: str = "the table"
) -> None:
    """Say before the work what no partition can hold; and what only one group of all records can."""
    if not requirements:
        return
    for rows in _rows_of(strata, n):
        feasible(requirements, rows, n, whole)
    for requirement in requirements if strata is None and n >= 2 * k else ():
        least = requirement.least(k) if isinstance(requirement, Closeness) else 0.0
        if isinstance(requirement, Closeness) and least > requirement.parameters[1] + SLACK:
            near = requirement.written(least)
            do = "leave that out" if near is None else f"ask for closeness {near} or more"
            raise InputError(f"only one group of all {n} records has {requirement.asked}: {do}")


def refuse_thin(
    plan: Plan, columns: Sequence[Column], strata: Ints | None, weight: Floats | None, units: Ints | None
) -> None:
    """Say before the work which cells have too few contributors in any grouping, and cannot be gaps."""
    where = "the table" if strata is None else "a stratum"
    for column in filter(_without_gap, columns):
        rule = thin_rule(plan, column, weight, units)
        if rule is not None and not all(map(rule.holds, _rows_of(strata, len(column.values)))):
            raise InputError(
                f"column {column.name!r} has too few contributors in {where}, and no gap that could stand "
                "for them: leave it or the weight out, or ask for less (contributors=1, contributor_share=1)"
            )


def _without_gap(column: Column) -> bool:
    """Whether no gap can stand for a cell of too few: a category that has none."""
    return column.categorical and column.gaps is None


def _rows_of(strata: Ints | None, n: int) -> list[Ints]:
    """The records of each stratum."""
    if strata is None:
        return [np.arange(n)]
    return np.split(np.argsort(strata, kind="stable"), np.cumsum(np.bincount(strata))[:-1])


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


def thin_rule(plan: Plan, column: Column, weight: Floats | None, units: Ints | None) -> Requirement | None:
    """The contributors that each cell of a column needs, unless k records say it all."""
    zeros = plan.zeros == "group" and not column.categorical
    least = min(plan.contributors, plan.k)
    if plan.k == 1 or (column.gaps is None and weight is None and not zeros):
        return None
    if least == 1 and (weight is None or plan.contributor_share == 1):
        return None
    return Contributors.of(column, least, plan.contributor_share, weight, units, zeros)


def thin_cells(
    plan: Plan, column: Column, partition: Partition, weight: Floats | None, units: Ints | None
) -> Bools | None:
    """The groups with too few contributors to this column, which publish a gap.

    With thin="widen" they are those of strata that have too few as a whole.
    """
    rule = thin_rule(plan, column, weight, units)
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
