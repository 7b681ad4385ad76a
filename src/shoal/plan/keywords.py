"""Keywords at the door: those that a signature lists, and one sentence for any other.

What was allowed in 0.1 still works where it is named here, with a DeprecationWarning, until 0.3.
"""

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING
from typing import Any, ParamSpec, TypeVar, cast

import shoal
from shoal.errors import InputError, did_you_mean
from shoal.plan.fields import PlanFields

P = ParamSpec("P")
R = TypeVar("R")
_CALLER = 3  # frames up from `warnings.warn`: the warner, the public function, its caller


def explicit(
    plan: type | None = None, *, loose: bool = False, positional: int = 0
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Answer keywords that the signature lacks with InputError and a hint.

    `loose`: a parameter of the method may come as a keyword of its own. `positional`: as many keywords, the
    first of the signature, may come by position. Both are deprecated. Type checkers see the signature alone.
    A function that takes `**fields: Unpack[PlanFields]` says when asked that it takes the fields of `plan`.
    """

    def door(function: Callable[P, R]) -> Callable[P, R]:
        parameters, listed = _parameters(function, plan)
        known = [parameter.name for parameter in parameters]
        places = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        former = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY][:positional]

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> R:
            extra = arguments[len(places) :]
            if extra and len(extra) <= len(former):
                given |= _by_position(dict(zip(former, extra)), given)
                arguments = arguments[: len(places)]
            if any(name not in known for name in given):
                given = take_loose(given, known, loose)
            return function(*arguments, **given)

        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__doc__ = (function.__doc__ or "").replace("**fields", listed)
        return cast("Callable[P, R]", call)

    return door


def _parameters(function: Callable[..., Any], plan: type | None) -> tuple[list[inspect.Parameter], str]:
    """What a function takes, with the fields of a plan one by one before its own; and these fields' names."""
    own = list(inspect.signature(function).parameters.values())
    if plan is None:
        return own, ""
    kinds = PlanFields.__annotations__
    fields = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if f.default is MISSING else f.default,
            annotation=kinds[f.name],
        )
        for f in dataclasses.fields(plan)
        if f.name in kinds
    ]
    first = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
    return [*first, *fields, *own[len(first) : -1]], ", ".join(p.name for p in fields)


def _by_position(values: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in values:
        if name in given:
            raise InputError(f"{name} is given twice, by position and by name: leave one out")
    words = ", ".join(f"{name}=..." for name in values)
    warnings.warn(
        f"values by position are deprecated and end with shoal 0.3: write {words}",
        DeprecationWarning,
        stacklevel=_CALLER,
    )
    return values


def take_loose(given: Mapping[str, Any], known: Collection[str], loose: bool = True) -> dict[str, Any]:
    """The keywords, with loose parameters of the method among its `parameters`; others are refused."""
    key = given.get("method", "auto")
    every = {name: info.parameters for name, info in shoal.methods().items()}
    own = every.get(key, {}) if isinstance(key, str) else {}
    found = {name: value for name, value in given.items() if name not in known}
    words = ", ".join(f"{name!r}: {value!r}" for name, value in found.items())
    for name in found:
        others = [other for other in every if name in every[other]]
        if name not in own and others:
            raise InputError(f"{name!r} is no parameter of method {key!r}, but of {', '.join(others)}")
        if name not in own:
            raise InputError(f"unknown keyword {name!r}: {did_you_mean(name, [*known, *own])}")
        if not loose:
            raise InputError(f"{name!r} is a parameter of method {key!r}: write parameters={{{words}}}")
    warnings.warn(
        f"a method's parameters as loose keywords are deprecated and end with shoal 0.3: "
        f"write parameters={{{words}}}",
        DeprecationWarning,
        stacklevel=_CALLER,
    )
    kept = {name: value for name, value in given.items() if name in known}
    return {**kept, "parameters": {**(given.get("parameters") or {}), **found}}
