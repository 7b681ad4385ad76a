"""Roles of columns: `roles` and the fields that give roles say the same, whichever was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.plan.fields import Column

if TYPE_CHECKING:
    from shoal.plan.model import Plan

_SAID = {"other": "kept"}  # how messages call a role
#: Roles that one column may have both of.
_TOGETHER = ({"quasi", "stratum"}, {"other", "stratum"}, {"other", "confidential"})


def spread_roles(plan: Plan) -> dict[str, Any]:
    """The fields that give roles, and the roles that they give."""
    columns = plan.columns if plan.columns is not None else tuple(plan.named("quasi")) or None
    if plan.blocks is not None:
        columns = _columns_of(plan, plan.blocks, columns)
    spread: dict[str, Any] = {"columns": columns}
    for name, role in (("strata", "stratum"), ("unit", "unit"), ("keep", "other")):
        spread[name] = tuple(dict.fromkeys([*getattr(plan, name), *plan.named(role)]))
    weights = dict.fromkeys([*plan.named("weight"), *([] if plan.weight is None else [plan.weight])])
    if len(weights) > 1:
        raise InputError(f"{len(weights)} columns are weights, but only one can be: {list(weights)}")
    spread["weight"] = next(iter(weights), None)
    roles: dict[Column, str] = dict.fromkeys(spread["strata"], "stratum")
    given = [
        ("quasi", columns or ()),
        ("weight", weights),
        ("unit", spread["unit"]),
        ("other", spread["keep"]),
        ("confidential", [*plan.diversity, *plan.closeness]),
        *((role, [name]) for name, role in plan.roles.items()),
    ]
    for role, names in given:
        for name in names:
            both = {roles.get(name, role), role}
            if len(both) > 1 and both not in _TOGETHER:
                word = " and ".join(_SAID.get(word, word) for word in sorted(both))
                raise InputError(f"column {name!r} cannot be both {word}: choose one")
            if role != "stratum" and both != {"other", "stratum"}:
                roles[name] = "confidential" if "confidential" in both else role
    return spread | {"roles": roles}


def _columns_of(
    plan: Plan, blocks: Sequence[Sequence[Column]], columns: Sequence[Column] | None
) -> tuple[Column, ...]:
    """The columns of all blocks, each of them once."""
    listed = [name for block in blocks for name in block]
    if plan.per_column:
        raise InputError("blocks and per_column both say what to group on its own: give one of them")
    for name in listed:
        if listed.count(name) > 1:
            raise InputError(f"column {name!r} is in two blocks: name it once")
    if not all(blocks) or not blocks:
        raise InputError("a block has no column: name at least one in each")
    if columns is not None and set(columns) != set(listed):
        raise InputError("blocks and columns name different columns: blocks alone suffice")
    return tuple(listed)
