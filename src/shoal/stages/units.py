"""Units: whom k protects, where one has several records.

Columns that are the same in all records of a unit are grouped over units and published once for each. The
others are grouped over records, in groups that lie inside those of the units: so every combination that is
published belongs to at least k units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.errors import InputError, too_few
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.grouping.partition import Partition
from shoal.grouping.runner import share
from shoal.stages.encode import encode
from shoal.stages.loss import from_table_centre, loss_space, measure
from shoal.stages.part import COUNTS, Published, protect_part
from shoal.stages.publish import GroupValues
from shoal.stages.require import Part
from shoal.stages.strata import read_strata
from shoal.verify.groups import check_groups

if TYPE_CHECKING:
    from shoal.plan import Plan


#: How many times k units a large group has. On panels of 545 units in 8 years with k = 5, groups of 20 lost
#: least or almost so; see docs/tables.md.
WIDE = 4


def read_units(frame: Frame, names: Sequence[Any], k: int) -> Ints:
    """The unit of each record, 0, 1, ..: one for each combination of values in these columns."""
    names = frame.find(names)
    refuse_without_unit({name: frame.arrow(name) for name in names}, names, 0)
    ids = read_strata(frame, names).ids
    if ids.max() + 1 < k:
        raise too_few(k, int(ids.max()) + 1, "units")
    return ids


def once_note(names: Sequence[Any]) -> list[str]:
    """A note on columns that are published once for each unit."""
    if not names:
        return []
    return [
        f"the same in all records of a unit, so published once for each: {', '.join(map(str, names))} "
        "(by_record, --by-record, groups them over records)"
    ]


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


def published_once(plan: Plan, column: Column, units: Ints) -> bool:
    """Whether a column is the same in all records of each unit, and may be grouped over units."""
    if plan.preserve is not None or plan.rules or column.name in plan.by_record:
        return False
    first, unit = _first_seen(units)
    rows = first[unit]
    same = np.array_equal(column.values[rows], column.values)
    holes = column.holes
    return same and (holes is None or np.array_equal(holes[rows], holes))


def protect_units(
    plan: Plan,
    part: Part,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> Published:
    """As `protect_part`, with k distinct units behind every combination that is published, given units.

    Totals are of records, and so are rules on columns: with them, every column is grouped over records.
    """
    columns, strata, weight, scales = part.columns, part.strata, part.weight, part.scales
    units = None if part.units is None else _first_seen(part.units)[1]
    part = replace(part, units=units)
    once = [units is not None and published_once(plan, column, units) for column in columns]
    if units is None or not any(once):
        return protect_part(plan, part, time_limit=time_limit, progress=progress, **options)

    same = [column for column, alike in zip(columns, once) if alike]
    others = [column for column, alike in zip(columns, once) if not alike]
    first, entry = _first_seen(units if strata is None else _first_seen(strata)[1] * len(units) + units)
    guides = [_mean_of(column, entry) for column in others if not column.categorical]
    plain = not plan.log and all(plan.scaling_of(column.name) == "standard" for column in columns)
    own = encode(columns).scales if scales is None and plain else scales  # units are scaled as records are
    scale_of = dict(zip((column.name for column in columns), own or ()))

    def scaled(chosen: Sequence[Column]) -> Sequence[Any] | None:
        return own and [scale_of[column.name] for column in chosen]

    def nested(guides: Sequence[Column], k: int, begin: float, width: float) -> Published:
        """Groups of k units or more first, then of the records within what these publish."""
        half = width / 2 if others else width
        mean = None if weight is None else np.bincount(entry, weight) / np.bincount(entry)
        each = [column.at(first) for column in same]
        over = protect_part(
            replace(plan, k=k),
            Part(each, _at(strata, first), mean, scales=scaled([*same, *guides])),
            guides,
            time_limit=time_limit and time_limit * half,
            progress=share(progress, begin, half),
            **options,
        )
        made = [over]
        cells = {name: cell.at(entry) for name, cell in over.cells.items()}
        labels = over.partition.labels[entry]
        partition, groups = _by_group(labels, cells)
        space = loss_space(same, scaled(same))
        loss = measure(space, same, groups, partition, weight)
        loss, sums = from_table_centre(part, loss, space, same)
        if others:
            alike = _published_alike(labels, cells, strata)
            inner = protect_part(
                plan,
                Part(others, alike, weight, units, scales=scales and scaled(others)),
                time_limit=time_limit and time_limit * half,
                progress=share(progress, begin + half, half),
                **options,
            )
            cells |= inner.cells
            labels, loss = inner.partition.labels, loss + inner.loss
            sums |= inner.sums
            made.append(inner)
        cells = {column.name: cells[column.name] for column in columns}
        held = check_groups(cells, labels, plan.k, strata, units)
        held = (*held, *(one for part in made for one in part.held if "contributors" in one.requirement))
        counts = {name: sum(getattr(p, name) for p in made) for name in COUNTS}
        once = tuple(column.name for column in same)
        facts = {**counts, "once": once, "sums": sums, "held": held}
        return Published(*_by_group(labels, cells), cells, loss, over.method, **facts)

    # Small groups of units that are alike in all columns leave their records little choice, large groups
    # that are alike in the units' own columns leave them much. Which loses less depends on the table.
    tried = [(guides, plan.k)]
    if guides:
        fewest = len(first) if strata is None else np.bincount(_first_seen(strata[first])[1]).min()
        large = fewest >= 2 * WIDE * plan.k and all(column.gaps is None for column in same)
        tried.append(([], WIDE * plan.k if large else plan.k))
    made = [nested(*some, j / len(tried), 1 / len(tried)) for j, some in enumerate(tried)]
    return min(made, key=lambda published: published.loss.within)


def _published_alike(labels: Ints, cells: Mapping[Any, Column], strata: Ints | None) -> Ints:
    """One number for all records of a stratum whose units publish the same, in one group or in several."""
    ids = np.zeros_like(labels) if strata is None else strata
    for cell in cells.values():
        for values in [cell.values] if cell.holes is None else [cell.values, cell.holes]:
            levels = np.unique(values, return_inverse=True)[1]
            ids = np.unique(ids * (levels.max() + 1) + levels, return_inverse=True)[1]
    return ids


def group_sizes(labels: NDArray, units: Ints | None = None) -> Ints:
    """How many records (distinct `units`) each group has; those of several columns one after another."""
    columns = list(labels.reshape(len(labels), -1).T)
    if units is not None:
        columns = [np.unique(np.stack([column, units]), axis=1)[0] for column in columns]
    return np.concatenate([np.bincount(column) for column in columns]).astype(np.int64)


def _by_group(labels: Ints, cells: Mapping[Any, Column]) -> tuple[Partition, list[GroupValues]]:
    """The groups, and what each publishes: what one of its records does."""
    partition = Partition(labels)
    member = np.zeros(len(partition), np.int64)
    member[partition.labels] = np.arange(len(labels))
    return partition, [GroupValues(c.values[member], _at(c.gaps, member)) for c in cells.values()]


def _first_seen(ids: Ints) -> tuple[Ints, Ints]:
    """The first row of each id, and the ids as 0, 1, .. in order of appearance."""
    labels = Partition(ids).labels
    return np.unique(labels, return_index=True)[1], labels


def _at(values: NDArray | None, rows: NDArray) -> Any:
    return None if values is None else values[rows]


def _mean_of(column: Column, entry: Ints) -> Column:
    """A column of numbers as its mean in each unit: units that are alike in it too are grouped together."""
    there = column.there
    present = np.bincount(entry, there)
    low = float(column.present.min()) if len(column.present) else 0.0  # a large offset costs no digits
    sums = np.bincount(entry, there * (column.values - low))
    means, gaps = low + sums / np.maximum(present, 1), present == 0
    return Column(column.name, "continuous", means, gaps if gaps.any() else None)
