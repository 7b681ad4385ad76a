"""Units: whom k protects, where one has several records.

Columns that are the same in all records of a unit are grouped over units and published once for each. The
others are grouped over records, in groups that lie inside those of the units: so every combination that is
published belongs to at least k units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.grouping.partition import Partition
from shoal.grouping.runner import share
from shoal.stages.encode import Levels
from shoal.stages.loss import Loss
from shoal.stages.moments import Scale
from shoal.stages.part import Published, protect_part
from shoal.stages.publish import GroupValues
from shoal.stages.strata import read_strata
from shoal.verify.groups import check_groups

if TYPE_CHECKING:
    from shoal.plan import Plan


def read_units(frame: Frame, names: Sequence[Any], k: int) -> NDArray[np.int64]:
    """The unit of each record, 0, 1, ..: one for each combination of values in these columns."""
    names = frame.find(names)
    for name in names:
        gaps = frame.arrow(name).is_null().to_numpy(zero_copy_only=False)
        if gaps.any():
            raise InputError(
                f"column {name!r} has a gap{frame.in_row(int(np.argmax(gaps)))}, but every record needs its "
                "unit: fill it, or leave such records out"
            )
    ids = read_strata(frame, names).ids
    if ids.max() + 1 < k:
        raise InputError(f"k={k} needs at least {k} units, but the table has {ids.max() + 1}: lower k")
    return ids


def constant_in(column: Column, units: NDArray[np.int64]) -> bool:
    """Whether all records of a unit have one and the same value, or none."""
    _, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    rows = first[inverse]
    same = np.array_equal(column.values[rows], column.values)
    return same and (column.gaps is None or np.array_equal(column.gaps[rows], column.gaps))


def protect_units(
    plan: Plan,
    columns: Sequence[Column],
    strata: NDArray[np.int64] | None,
    weight: NDArray[np.float64] | None,
    units: NDArray[np.int64] | None,
    *,
    scales: Sequence[Scale | Levels] | None = None,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> Published:
    """As `protect_part`, with k distinct units behind every combination that is published, if there are units.

    Totals are of records: to keep them, every column is grouped over records.
    """
    once = [units is not None and plan.preserve is None and constant_in(column, units) for column in columns]
    if units is None or not any(once):
        options |= {"units": units, "scales": scales, "time_limit": time_limit, "progress": progress}
        return protect_part(plan, columns, strata, weight, **options)

    distinct = np.stack([np.zeros_like(units) if strata is None else strata, units])
    _, first, entry = np.unique(distinct, axis=1, return_index=True, return_inverse=True)
    entry, counts = entry.ravel(), np.bincount(entry.ravel())
    same = [column for column, alike in zip(columns, once) if alike]
    others = [column for column, alike in zip(columns, once) if not alike]
    scale_of = dict(zip((column.name for column in columns), scales or ()))
    guides = [_mean_of(column, entry, counts) for column in others if not column.categorical]
    over = protect_part(
        plan,
        [column.holding(column.values[first], _at(column.gaps, first)) for column in same],
        _at(strata, first),
        None if weight is None else np.bincount(entry, weight) / counts,
        guides=guides,
        scales=scales and [scale_of[column.name] for column in [*same, *guides]],
        time_limit=time_limit and time_limit / (2 if others else 1),
        progress=share(progress, 0.0, 0.5 if others else 1.0),
        **options,
    )
    labels, loss, made = over.partition.labels[entry], Loss(), [over]
    cells = {
        name: cell.holding(cell.values[entry], _at(cell.gaps, entry)) for name, cell in over.cells.items()
    }
    loss = Loss(*(value * len(units) / len(first) for value in over.loss))
    if others:
        inner = protect_part(
            plan,
            others,
            labels,
            weight,
            units=units,
            scales=scales and [scale_of[column.name] for column in others],
            time_limit=time_limit and time_limit / 2,
            progress=share(progress, 0.5, 0.5),
            **options,
        )
        cells |= inner.cells
        labels, loss = inner.partition.labels, loss + inner.loss
        made.append(inner)
    cells = {column.name: cells[column.name] for column in columns}
    check_groups(cells, labels, plan.k, strata, units)
    partition = Partition(labels)
    member = np.zeros(len(partition), np.int64)  # one record of each group
    member[partition.labels] = np.arange(len(labels))
    groups = [GroupValues(cell.values[member], _at(cell.gaps, member)) for cell in cells.values()]
    sums = {
        name: sum(getattr(p, name) for p in made) for name in ("moved", "filled", "thinned", "zeros_lost")
    }
    return Published(partition, groups, cells, loss, over.method, **sums)


def _at(values: NDArray | None, rows: NDArray) -> Any:
    return None if values is None else values[rows]


def _mean_of(column: Column, entry: NDArray[np.int64], counts: NDArray[np.int64]) -> Column:
    """A column of numbers as its mean in each unit: units that are alike in it too are grouped together."""
    there = np.ones(len(entry)) if column.gaps is None else ~column.gaps
    present = np.bincount(entry, there, len(counts))
    low = float(column.present.min()) if len(column.present) else 0.0  # a large offset costs no digits
    sums = np.bincount(entry, there * (column.values - low), len(counts))
    gaps = present == 0
    return Column(
        column.name, "continuous", low + sums / np.maximum(present, 1), gaps if gaps.any() else None
    )
