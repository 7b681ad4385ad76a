"""What blocks cannot do: said in one sentence before any work begins."""

from __future__ import annotations

from typing import Any

from shoal.errors import InputError
from shoal.grouping.registry import get_method

#: Fields of a plan that need the whole table at once, and the value that means "not asked for".
_WHOLE_TABLE: dict[str, Any] = {
    "strata": (),
    "weight": None,
    "blocks": None,
    "per_column": False,
    "log": (),
    "column_weights": {},
    "centroids": {},
    "preserve": None,
    "time_limit": None,
    "levels": {},
}


def refuse(plan: Any) -> None:
    """Raise if the plan asks for what needs the whole table in memory."""
    info = get_method(plan.method, plan.parameters)
    asked = [name for name, absent in _WHOLE_TABLE.items() if getattr(plan, name) != absent]
    if plan.scaling not in ("standard", {}):
        asked.append("scaling")
    if asked:
        raise InputError(
            f"{' and '.join(asked)} cannot be had in blocks: leave that out, or protect the table in memory "
            "(--engine memory)"
        )
    if info.columns == "one" and (plan.columns is None or len(plan.columns) > 1):
        raise InputError(f"method {info.key!r} groups by one column: name one, or take another method")
