"""Units: whom k protects, where one has several records.

Columns that are the same in all records of a unit are grouped over units and published once for each. The
others are grouped over records, in groups that lie inside those of the units: so every combination that is
published belongs to at least k units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.grouping.partition import Partition
from shoal.grouping.runner import share
from shoal.stages.encode import Levels, encode
from shoal.stages.loss import loss_space, measure
from shoal.stages.moments import Scale
from shoal.stages.part import COUNTS, Published, protect_part
from shoal.stages.publish import GroupValues
from shoal.stages.strata import read_strata
from shoal.verify.groups import check_groups

if TYPE_CHECKING:
    from shoal.plan import Plan


def read_units(frame: Frame, names: Sequence[Any], k: int) -> NDArray[np.int64]:
    """The unit of each record, 0, 1, ..: one for each combination of values in these columns."""
    names = frame.find(names)
    refuse_without_unit({name: frame.arrow(name) for name in names}, names, 0)
    ids = read_strata(frame, names).ids
    if ids.max() + 1 < k:
        raise InputError(f"k={k} needs at least {k} units, but the table has {ids.max() + 1}: lower k")
    return ids


def refuse_without_unit(cells: Any, names: Sequence[Any], begin: int) -> None:
    """Say which record has no unit; `cells` are Arrow columns by name, from the row `begin` on."""
    for name in names:
        gaps = cells[name].is_null().to_numpy(zero_copy_only=False)
        if gaps.any():
            row = begin + int(np.argmax(gaps)) + 1
            raise InputError(
                f"column {name!r} has a gap in row {row}, but every record needs its unit: fill it, or leave "
                "such records out"
            )


def constant_in(column: Column, units: NDArray[np.int64]) -> bool:
    """Whether all records of a unit have one and the same value, or none."""
    first, unit = _first_seen(units)
    rows = first[unit]
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
    """As `protect_part`, with k distinct units behind every combination that is published, given units.

    Totals are of records: to keep them, every column is grouped over records.
    """
    units = None if units is None else _first_seen(units)[1]
    once = [units is not None and plan.preserve is None and constant_in(column, units) for column in columns]
    if units is None or not any(once):
        options |= {"units": units, "scales": scales, "time_limit": time_limit, "progress": progress}
        return protect_part(plan, columns, strata, weight, **options)

    first, entry = _first_seen(units if strata is None else _first_seen(strata)[1] * len(units) + units)
    same = [column for column, alike in zip(columns, once) if alike]
    others = [column for column, alike in zip(columns, once) if not alike]
    plain = not plan.log and all(plan.scaling_of(column.name) == "standard" for column in columns)
    own = encode(columns).scales if scales is None and plain else scales  # units are scaled as records are
    scale_of = dict(zip((column.name for column in columns), own or ()))
    guides = [_mean_of(column, entry) for column in others if not column.categorical]
    over = protect_part(
        plan,
        [column.holding(column.values[first], _at(column.gaps, first)) for column in same],
        _at(strata, first),
        None if weight is None else np.bincount(entry, weight) / np.bincount(entry),
        guides=guides,
        scales=own and [scale_of[column.name] for column in [*same, *guides]],
        time_limit=time_limit and time_limit / (2 if others else 1),
        progress=share(progress, 0.0, 0.5 if others else 1.0),
        **options,
    )
    labels, made = over.partition.labels[entry], [over]
    cells = {
        name: cell.holding(cell.values[entry], _at(cell.gaps, entry)) for name, cell in over.cells.items()
    }
    partition, groups = _by_group(labels, cells)
    space = loss_space(same, own and [scale_of[column.name] for column in same])
    loss = measure(space, same, groups, partition, weight)
    if scales is not None:
        loss = loss._replace(total=float(np.square(space.matrix).sum()))
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
    partition, groups = _by_group(labels, cells)
    counts = {name: sum(getattr(p, name) for p in made) for name in COUNTS}
    return Published(partition, groups, cells, loss, over.method, **counts)


def group_sizes(labels: NDArray, units: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """How many records (distinct `units`) each group has; those of several columns one after another."""
    columns = list(labels.reshape(len(labels), -1).T)
    if units is not None:
        columns = [np.unique(np.stack([column, units]), axis=1)[0] for column in columns]
    return np.concatenate([np.bincount(column) for column in columns]).astype(np.int64)


def _by_group(labels: NDArray[np.int64], cells: Mapping[Any, Column]) -> tuple[Partition, list[GroupValues]]:
    """The groups, and what each publishes: what one of its records does."""
    partition = Partition(labels)
    member = np.zeros(len(partition), np.int64)
    member[partition.labels] = np.arange(len(labels))
    return partition, [GroupValues(c.values[member], _at(c.gaps, member)) for c in cells.values()]


def _first_seen(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each id, and the ids as 0, 1, .. in order of appearance."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def _at(values: NDArray | None, rows: NDArray) -> Any:
    return None if values is None else values[rows]


def _mean_of(column: Column, entry: NDArray[np.int64]) -> Column:
    """A column of numbers as its mean in each unit: units that are alike in it too are grouped together."""
    there = np.ones(len(entry)) if column.gaps is None else ~column.gaps
    present = np.bincount(entry, there)
    low = float(column.present.min()) if len(column.present) else 0.0  # a large offset costs no digits
    sums = np.bincount(entry, there * (column.values - low))
    gaps = present == 0
    return Column(
        column.name, "continuous", low + sums / np.maximum(present, 1), gaps if gaps.any() else None
    )
