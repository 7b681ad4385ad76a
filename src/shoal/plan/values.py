"""The values that a plan may have: each made of what was given for it, or refused in one sentence."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, did_you_mean
from shoal.plan.options import OPTIONS, scalar
from shoal.plan.steps import joins, roundings, tails
from shoal.words import CENTROIDS, PRESERVE, ROLES, SCALINGS, TYPES, WORDS

if TYPE_CHECKING:
    from shoal.plan.model import Plan


def value_of(field: str, given: Any) -> Any:
    """The field's value, of what was given for it."""
    return _MADE_OF.get(field, _as_given)(field, given)


def check_words(plan: Plan) -> None:
    """Refuse what is no word of a field, and a word that others forbid."""
    for name, levels in plan.levels.items():
        if isinstance(levels, str) or not isinstance(levels, Collection):
            raise InputError(f"the levels of column {name!r} are a list, lowest first, not {levels!r}")
    for role in plan.roles.values():
        _word("role", role, ROLES)
    for kind in plan.types.values():
        _word("type", kind, TYPES)
    for scaling in _each(plan.scaling):
        _word("scaling", scaling, SCALINGS)
    for centroid in _each(plan.centroids):
        _word("centroid", centroid, CENTROIDS)
    for name, known in WORDS.items():
        _word(name, getattr(plan, name), known)
    if plan.preserve is not None:
        _word("preserve", plan.preserve, PRESERVE)
    if plan.unit and plan.order == "keep" and plan.pseudonyms is None:
        raise InputError("a unit's rows may lie side by side: with unit, order is 'shuffle', not 'keep'")
    if plan.pseudonyms is not None and not plan.unit and "unit" not in plan.roles.values():
        raise InputError("pseudonyms are new numbers of units: name the unit (--unit, unit=)")
    for name, weight in plan.column_weights.items():
        if not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
            raise InputError(f"the weight of column {name!r} must be a number from 0 up, not {weight!r}")
    _ = plan.rules  # which says what is wrong with one


def _word(what: str, word: Any, known: Collection[str]) -> None:
    if word not in known:
        raise InputError(f"unknown {what} {word!r}: {did_you_mean(str(word), known)}")


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


def _seconds(name: str, given: Any) -> float | None:
    if given is None:
        return None
    if not isinstance(given, Real) or isinstance(given, bool) or not 0 < float(given) < math.inf:
        raise InputError(f"{name} must be a positive number of seconds, not {given!r}")
    return float(given)


def _share(name: str, given: Any) -> float:
    if not isinstance(given, Real) or isinstance(given, bool) or not 0 < float(given) <= 1:
        raise InputError(f"{name} must be a share above 0 and up to 1, not {given!r}")
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


def _names_or_none(name: str, given: Any) -> tuple[Any, ...] | None:
    return None if given is None else _names(name, given)


def _blocks(name: str, given: Any) -> tuple[tuple[Any, ...], ...] | None:
    return None if given is None else tuple(_names(name, block) for block in given)


def _codes(name: str, given: Any) -> tuple[Any, ...] | dict[Any, tuple[Any, ...]]:
    """Values for all columns, or for each column; one alone may stand without a list."""
    if isinstance(given, Mapping):
        return {column: _names(name, codes) for column, codes in given.items()}
    return _names(name, given)


def _mapping(name: str, given: Any) -> dict[Any, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{name} is a mapping, such as {{'name': value}}, not {given!r}")
    return dict(given or {})


def _rules(name: str, given: Any) -> dict[Any, Any]:
    """A number that is written as text is that number: the plan is the same."""
    rules = _mapping(name, given)
    return {column: scalar(rule) if isinstance(rule, str) else rule for column, rule in rules.items()}


def _word_or_pairs(name: str, given: Any) -> str | Mapping[Any, str]:
    if not isinstance(given, (str, Mapping, type(None))):
        raise InputError(f"{name} is a word, or a word for each column, not {given!r}")
    return {} if given is None else given


def _as_given(name: str, given: Any) -> Any:
    return given


Maker = Callable[[str, Any], Any]
#: How a value is made, by the shape of the field's option.
_BY_SHAPE: dict[str, Maker] = {
    "switch": _switch,
    "names": _names,
    "blocks": _blocks,
    "codes": _codes,
    "word or pairs": _word_or_pairs,
    **dict.fromkeys(("pairs", "numbers", "lists", "settings"), _mapping),
    "rules": _rules,
}
#: By the field, where its shape does not say all.
_MADE_OF: dict[str, Maker] = {
    **{option.field: _BY_SHAPE.get(option.shape, _as_given) for option in OPTIONS},
    "method": _method,
    "k": lambda name, value: _whole(name, value, 1),
    "seed": lambda name, value: _whole(name, value, 0),
    "contributors": lambda name, value: _whole(name, value, 1),
    "contributor_share": _share,
    "time_limit": _seconds,
    "top": tails,
    "bottom": tails,
    "regroup": joins,
    "round": roundings,
    "pseudonyms": lambda name, value: None if value is None else os.fspath(value),
    "columns": _names_or_none,
    "known": _names_or_none,
}


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
