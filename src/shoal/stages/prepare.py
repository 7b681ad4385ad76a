"""The table as the plan sees it: its columns as numbers, its strata, its weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import too_few
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.guess import notes_on_columns
from shoal.frame.types import left_out, read_column, read_weight, refuse_gaps, require_few_codes, stored_kind
from shoal.io.origin import marked
from shoal.plan.rules import Rule
from shoal.stages.kept import Suspect, look
from shoal.stages.recode import recode
from shoal.stages.round import decimals_of
from shoal.stages.strata import merge_small, read_strata
from shoal.stages.units import once_note, published_once, read_units
from shoal.verify.requirements import read_watched


@dataclass(frozen=True, eq=False)
class Prepared:
    """`strata`, `weight` and `units` have those of each record, or are None.

    `changed` has stratum columns in which small strata publish what they were merged with; `suspects` the
    columns that should not be published as they are unless somebody says so. `frame` is recoded, `original`
    the table before that; `recoded` are the columns that are neither protected nor as they were.
    """

    frame: Frame
    columns: dict[Any, Column]
    strata: Ints | None
    weight: Floats | None
    notes: tuple[str, ...]
    changed: dict[Any, Column] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    units: Ints | None = None
    original: Any = None
    recoded: tuple[Any, ...] = ()
    recoding_loss: Mapping[str, float] = field(default_factory=dict)
    watched: tuple[tuple[Rule, Column], ...] = ()  # what groups must hold of columns


def prepare(plan: Any, frame: Frame) -> Prepared:
    """Read what the plan names, deal with gaps as it says, and refuse what cannot be grouped."""
    for mapping in (plan.roles, plan.types, plan.levels, plan.column_weights, plan.log, plan.strata):
        frame.find(mapping)
    codes = plan.missing_codes if isinstance(plan.missing_codes, dict) else ()
    frame.find([*plan.by_record, *(plan.known or ()), *codes])
    if len(frame) == 0:
        raise too_few(plan.k, 0)
    names = frame.choose(plan.columns, {*plan.roles, *plan.strata, plan.weight})
    if len(frame) < plan.k:
        raise too_few(plan.k, len(frame))
    columns = {}
    for name in names:
        kind, levels = plan.types.get(name), plan.levels.get(name)
        if name in plan.regroup:  # without the order of the levels that are joined
            kind, levels = "nominal", None
        columns[name] = require_few_codes(read_column(frame, name, kind, levels, plan.codes_of(name)))
    if plan.decimals:
        columns = {n: replace(column, decimals=decimals_of(column)) for n, column in columns.items()}
    notes = list(frame.notes)
    words = [n for n, c in columns.items() if c.type == "nominal" and n not in plan.types]
    words = [str(name) for name in words if stored_kind(frame, name) == "text"]
    if words:
        notes.append(
            f"text, so taken as nominal (each group publishes its most frequent): {', '.join(words)}"
        )
    holes = {name: column.gaps for name, column in columns.items() if column.gaps is not None}
    gaps = np.logical_or.reduce(list(holes.values())) if holes else None
    if plan.missing == "error":
        refuse_gaps(columns.values())
    if gaps is not None and plan.missing == "drop":
        notes.append(left_out(len(frame), int((~gaps).sum()), plan.k))
        frame = frame.rows(~gaps)
        columns = {name: column.rows(~gaps) for name, column in columns.items()}
    units = read_units(frame, plan.unit, plan.k) if plan.unit else None
    weight = None if plan.weight is None else read_weight(plan, frame)
    recoded = recode(plan, frame, columns, units, weight)
    original, frame, columns = frame, recoded.frame, recoded.columns
    notes += recoded.notes
    once = [] if units is None else [n for n, c in columns.items() if published_once(plan, c, units)]
    notes += once_note(once)
    strata, changed = None, dict[Any, Column]()
    if plan.strata:
        merged = merge_small(
            read_strata(frame, frame.find(plan.strata), plan.codes_of),
            plan.k,
            list(columns.values()),
            plan.merge_small_strata,
            units,
        )
        strata = merged.ids
        changed, merged_notes = merged.published(columns)
        notes += merged_notes
    if plan.columns is None:
        notes += notes_on_columns(columns)
    watched = tuple(
        (rule, read_watched(original if rule.column in columns else frame, rule, plan)) for rule in plan.rules
    )
    for rule, column in watched:
        if rule.field in ("diversity", "closeness") and column.gap_count:
            gap_count = column.gap_count
            notes.append(f"{rule.field} counts the {gap_count} gaps of column {column.name!r} as one value")
        if rule.field == "dominance" and (column.values < 0).any():
            notes.append(f"dominance counts negative values of column {column.name!r} without their sign")
    if frame.origin is not None:
        columns = {name: marked(column, original) for name, column in columns.items()}
    suspects, told = look(plan, frame, columns, {*changed, *recoded.names})
    return Prepared(
        *(frame, columns, strata, weight, (*notes, *told), changed, suspects, units),
        original=original.native,
        recoded=recoded.names,
        recoding_loss=recoded.loss,
        watched=watched,
    )
