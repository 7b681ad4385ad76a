"""What blocks cannot do: said in one sentence before any work begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.engines.blocks.columns import StoredColumn, stored_columns
from shoal.errors import InputError
from shoal.plan import Plan
from shoal.stages.group import refuse_plan

#: Fields of a plan that need the whole table at once, and the values that mean "not asked for".
WHOLE_TABLE: dict[str, tuple[Any, ...]] = {
    "strata": ((),),
    "weight": (None,),
    "blocks": (None,),
    "per_column": (False,),
    "log": ((),),
    "preserve": (None,),
    "time_limit": (None,),
    "levels": ({},),
    "scaling": ("standard", {}),
    "unit": ((),),
    "missing_codes": ((),),
    "zeros": ("value",),
    "contributors": (2,),
    "thin": ("widen",),
    "contributor_share": (0.9,),
    "order": ("shuffle",),
}


def columns_to_protect(plan: Plan, schema: Any) -> Sequence[StoredColumn]:
    """The columns that the plan protects in a table of this schema; a sentence says what cannot be."""
    asked = [name for name, absent in WHOLE_TABLE.items() if getattr(plan, name) not in absent]
    if asked:
        raise InputError(
            f"{' and '.join(asked)} cannot be had in blocks: leave that out, or protect the table in memory "
            "(--engine memory)"
        )
    columns = stored_columns(schema, plan.columns, set(plan.roles), plan.types)
    refuse_plan(plan, [column.empty for column in columns], [columns], weighted=False)
    return columns
