"""The fields of a plan as options of a command: the same words on every command that takes them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from shoal.errors import InputError
from shoal.plan.options import OPTIONS, SHAPES, Option
from shoal.plan.options import listed as listed

if TYPE_CHECKING:
    from shoal.plan import Plan

#: The plan that the options of a command make; typer never sees it.
Wanted = Any
#: Of a command that tries several: each k and each method that was typed; None for none. Typer never sees it.
Tried = Any
#: What a command takes beside `wanted` that nobody types; `from_file` says whether --plan was given.
_UNTYPED = ("sizes", "methods", "from_file")

_PLAN = Annotated[
    Path | None,
    typer.Option("--plan", metavar="PLAN", help="A plan that `shoal plan` wrote; it says all the rest."),
]


def planned(
    k: str | None = None,
    several: bool = False,
    only: Collection[str] | Callable[[dict[str, Any]], Collection[str]] = (),
    why: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command -k, --plan and every option of a plan; it takes the plan itself as `wanted`.

    `k` is used where none is given. With `several`, -k and -m may name several: the command takes them as
    `sizes` and `methods`. Where `only` some fields have an effect, others are refused; `why` says why. Which
    these are may depend on the command's own options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        taken = inspect.signature(command).parameters
        own = [taken[name] for name in taken if name not in _UNTYPED]
        at = next(j for j, parameter in enumerate(own) if parameter.name == "wanted")
        said = (
            f"How many records must share each combination; {f'default: {k}' if k else 'or a plan says it'}"
        )
        size = Option("k", ("-k",), "word", "K", said)
        if several:
            size = Option("k", ("-k",), "names", "K,K,..", "Group sizes to try")
        kinds = {"k": _kind(size, several), "plan": _PLAN}
        kinds |= {option.field: _kind(option, several) for option in OPTIONS}
        switches = [option.field for option in OPTIONS if option.shape == "switch"]
        by_name = inspect.Parameter.KEYWORD_ONLY
        given = [
            inspect.Parameter(name, by_name, default=False if name in switches else None, annotation=kind)
            for name, kind in kinds.items()
        ]

        @functools.wraps(command)
        def run(*arguments: Any, **options: Any) -> None:
            typed = {name: options.pop(name) for name in kinds}
            size, file = typed.pop("k"), typed.pop("plan")
            effective = only(options) if callable(only) else only
            for option in _asked(typed) if effective else ():
                if option.field not in effective:
                    raise InputError(f"{option.flags[-1]} has no effect here: {why}")
            if several:
                from shoal.plan import Plan

                options["sizes"] = size and [Plan(whole(word)).k for word in listed(size, "-k")]
                options["methods"] = None if typed["method"] is None else listed(typed["method"], "-m")
                typed["method"], size = None, None
            if "from_file" in taken:
                options["from_file"] = file is not None
            options["wanted"] = (plans_of if several else plan_of)(size, file, typed, k)
            command(*arguments, **options)

        parameters = [p.replace(annotation=hints[p.name]) for p in own[:at]] + given
        parameters += [p.replace(kind=by_name, annotation=hints[p.name]) for p in own[at + 1 :]]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _kind(option: Option, several: bool) -> Any:
    kind = list if several and option.field == "method" else SHAPES[option.shape].kind
    more = "; commas, or again, for several" if kind is list else ""
    declared = typer.Option(*option.flags, metavar=option.metavar, help=f"{option.help}{more}.")
    return Annotated[{list: list[str] | None, bool: bool}.get(kind, kind | None), declared]


def _asked(typed: dict[str, Any]) -> list[Option]:
    return [option for option in OPTIONS if (given := typed[option.field]) or type(given) in (int, float)]


def plan_of(k: str | None, file: Path | None, typed: dict[str, Any], default: str | None = None) -> Plan:
    """The one plan that was asked for."""
    plan, *more = plans_of(k, file, typed, default)
    if more:
        raise InputError("a column has two rules of one kind: `shoal compare` tries both, here name one")
    return plan


def plans_of(
    k: str | None, file: Path | None, typed: dict[str, Any], default: str | None = None
) -> list[Plan]:
    """The plan in the file, or one of k and what was typed; several where a column has several rules.

    A plan says everything: an option beside it would make another release than the plan's.
    """
    from shoal.plan import Plan
    from shoal.plan.rules import KINDS, alternatives

    asked = _asked(typed)
    if file is not None:
        for option in asked:
            raise InputError(f"{option.flags[-1]} is the plan's to say: change it there, or leave --plan out")
        return [Plan.read(file, None if k is None else whole(k))]
    k = k or default
    if k is None:
        raise InputError("how many records must share each combination? give -k, such as -k 5, or a --plan")
    fields = {option.field: option.read(typed[option.field]) for option in asked}
    for option in asked:
        if option.field in KINDS:  # a column that was named again has several rules
            rules: dict[str, list[Any]] = {}
            for word in typed[option.field]:
                for column, rule in option.read([word]).items():
                    rules.setdefault(column, []).append(rule)
            fields[option.field] = rules
    return [Plan(whole(k), **chosen) for chosen in alternatives(fields)]


def whole(text: str) -> Any:
    """The whole number that was typed, or the text itself, which the plan then refuses in its own words."""
    try:
        return int(text)
    except ValueError:
        return text if len(text) <= 40 else f"{text[:40]}..."
