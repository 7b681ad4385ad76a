"""The table in memory: every stage runs on all of it at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.guess import index_roles
from shoal.grouping.runner import share
from shoal.io.files import as_arrow
from shoal.io.origin import Origin, told_apart
from shoal.io.source import frame_of
from shoal.measures.order import order_note
from shoal.measures.uniqueness import few_valued, unique_rows, unique_units
from shoal.outcome import Outcome, notes_on
from shoal.plan import Plan
from shoal.release import Release
from shoal.stages.group import foreseen, refuse_plan
from shoal.stages.kept import codes_of_cells, refuse, repeated_units
from shoal.stages.loss import Loss
from shoal.stages.part import COUNTS
from shoal.stages.prepare import Prepared, prepare
from shoal.stages.require import Part
from shoal.stages.units import group_sizes, protect_units

Progress = Callable[[float], None]


def run(plan: Plan, data: Any, progress: Progress | None = None, strict: bool = False) -> Release:
    """Make the release that the plan describes; `strict` refuses at once what `write` would refuse."""
    began = time.perf_counter()
    frame = frame_of(data)
    loaded = time.perf_counter()
    plan, table, parts = _begun(plan, frame, strict)
    for part in parts if len(parts) > 1 else ():  # else the one part says it
        foreseen(plan, part)
    made = [
        protect_units(
            *(plan, part, time_left(plan, began, loaded, len(parts) - done)),
            share(progress, done / len(parts), 1 / len(parts)),
        )
        for done, part in enumerate(parts)
    ]
    released = {name: cells for published in made for name, cells in published.cells.items()}
    labels = [published.partition.labels for published in made]
    sizes = np.concatenate([published.partition.sizes for published in made])
    by_record = np.stack(labels, axis=1) if plan.apart else labels[0]
    used = list(dict.fromkeys(published.method for published in made))
    counts = {name: sum(getattr(published, name) for published in made) for name in COUNTS}
    proven = [published.least for published in made if published.least is not None]
    notes = [
        *table.notes,
        *repeated_units(plan, table.frame.names, released, labels, partial(codes_of_cells, table.frame)),
        *order_note(plan, list(table.columns.values()), by_record),
        *([] if table.units is None else linked_units(plan, table.units, labels)),
    ]
    origin = table.frame.origin
    dropped = [*plan.named("identifier"), *plan.unnumbered]
    made_of = table.frame.replace(released | table.changed, dropped, plan.levels)
    codes, lost = told_apart(_codes(table, released), origin, made_of)
    sha256 = origin.sha256() if origin is not None and plan.sha256 is not None else None
    columns = tuple(released)
    sizes = sizes if table.units is None else group_sizes(by_record, table.units)
    loss = sum((published.loss for published in made), Loss())
    notes += [*lost, *notes_on(plan, used, counts, sha256)]
    outcome = Outcome.of(
        *(plan, columns, sizes, loss, used, notes, began),
        kept=[name for name in Frame(made_of).names if name not in released],
        records=len(by_record),
        recoding_loss=dict(table.recoding_loss),
        least=sum(proven) if len(proven) == len(made) else None,
        held=[held for published in made for held in published.held],
        **_unique(made_of, columns, plan.k > 1 and not plan.apart),
    )
    return Release(
        table=made_of,
        labels=by_record,
        plan=plan,
        outcome=outcome,
        columns=columns,
        origin=origin
        and origin.columns([str(n) for n in table.frame.names if n not in {*released, *table.recoded}]),
        original=table.original,
        strata=table.strata,
        changed={str(n): c.rows_of_levels() for n, c in table.changed.items() if n not in table.recoded},
        recoded=tuple(map(str, table.recoded)),
        codes=codes,
        suspects=table.suspects,
        units=table.units,
    )


def foresee(plan: Plan, data: Any) -> None:
    """Refuse what `run` would refuse, without grouping any records."""
    plan, _, parts = _begun(plan, frame_of(data), strict=True)
    for part in parts:
        foreseen(plan, part)


def _begun(plan: Plan, frame: Frame, strict: bool) -> tuple[Plan, Prepared, list[Part]]:
    """The plan by the table's own names, the table made ready, and the columns that are grouped together."""
    plan = plan.called(frame.names)
    plan = replace(plan, roles={**plan.roles, **index_roles(frame, plan.roles)})
    table = prepare(plan, frame)
    if strict:
        refuse(table.suspects)
    parts = plan.parts(list(table.columns))
    refuse_plan(plan, list(table.columns.values()), parts, table.weight is not None)
    return plan, table, [_part(table, names) for names in parts]


def _part(table: Prepared, names: Sequence[Any]) -> Part:
    """Columns that are grouped together, and the rules on these and on those that are not protected."""
    watched = [(r, c) for r, c in table.watched if c.name in names or c.name not in table.columns]
    return Part([table.columns[n] for n in names], table.strata, table.weight, table.units, watched)


def _codes(table: Prepared, released: Mapping[Any, Column]) -> dict[str, pa.Array]:
    """What the file calls missing, in gaps of columns that are protected or recoded."""
    found = {str(name): column.codes() for name, column in released.items()}
    if isinstance(table.frame.origin, Origin):
        before = Frame(table.original)
        found |= {str(n): table.frame.origin.signs(str(n), before.arrow(n).is_null()) for n in table.recoded}
    return {name: signs for name, signs in found.items() if signs is not None}


def _unique(table: Any, columns: Sequence[Any], grouped: bool) -> dict[str, Any]:
    """How many rows are one of a kind; nothing is told of a table that Arrow cannot hold.

    `grouped`: each combination of the protected columns was counted, and occurs more than once.
    """
    try:
        published = as_arrow(table)
    except pa.ArrowException:
        return {}
    called = dict(zip(Frame(table).names, published.column_names))
    others = [name for key, name in called.items() if key not in set(columns)]
    if grouped and not others:
        return {"unique_on_categories": 0, "unique_rows": 0}
    few = [*(called[name] for name in columns), *few_valued(published, others)]
    return {
        "unique_on_categories": unique_rows(published, few),
        "unique_rows": unique_rows(published, published.column_names),
    }


def linked_units(plan: Plan, units: Ints, labels: Sequence[Any]) -> list[str]:
    """What units give away whose rows can be linked, because they are published as new numbers."""
    if plan.pseudonyms is None:
        return []
    rows = np.unique(np.stack(labels, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return linked_note(*unique_units(rows, units))


def linked_note(unique: int, count: int) -> list[str]:
    return [f"{unique:,} of {count:,} units lie in groups that, all rows taken together, no other unit has"]


def time_left(plan: Plan, began: float, loaded: float, parts: int) -> float | None:
    """What the method may take, for each part that is left: the limit less what went before and what follows.

    To publish, measure and check takes somewhat longer than to prepare; a tenth of the limit at the most.
    """
    if plan.time_limit is None:
        return None
    now = time.perf_counter()
    follows = min(1.5 * (now - loaded), 0.1 * plan.time_limit)
    return max(plan.time_limit - (now - began) - follows, 1e-3) / parts
