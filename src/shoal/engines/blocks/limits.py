"""What blocks cannot do: said in one sentence before any work begins."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shoal.engines.blocks.columns import MERGED, WAS, Needed, StoredColumn
from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.types import require_few_codes, stored_kind
from shoal.plan import Plan
from shoal.stages.group import refuse_plan
from shoal.stages.kept import look, refuse
from shoal.stages.recode import refuse_numbers, refuse_roles
from shoal.stages.round import refuse_rounding
from shoal.verify.requirements import refuse_without_numbers
from shoal.words import CATEGORIES


def refuse_names(names: Sequence[str]) -> None:
    """Refuse columns that would be taken for what stands beside the table's own while blocks are made."""
    for name in names:
        if name.startswith("__shoal_") or names.count(name) > 1:
            raise InputError(f"a column is called {name!r} twice, or by a name that shoal needs: rename it")


def columns_to_protect(plan: Plan, schema: Any) -> Needed:
    """The columns that the plan needs of a table of this schema; a sentence says what cannot be."""
    refuse_names(schema.names)
    codes = plan.missing_codes if isinstance(plan.missing_codes, dict) else ()
    frame = Frame(schema.empty_table())
    named = [*plan.roles, *plan.types, *plan.by_record, *(plan.known or ()), *codes, *plan.levels]
    frame.find([*named, *(rule.column for rule in plan.rules), *plan.stepped])
    recoded = [*plan.top, *plan.bottom, *plan.regroup]

    def of(name: Any, wanted: str | None = None) -> StoredColumn:
        kind, stored = stored_kind(frame, name), schema.field(name).type
        wanted = wanted or plan.types.get(name) or ("ordinal" if name in plan.levels else kind)
        possible = {"integer": ("integer",), "continuous": ("integer", "continuous"), "date": ("date",)}
        if wanted not in (*possible.get(kind, ()), *CATEGORIES, "text") or pa.types.is_nested(stored):
            raise InputError(f"column {name!r} is {stored}, which cannot be read as {wanted}: leave it out")
        levels = tuple(plan.levels.get(name, ())) if wanted == "ordinal" else ()
        return StoredColumn(name, wanted, stored, tuple(plan.codes_of(name)), levels)

    columns = [of(name) for name in frame.choose(plan.columns, set(plan.roles))]
    weight = None if plan.weight is None else of(plan.weight)
    if weight is not None and weight.empty.type not in ("integer", "continuous"):
        raise InputError(f"column {plan.weight!r} is {weight.stored}, but a weight is a number: name another")
    protected = [column.name for column in columns]
    kept = [name for name in dict.fromkeys([*recoded, *plan.round]) if name not in protected]
    refuse_roles(plan, [*recoded, *kept])
    empty = [column.empty for column in columns]
    refuse_numbers(plan, empty)
    columns = [_recoded(plan, column) if column.name in recoded else column for column in columns]
    old = {column.name for column in columns if column.before is not None}
    watched = tuple(
        (rule, replace(of(rule.column), prefix=WAS if rule.column in old else "")) for rule in plan.rules
    )
    for rule, column in watched:
        refuse_without_numbers(rule, column.empty)
    pairs = [of(name, "nominal" if name in plan.regroup else None) for name in kept]
    refuse_rounding(plan, [*empty, *(column.empty for column in pairs)])
    refuse_plan(plan, empty, plan.parts(protected), weighted=weight is not None)
    strata = tuple(of(name, "nominal") for name in plan.strata)
    return Needed(tuple(columns), strata, weight, watched, tuple(_recoded(plan, column) for column in pairs))


def _recoded(plan: Plan, column: StoredColumn) -> StoredColumn:
    """The column with what it was: where levels are joined, without the order of the joined ones."""
    plain = replace(column, type="nominal", levels=()) if column.name in plan.regroup else column
    return replace(column, before=replace(plain, prefix=WAS))


def look_at_some(plan: Plan, needed: Needed, some: Any, changed: Sequence[str] = ()) -> tuple[str, ...]:
    """Notes on rows drawn from the whole table; what must not be published as it is is refused.

    `changed` are the strata that were merged.
    """
    columns = {c.name: require_few_codes(c.read(some[c.name])) for c in needed.chosen}
    names = [name for name in some.column_names if not name.startswith((WAS, MERGED))]
    changed = [*changed, *(column.name for column in needed.kept)]
    suspects, notes = look(plan, Frame(some.select(names)), columns, changed)
    refuse(suspects)
    return notes
