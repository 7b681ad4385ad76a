"""The fields of a plan as options of a command: the same words on every command that takes them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from shoal.errors import InputError
from shoal.plan.options import OPTIONS, SHAPES, Option

if TYPE_CHECKING:
    from shoal.plan import Plan

#: The plan that the options of a command make; typer never sees it.
Wanted = Any

_K = Annotated[
    str | None,
    typer.Option("-k", metavar="K", help="How many records must share each combination; or a plan says it."),
]
_PLAN = Annotated[
    Path | None,
    typer.Option("--plan", metavar="PLAN", help="A plan that `shoal plan` wrote; it says all the rest."),
]


def planned(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command -k, --plan and every option of a plan; it takes the plan itself as `wanted`."""
    hints = get_type_hints(command, include_extras=True)
    own = list(inspect.signature(command).parameters.values())
    at = next(j for j, parameter in enumerate(own) if parameter.name == "wanted")
    kinds = {"k": _K, "plan": _PLAN} | {option.field: _kind(option) for option in OPTIONS}
    defaults = {option.field: False if option.shape == "switch" else None for option in OPTIONS}
    given = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in kinds
    ]
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own[at + 1 :]]

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        typed = {name: options.pop(name) for name in kinds}
        command(*arguments, wanted=plan_of(typed.pop("k"), typed.pop("plan"), typed), **options)

    parameters = [p.replace(annotation=hints[p.name]) for p in own[:at]]
    parameters += [p.replace(annotation=kinds[p.name]) for p in given]
    parameters += [p.replace(annotation=hints[p.name]) for p in rest]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _kind(option: Option) -> Any:
    kind = SHAPES[option.shape].kind
    more = "; repeat it" if kind is list else ""
    declared = typer.Option(*option.flags, metavar=option.metavar, help=f"{option.help}{more}.")
    return Annotated[{list: list[str] | None, bool: bool}.get(kind, kind | None), declared]


def plan_of(k: str | None, file: Path | None, typed: dict[str, Any]) -> Plan:
    """The plan in the file, or one of k and what was typed.

    A plan says everything: an option beside it would make another release than the plan's.
    """
    from shoal.plan import Plan

    asked = [option for option in OPTIONS if (given := typed[option.field]) or type(given) in (int, float)]
    if file is not None:
        for option in asked:
            raise InputError(f"{option.flags[-1]} is the plan's to say: change it there, or leave --plan out")
        return Plan.read(file, None if k is None else whole(k))
    if k is None:
        raise InputError("how many records must share each combination? give -k, such as -k 5, or a --plan")
    return Plan(whole(k), **{option.field: option.read(typed[option.field]) for option in asked})


def whole(text: str) -> Any:
    """The whole number that was typed, or the text itself, which the plan then refuses in its own words."""
    try:
        return int(text)
    except ValueError:
        return text if len(text) <= 40 else f"{text[:40]}..."
