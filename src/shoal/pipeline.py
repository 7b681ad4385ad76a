"""The way a table takes: columns, matrix, groups, centroids, check. The only place where the stages meet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import shoal
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.guess import notes_on_columns
from shoal.grouping.registry import MethodInfo, get_method, methods
from shoal.grouping.runner import run_within, share
from shoal.io.source import frame_of
from shoal.plan import Plan
from shoal.release import Release
from shoal.stages.encode import Space, encode, grouping_matrix, measurable, raw_matrix
from shoal.stages.gap_patterns import pattern_cells
from shoal.stages.impute import fill
from shoal.stages.loss import Loss, measure
from shoal.stages.prepare import Prepared, prepare
from shoal.stages.publish import publish
from shoal.stages.refine_gaps import settle
from shoal.stages.regroup import keep_totals
from shoal.verify.count import check_columns

#: The share of a time limit that is kept for settling records with gaps.
SETTLING = 0.2

Progress = Callable[[float], None]


def microaggregate(
    data: Any,
    k: int,
    *,
    columns: Sequence[Any] | Any | None = None,
    method: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    per_column: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Publish each record as the mean of a group of at least k similar records.

    `data` is a numpy array, a pandas, polars or pyarrow table, or a path. Without `columns` every numeric
    column is used. `per_column=True` groups each column on its own (individual ranking): k then holds
    for each column and not for the record. Further keywords are the fields of `shoal.Plan` (types,
    missing, strata, weight, ...) or the method's own parameters.
    """
    plan = Plan.of(
        k,
        columns=columns,
        method=method,
        seed=seed,
        time_limit=time_limit,
        per_column=per_column,
        **options,
    )
    return run(plan, data, progress)


def run(plan: Plan, data: Any, progress: Progress | None = None) -> Release:
    """Make the release that the plan describes."""
    began = time.perf_counter()
    info = get_method(plan.method, plan.parameters)
    frame = frame_of(data)
    loaded = time.perf_counter()
    plan = plan.called(frame.names)
    table = prepare(plan, frame)
    parts = plan.parts(list(table.columns))
    _refuse(plan, info, table, parts)

    released: dict[Any, Column] = {}
    labels: dict[Any, NDArray[np.int64]] = {}
    loss = Loss()
    used: dict[str, MethodInfo] = {}
    moved = 0
    for done, part in enumerate(parts):
        made = _make(
            plan,
            info,
            table,
            [table.columns[name] for name in part],
            _time_left(plan, began, loaded, len(parts) - done),
            share(progress, done / len(parts), 1 / len(parts)),
        )
        released |= made.released
        labels |= dict.fromkeys(part, made.labels)
        loss += made.loss
        used[made.method.key] = made.method
        moved += made.moved
    check_columns(released, labels, plan.k, table.strata)
    return Release(
        table=table.frame.replace(released, plan.named("identifier")),
        labels=_all_labels(plan, parts, labels),
        information_loss=loss.percent(loss.within),
        rounding_loss=loss.percent(loss.rounding),
        plan=plan,
        columns=tuple(released),
        seconds=time.perf_counter() - began,
        notes=tuple(_notes(plan, used, table, released, moved)),
        origin=table.frame.origin,
        original=table.frame.native,
        strata=table.strata,
        used=tuple(used),
    )


class _Made(NamedTuple):
    """What became of columns that were grouped together."""

    released: dict[Any, Column]
    labels: NDArray[np.int64]
    loss: Loss
    method: MethodInfo
    moved: int


def _make(
    plan: Plan,
    info: MethodInfo,
    table: Prepared,
    columns: Sequence[Column],
    left: float | None,
    progress: Progress | None,
) -> _Made:
    """Group, publish and measure columns together, in the time that is left."""
    chosen = _choose(plan, info, columns, table)
    space = measurable(columns) if chosen.input == "raw" else encode(columns)
    cells = pattern_cells(columns, table.strata, plan.k) if plan.missing == "group" else table.strata
    matrix = _matrix(plan, chosen, columns, space, cells)
    limit = left if "time_limit" in chosen.supplied else None  # else the clock shall have no say at all
    partition = run_within(
        chosen,
        matrix,
        plan.k,
        cells,
        seed=plan.seed,
        time_limit=limit and limit * (1.0 if _whole(columns) else 1 - SETTLING),
        progress=progress,
        parameters=plan.parameters,
    )
    points = space.matrix if chosen.input == "raw" else matrix
    partition = settle(partition, points, columns, space.spans, cells, plan.k, limit and SETTLING * limit)
    moved = 0
    if plan.preserve == "totals":
        partition, moved = keep_totals(columns, partition, space.matrix, plan.k, cells)
    known = partition.moments if space.unit == "own" else None  # grouped and measured by the same values
    published = [
        publish(column, partition, plan.centroid_of(column.name), table.weight, plan.preserve, known)
        for column in columns
    ]
    loss = measure(space, columns, [values for values, _ in published], partition, table.weight, known)
    released = {
        column.name: column.holding(
            partition.spread(values), None if empty is None else empty[partition.labels]
        )
        for column, (values, empty) in zip(columns, published)
    }
    return _Made(released, partition.labels, loss, chosen, moved)


def _time_left(plan: Plan, began: float, loaded: float, parts: int) -> float | None:
    """What the method may take, for each part that is left: the limit less what went before and what follows.

    To publish, measure and check takes somewhat longer than to prepare; a tenth of the limit at the most.
    """
    if plan.time_limit is None:
        return None
    now = time.perf_counter()
    follows = min(1.5 * (now - loaded), 0.1 * plan.time_limit)
    return max(plan.time_limit - (now - began) - follows, 1e-3) / parts


