"""What blocks cannot do: said in one sentence before any work begins."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.engines.blocks.columns import Needed, StoredColumn, stored_column
from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.types import require_few_codes
from shoal.plan import Plan
from shoal.stages.group import refuse_plan
from shoal.stages.kept import look, refuse
from shoal.stages.round import refuse_rounding
from shoal.verify.requirements import refuse_without_numbers

#: Fields of a plan that need the whole table at once, and the values that mean "not asked for".
WHOLE_TABLE: dict[str, tuple[Any, ...]] = {
    "merge_small_strata": (False,),
    "blocks": (None,),
    "per_column": (False,),
    "top": ({},),
    "bottom": ({},),
    "regroup": ({},),
    "decimals": (False,),
    "pseudonyms": (None,),
}


def columns_to_protect(plan: Plan, schema: Any) -> Needed:
    """The columns that the plan needs of a table of this schema; a sentence says what cannot be."""
    asked = [name for name, absent in WHOLE_TABLE.items() if getattr(plan, name) not in absent]
    if asked:
        raise InputError(
            f"{' and '.join(asked)} cannot be had in blocks: leave that out, or protect the table in memory "
            "(--engine memory)"
        )
    codes = plan.missing_codes if isinstance(plan.missing_codes, dict) else ()
    frame = Frame(schema.empty_table())
    named = [*plan.roles, *plan.types, *plan.by_record, *(plan.known or ()), *codes, *plan.levels]
    frame.find([*named, *(rule.column for rule in plan.rules)])

    def of(name: Any, kind: str | None = None) -> StoredColumn:
        kind = kind or plan.types.get(name) or ("ordinal" if name in plan.levels else None)
        levels = tuple(plan.levels.get(name, ())) if kind == "ordinal" else ()
        stored = stored_column(schema, name, kind)
        return replace(stored, codes=tuple(plan.codes_of(name)), levels=levels)

    columns = [of(name) for name in frame.choose(plan.columns, set(plan.roles))]
    weight = None if plan.weight is None else of(plan.weight)
    if weight is not None and weight.empty.type not in ("integer", "continuous"):
        raise InputError(f"column {plan.weight!r} is {weight.stored}, but a weight is a number: name another")
    watched = tuple((rule, of(rule.column)) for rule in plan.rules)
    for rule, column in watched:
        refuse_without_numbers(rule, column.empty)
    for name in plan.round:
        if name not in [column.name for column in columns]:
            raise InputError(
                f"column {name!r} is not protected: blocks round only columns that are; leave it out"
            )
    refuse_rounding(plan, [column.empty for column in columns])
    refuse_plan(plan, [column.empty for column in columns], [columns], weighted=weight is not None)
    return Needed(tuple(columns), tuple(of(name, "nominal") for name in plan.strata), weight, watched)


def look_at_some(plan: Plan, chosen: Sequence[StoredColumn], some: Any) -> tuple[str, ...]:
    """Notes on rows drawn from the whole table; what must not be published as it is is refused."""
    columns = {c.name: require_few_codes(c.read(some[c.name])) for c in chosen}
    kept = look(plan, Frame(some), columns)
    refuse(kept.suspects)
    return kept.notes
