"""What blocks cannot do: said in one sentence before any work begins."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.engines.blocks.columns import StoredColumn, stored_columns
from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.types import require_few_codes
from shoal.plan import Plan
from shoal.plan.rules import KINDS
from shoal.stages.group import refuse_plan
from shoal.stages.kept import look, refuse
from shoal.stages.round import refuse_rounding

#: Fields of a plan that need the whole table at once, and the values that mean "not asked for".
WHOLE_TABLE: dict[str, tuple[Any, ...]] = {
    "strata": ((),),
    "merge_small_strata": (False,),
    "weight": (None,),
    "blocks": (None,),
    "per_column": (False,),
    "log": ((),),
    "preserve": (None,),
    "time_limit": (None,),
    "levels": ({},),
    "scaling": ("standard", {}),
    "top": ({},),
    "bottom": ({},),
    "regroup": ({},),
    "decimals": (False,),
    "pseudonyms": (None,),
    **dict.fromkeys(KINDS, ({},)),
}


def columns_to_protect(plan: Plan, schema: Any) -> Sequence[StoredColumn]:
    """The columns that the plan protects in a table of this schema; a sentence says what cannot be."""
    asked = [name for name, absent in WHOLE_TABLE.items() if getattr(plan, name) not in absent]
    if asked:
        raise InputError(
            f"{' and '.join(asked)} cannot be had in blocks: leave that out, or protect the table in memory "
            "(--engine memory)"
        )
    codes = plan.missing_codes if isinstance(plan.missing_codes, dict) else ()
    Frame(schema.empty_table()).find([*plan.by_record, *(plan.known or ()), *codes])
    columns = stored_columns(schema, plan.columns, set(plan.roles), plan.types)
    columns = [replace(column, codes=plan.codes_of(column.name)) for column in columns]
    for name in plan.round:
        if name not in [column.name for column in columns]:
            raise InputError(
                f"column {name!r} is not protected: blocks round only columns that are; leave it out"
            )
    refuse_rounding(plan, [column.empty for column in columns])
    refuse_plan(plan, [column.empty for column in columns], [columns], weighted=False)
    return columns


def look_at_some(plan: Plan, chosen: Sequence[StoredColumn], some: Any) -> tuple[str, ...]:
    """Notes on rows drawn from the whole table; what must not be published as it is is refused."""
    columns = {c.name: require_few_codes(c.read(some[c.name])) for c in chosen}
    kept = look(plan, Frame(some), columns)
    refuse(kept.suspects)
    return kept.notes
