"""The values that a plan may have: each made of what was given for it, or refused in one sentence.

`roles` and the fields that give roles say the same, whichever was given.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, did_you_mean
from shoal.plan.fields import Column
from shoal.plan.options import OPTIONS, scalar
from shoal.plan.steps import join, rounding, tail
from shoal.words import CENTROIDS, PRESERVE, ROLES, SCALINGS, TYPES, WORDS

if TYPE_CHECKING:
    from shoal.plan.model import Plan


_SAID = {"other": "kept"}  # how messages call a role
#: Roles that one column may have both of.
_TOGETHER = ({"quasi", "stratum"}, {"other", "stratum"}, {"other", "confidential"})
Maker = Callable[[str, Any], Any]
_LONGEST = sys.float_info.max  # seconds


def value_of(field: str, given: Any) -> Any:
    """The field's value, of what was given for it."""
    return _MADE_OF.get(field, _as_given)(field, given)


def check_words(plan: Plan) -> None:
    """Refuse what is no word of a field, and a word that others forbid."""
    for name, levels in plan.levels.items():
        if isinstance(levels, str) or not isinstance(levels, Collection):
            raise InputError(f"the levels of column {name!r} are a list, lowest first, not {levels!r}")
    one_each: list[tuple[str, Collection[Any], Collection[str]]] = [
        ("role", plan.roles.values(), ROLES),
        ("type", plan.types.values(), TYPES),
        ("scaling", _each(plan.scaling), SCALINGS),
        ("centroid", _each(plan.centroids), CENTROIDS),
        *((name, [getattr(plan, name)], known) for name, known in WORDS.items()),
        ("preserve", [] if plan.preserve is None else [plan.preserve], PRESERVE),
    ]
    for what, given, known in one_each:
        for word in given:
            if word not in known:
                raise InputError(f"unknown {what} {word!r}: {did_you_mean(str(word), known)}")
    if plan.unit and plan.order == "keep" and plan.pseudonyms is None:
        raise InputError("a unit's rows may lie side by side: with unit, order is 'shuffle', not 'keep'")
    if plan.pseudonyms is not None and not plan.unit and "unit" not in plan.roles.values():
        raise InputError("pseudonyms are new numbers of units: name the unit (--unit, unit=)")
    for name, weight in plan.column_weights.items():
        if not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
            raise InputError(f"the weight of column {name!r} must be a number from 0 up, not {weight!r}")
    _ = plan.rules  # which says what is wrong with one


def _each(given: Any) -> Collection[str]:
    return (given,) if isinstance(given, str) else dict(given).values()


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is not None and number.bit_length() > 128:
        raise InputError(f"{name} must be a whole number of at least {least} and at most 38 digits")
    if number is None or isinstance(value, bool) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return number


def _positive(name: str, given: Any, most: float, called: str) -> float:
    if not isinstance(given, Real) or isinstance(given, bool) or not 0 < float(given) <= most:
        raise InputError(f"{name} must be {called}, not {given!r}")
    return float(given)


def _switch(name: str, given: Any) -> bool:
    """A word such as "no" must not pass for true."""
    if not isinstance(given, bool):
        raise InputError(f"{name} is true or false, not {given!r}")
    return given


def _method(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise InputError(f"{name} is the name of one method, not {given!r}; compare has methods=[...]")
    return given.strip().lower().replace("-", "_")


def _names(name: str, given: Any) -> tuple[Any, ...]:
    """Several columns, or one: a text, or anything else that has no members."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


def _codes(name: str, given: Any) -> tuple[Any, ...] | dict[Any, tuple[Any, ...]]:
    """Values for all columns, or for each column; one alone may stand without a list."""
    if isinstance(given, Mapping):
        return {column: _names(name, codes) for column, codes in given.items()}
    return _names(name, given)


def _mapping(name: str, given: Any) -> dict[Any, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{name} is a mapping, such as {{'name': value}}, not {given!r}")
    return dict(given or {})


def _by_column(make: Callable[[str, Any, Any], Any]) -> Maker:
    """A mapping whose values are made, each with its column."""
    return lambda name, given: {c: make(name, c, value) for c, value in _mapping(name, given).items()}


def _word_or_pairs(name: str, given: Any) -> str | Mapping[Any, str]:
    if not isinstance(given, (str, Mapping, type(None))):
        raise InputError(f"{name} is a word, or a word for each column, not {given!r}")
    return {} if given is None else given


def _as_given(name: str, given: Any) -> Any:
    return given


def _optional(make: Maker) -> Maker:
    return lambda name, given: None if given is None else make(name, given)


#: How a value is made, by the shape of the field's option.
_BY_SHAPE: dict[str, Maker] = {
    "switch": _switch,
    "names": _names,
    "blocks": _optional(lambda name, given: tuple(_names(name, block) for block in given)),
    "codes": _codes,
    "word or pairs": _word_or_pairs,
    **dict.fromkeys(("pairs", "numbers", "lists", "settings"), _mapping),
    # A number that is written as text is that number: the plan is the same.
    "rules": _by_column(lambda name, column, rule: scalar(rule) if isinstance(rule, str) else rule),
}
#: By the field, where its shape does not say all.
_MADE_OF: dict[str, Maker] = {
    **{option.field: _BY_SHAPE.get(option.shape, _as_given) for option in OPTIONS},
    "method": _method,
    "k": lambda name, value: _whole(name, value, 1),
    "seed": lambda name, value: _whole(name, value, 0),
    "contributors": lambda name, value: _whole(name, value, 1),
    "contributor_share": lambda name, value: _positive(name, value, 1, "a share above 0 and up to 1"),
    "time_limit": _optional(
        lambda name, value: _positive(name, value, _LONGEST, "a positive number of seconds")
    ),
    "top": _by_column(tail),
    "bottom": _by_column(tail),
    "regroup": _by_column(join),
    "round": _by_column(rounding),
    "pseudonyms": _optional(lambda name, value: os.fspath(value)),
    "columns": _optional(_names),
    "known": _optional(_names),
}


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


def plain_value(value: Any) -> Any:
    """As JSON: columns by their text, lists alike, and 2.0 as 2."""
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    if isinstance(value, Real):
        number: Any = value
        return int(number) if number % 1 == 0 else float(number)
    if isinstance(value, str) or value is None:
        return value
    return [plain_value(inner) for inner in value] if isinstance(value, Iterable) else str(value)
