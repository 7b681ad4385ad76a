"""Columns that are grouped together, through every stage: grouped, published, measured, counted.

Every engine calls `protect_part`: on the whole table, or on one block of it after another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.plan import Plan
from shoal.stages.group import group
from shoal.stages.loss import Loss, from_table_centre, loss_space, measure
from shoal.stages.publish import GroupValues, publish
from shoal.stages.require import Part, thin_cells, thin_rule
from shoal.stages.round import rounded_groups
from shoal.verify.groups import check_groups
from shoal.verify.requirements import Held, contributed

#: What is counted while a release is made.
COUNTS = ("filled", "moved", "thinned", "zeros_lost")


@dataclass(frozen=True, eq=False)
class Published:
    """What became of columns that were grouped together.

    `groups` has what each group publishes in each column, `cells` the same by record.
    """

    partition: Partition
    groups: list[GroupValues]
    cells: dict[Any, Column]
    loss: Loss
    method: str
    moved: int = 0  # records that changed their group so that totals can be kept
    filled: int = 0  # gaps that were filled with their group's value
    thinned: int = 0  # values that became gaps, for too few contribute to their group's (thin="gap")
    zeros_lost: int = 0  # zeros that became other numbers, in columns with many
    least: float | None = None  # squares that any grouping of these records loses, where that is proven
    once: tuple[Any, ...] = ()  # columns that are the same in all records of a unit, so published once for it
    sums: dict[Any, Floats] = field(default_factory=dict)  # of a block with weights, see `from_table_centre`
    held: tuple[Held, ...] = ()  # what the groups hold beyond k records


def protect_part(plan: Plan, part: Part, guides: Sequence[Column] = (), **options: Any) -> Published:
    """Group the records by these columns, publish and measure them, and count the groups once more.

    `guides` are columns that shall be alike within groups too, but are not published here; their scales
    follow those of the columns. The `options` are those of `group`.
    """
    grouping = group(plan, replace(part, columns=[*part.columns, *guides]), **options)
    columns, weight, units = part.columns, part.weight, part.units
    partition, space, least = grouping.partition, grouping.space, grouping.least
    if guides or any(column.before is not None for column in columns):
        space, least = loss_space(columns, part.scales and part.scales[: len(columns)]), None
    moments = partition.moments if space.unit == "raw" else None  # grouped and measured by the same values
    groups = []
    for column in columns:
        thin = thin_cells(plan, column, partition, part)
        values = publish(column, partition, plan.centroid_of(column.name), weight, plan.preserve, moments)
        groups.append(rounded_groups(plan, column, values).without(thin))
    loss = measure(space, columns, groups, partition, weight, moments)
    loss, sums = from_table_centre(part, loss, space, columns)
    method, moved = grouping.method.key, grouping.moved
    del grouping, space  # their matrix is as large as the table
    cells = {c.name: _spread(c, published, partition) for c, published in zip(columns, groups)}
    held = check_groups(cells, partition.labels, plan.k, part.strata, units, part.watched, weight)
    asked, zeros = min(plan.contributors, plan.k), plan.zeros == "group"
    if asked > 1 and any(thin_rule(plan, column, part) is not None for column in columns):
        found = contributed(asked, columns, cells, partition.labels, weight, units, zeros)
        held = (*held, found)
    filled = thinned = 0
    for column in columns:
        old, new = column.gaps, cells[column.name].gaps
        stayed = 0 if old is None or new is None else int((old & new).sum())
        filled += column.gap_count - stayed
        thinned += cells[column.name].gap_count - stayed
    lost = zeros_lost(columns, cells)
    counts = (moved, filled, thinned, lost)
    return Published(partition, groups, cells, loss, method, *counts, least, sums=sums, held=held)


def _spread(column: Column, groups: GroupValues, partition: Partition) -> Column:
    """The column with what each record publishes; a gap has the file's sign that all of its group have."""
    labels = partition.labels
    gaps = None if groups.gaps is None else groups.gaps[labels]
    cells = column.holding(groups.spread(partition), gaps)
    if gaps is None or column.marks is None:
        return cells
    one = np.zeros(len(partition), np.int64)
    one[labels] = column.marks
    mixed = np.bincount(labels, column.marks != one[labels], len(partition)) > 0
    return replace(cells, marks=np.where(mixed, 0, one)[labels])


def zeros_lost(columns: Sequence[Column], cells: Mapping[Any, Column]) -> int:
    """How many zeros became other numbers, in columns where so many are zero that it means something."""
    lost = 0
    for column in columns:
        zero = (column.values == 0) & column.there
        if not column.categorical and zero.sum() >= 0.05 * (len(zero) - column.gap_count):
            lost += int((zero & (cells[column.name].values != 0)).sum())
    return lost