def _whole(columns: Sequence[Column]) -> bool:
    return all(column.gaps is None for column in columns)


def _choose(plan: Plan, info: MethodInfo, columns: Sequence[Column], table: Prepared) -> MethodInfo:
    """The method itself; but `auto` takes for one column of numbers the method that is exact for it.

    What publishes whole numbers has an optimum of its own, unless its search would need numbers of more than
    64 bits for very many records.
    """
    column = columns[0]
    if info.key != "auto" or len(columns) > 1 or column.categorical or not _drawn_to_scale(plan, column):
        return info
    whole = column.type == "integer" or column.values.dtype.kind != "f"
    plain = plan.centroid_of(column.name) in (None, "mean") and table.weight is None
    spread = int(column.values.max()) - int(column.values.min()) if whole else 0
    affordable = 11 * plan.k * spread**2 < 2**62 or plan.k * len(column.values) <= 200_000
    return get_method("univariate_integer" if whole and plain and affordable else "univariate")


def _drawn_to_scale(plan: Plan, column: Column) -> bool:
    """Whether a column is grouped by its own values, but for origin and unit."""
    weight = plan.column_weights.get(column.name, 1)
    return column.name not in plan.log and plan.scaling_of(column.name) != "rank" and weight > 0


def _matrix(
    plan: Plan,
    info: MethodInfo,
    columns: Sequence[Column],
    space: Space,
    cells: NDArray[np.int64] | None,
) -> NDArray:
    """What the method groups by: standardised, as the plan scales it, or the values as they are."""
    if info.input == "raw":
        return raw_matrix(columns)
    scaling = lambda column: plan.scaling_of(column.name)  # noqa: E731
    points = grouping_matrix(columns, space, scaling, plan.log, plan.column_weights)
    return fill(points, columns, space.spans, cells)


def _all_labels(
    plan: Plan, parts: Sequence[Sequence[Any]], labels: dict[Any, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """One column of labels, or one for each part that was grouped on its own."""
    if not plan.apart:
        return labels[parts[0][0]]
    return np.stack([labels[part[0]] for part in parts], axis=1)


def _refuse(plan: Plan, info: MethodInfo, table: Prepared, parts: Sequence[Sequence[Any]]) -> None:
    """Say in one sentence what cannot be done."""
    if info.columns == "one" and any(len(part) > 1 for part in parts):
        raise InputError(
            f"method {info.key!r} groups by one column, but {len(parts[0])} were chosen: choose one, "
            "use per_column=True (--per-column) to group each on its own, or take another method"
        )
    for column in table.columns.values():
        if column.categorical and not info.mixed:
            fit = ", ".join(key for key, other in methods().items() if other.mixed)
            raise InputError(
                f"method {info.key!r} is for numbers only, but column {column.name!r} is {column.type}: "
                f"use one of {fit}, or leave the column out"
            )
        plain = plan.centroid_of(column.name) in (None, "mean") and table.weight is None
        if plan.preserve and column.type in ("integer", "continuous") and not plain:
            raise InputError(
                f"column {column.name!r} keeps its total only if its centroid is the plain mean: "
                "leave centroids and weight out, or preserve='totals'"
            )
        if column.type == "nominal" and plan.centroid_of(column.name) not in (None, "mode"):
            raise InputError(
                f"column {column.name!r} is nominal, so it has no {plan.centroid_of(column.name)}: "
                "its centroid is the mode"
            )


def _notes(
    plan: Plan, used: Mapping[str, MethodInfo], table: Prepared, released: dict[Any, Column], moved: int
) -> list[str]:
    """What a careful colleague would point out; never acted on."""
    notes = list(table.notes)
    if plan.version not in (None, shoal.__version__):
        notes.append(f"the plan was written by shoal {plan.version}; this is {shoal.__version__}")
    origin = table.frame.origin
    if plan.sha256 is not None and origin is not None and origin.sha256() != plan.sha256:
        notes.append("the data differ from those that the plan was written for")
    if plan.columns is None:
        notes += notes_on_columns(table.columns)
        kept = [
            str(name) for name in table.frame.names if name not in table.columns and name not in plan.roles
        ]
        if kept:
            notes.append(f"published as they are, for they are not numeric: {', '.join(kept)}")
    if plan.apart and not plan.per_column:
        notes.append("each block was grouped on its own: k holds for each block, not for the record")
    filled = sum(
        int(column.gaps.sum() - (0 if (left := released[name].gaps) is None else left.sum()))
        for name, column in table.columns.items()
        if column.gaps is not None
    )
    if filled:
        why = f": fewer than k={plan.k} records have gaps like theirs" if plan.missing == "group" else ""
        total = "; they come on top of the totals" if plan.preserve == "totals" else ""
        notes.append(f"{filled} gaps were filled with their group's value{why}{total}")
    if moved:
        notes.append(f"{moved} records changed their group so that totals could be kept")
    if plan.time_limit is not None:
        if any("time_limit" in info.supplied for info in used.values()):
            notes.append(
                "bounded by time: another machine may give another release; leave it out to repeat it"
            )
        else:
            which = ", ".join(map(repr, used))
            notes.append(f"method {which} does not work against the clock: the time limit had no effect")
    return notes
