"""Grouping: which method, on which matrix, within which strata and gap patterns; then the repairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.grouping.registry import MethodInfo, get_method, methods
from shoal.grouping.runner import refuse_need, run_within
from shoal.plan import Plan
from shoal.requirements.base import Requirement
from shoal.stages.encode import Space, encode, grouping_matrix, measurable, raw_matrix
from shoal.stages.gap_patterns import gap_patterns
from shoal.stages.gather import alike
from shoal.stages.hold import hold
from shoal.stages.impute import impute
from shoal.stages.refine_gaps import refine_gaps, values_there
from shoal.stages.regroup import refuse_totals, regroup_for_totals
from shoal.stages.require import Part, asked_of, confidential_of, failing, refuse_infeasible, refuse_thin

#: The share of a time limit that is kept for refining groups of records with gaps. It trades search for
#: refinement; refining 100,000 records takes about 20 s of processor time (benchmarks/gaps.py).
REFINING = 0.2
#: Fields that say something of protected columns.
_OF_PROTECTED = ("types", "levels", "scaling", "log", "column_weights", "centroids")


@dataclass(frozen=True, eq=False)
class Grouping:
    """A partition of the records, the space it was made and is measured in, and the method that made it."""

    partition: Partition
    space: Space
    method: MethodInfo
    moved: int = 0  # records that changed their group so that totals can be kept
    least: float | None = None  # what any partition within the strata loses at least, where that is proven


def group(
    plan: Plan,
    part: Part,
    *,
    seed: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Grouping:
    """Group the records by these columns together, as the plan asks.

    `seed` is that of a block. A method that takes no time limit is given none.
    """
    seed = plan.seed if seed is None else seed
    columns, (info, required) = part.columns, foreseen(plan, part)
    if info.input == "raw" and part.scales is None:
        space = measurable(columns)
    else:  # a block is measured in the space of the whole table
        space = encode(columns, scales=part.scales)
    ways = {"gaps": plan.missing == "group", "zeros": plan.zeros == "group"}
    patterns = gap_patterns(columns, part.strata, plan.k, part.units, required, **ways)
    points = space.matrix
    if info.input != "raw":  # as the plan scales and weighs it, with a place for each gap
        points = grouping_matrix(plan, columns, space, part.scales)
        points = impute(points, columns, space.spans, patterns)
    limit = (time_limit or info.seconds) if "time_limit" in info.supplied else None
    complete = all(column.gaps is None for column in columns)
    start = alike(points, plan.k, required) if info.key == "auto" and patterns is None else None
    partition = start or run_within(
        info,
        raw_matrix(columns) if info.input == "raw" else points,
        plan.k,
        patterns,
        seed=seed,
        time_limit=limit and limit * (1.0 if complete and not required else 1 - REFINING),
        progress=progress,
        parameters=plan.parameters,
        confidential=confidential_of(required),
    )
    least = partition.least  # of the points; it is proven of the loss if that is measured by these too
    same = part.weight is None and plan.zeros != "group" and complete
    if not same or (least is not None and not np.array_equal(points, space.matrix)):
        least = None
    limit = limit and REFINING * limit
    partition = refine_gaps(partition, points, columns, space.spans, patterns, plan.k, limit)
    has = values_there(columns, space.spans)
    partition = hold(partition, points, plan.k, patterns, required, has=has, seed=seed, time_limit=limit)
    moved = 0
    if plan.preserve == "totals":
        most = failing(partition, required).sum()  # in strata that cannot hold it
        partition, moved = regroup_for_totals(
            *(columns, partition, space.matrix, plan.k, patterns),
            lambda partition: failing(partition, required).sum() <= most,
        )
    return Grouping(partition, space, info, moved, least)


def foreseen(plan: Plan, part: Part) -> tuple[MethodInfo, list[Requirement]]:
    """The method, and what its groups must hold; what no grouping can give is refused."""
    info, required = choose(plan, part), asked_of(plan, part)
    refuse_need(info, confidential_of(required))
    refuse_infeasible(required, part, plan.k)
    refuse_thin(plan, part)
    if plan.preserve == "totals":
        refuse_totals(part.columns, part.strata, plan.k)
    return info, required


def choose(plan: Plan, part: Part) -> MethodInfo:
    """The method itself; but `auto` takes for one column of numbers the method that is exact for it.

    What publishes whole numbers has an optimum of its own, unless its search would need numbers of more than
    64 bits for very many records.
    """
    info = get_method(plan.method, plan.parameters)
    column = part.columns[0]
    by_value = column.name not in plan.log and plan.scaling_of(column.name) != "rank"
    by_value = by_value and plan.column_weights.get(column.name, 1) > 0  # but for origin and unit
    if info.key != "auto" or len(part.columns) > 1 or column.categorical or not by_value:
        return info
    whole = column.type == "integer" or column.values.dtype.kind != "f"
    plain = plan.centroid_of(column.name) in (None, "mean") and part.weight is None
    spread = int(column.values.max()) - int(column.values.min()) if whole else 0
    affordable = 11 * plan.k * spread**2 < 2**62 or plan.k * len(column.values) <= 200_000
    return get_method("univariate_integer" if whole and plain and affordable else "univariate")


def refuse_plan(
    plan: Plan, columns: Sequence[Column], parts: Sequence[Sequence[object]], weighted: bool
) -> None:
    """Say in one sentence, before any grouping, what cannot be done, or would have no effect."""
    info = get_method(plan.method, plan.parameters)
    protected = {column.name for column in columns}
    watched = {rule.column for rule in plan.rules} | {*plan.stepped}
    for field in _OF_PROTECTED:
        given = getattr(plan, field)
        for name in () if isinstance(given, str) else given:
            if name not in protected and name not in watched:
                raise InputError(
                    f"{field} has no effect on column {name!r}, which is not protected: protect it too (-c, "
                    f"columns), or leave it out of {field}"
                )
    if plan.merge_small_strata and not plan.strata:
        raise InputError("merge_small_strata has no effect without strata: name a stratum, or leave it out")
    if info.columns == "one" and any(len(part) > 1 for part in parts):
        raise InputError(
            f"method {info.key!r} groups by one column, but {len(parts[0])} were chosen: choose one, "
            "use per_column=True (--per-column) to group each on its own, or take another method"
        )
    for column in columns:
        centroid = plan.centroid_of(column.name)
        if column.categorical and not info.mixed:
            fit = ", ".join(key for key, other in methods().items() if other.mixed and not other.needs)
            raise InputError(
                f"method {info.key!r} is for numbers only, but column {column.name!r} is {column.type}: "
                f"use one of {fit}, or leave the column out"
            )
        plain = centroid in (None, "mean") and not weighted
        if plan.preserve and column.type in ("integer", "continuous") and not plain:
            raise InputError(
                f"column {column.name!r} keeps its total only if its centroid is the plain mean: "
                "leave centroids and weight out, or preserve='totals'"
            )
        if column.type == "nominal" and centroid not in (None, "mode"):
            raise InputError(
                f"column {column.name!r} is nominal, so it has no {centroid}: its centroid is the mode"
            )
