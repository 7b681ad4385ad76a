"""A plan as text: a command line of `shoal protect`, or lines of Python, that make the same release again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from shoal.plan import Plan
from shoal.plan.options import OPTIONS, SHAPES
from shoal.plan.values import plain_value

_RECORDS = {"version", "sha256"}  # what a plan records of itself; they do not shape the release
_IMPLIED = ("other", "quasi", "stratum", "weight", "unit")  # roles that another field says


def changed(plan: Plan) -> list[str]:
    """The fields but k that are not at their default, in the plan's order."""
    return [name for name in plan.differs() if name not in _RECORDS]


def as_command(
    plan: Plan, source: str, target: str | None = None, columns: Sequence[Any] | None = None
) -> str:
    """`shoal protect` with options, or with `--plan plan.toml` where no option says what the plan says.

    `columns` are those that were protected, where the plan leaves them open.

    Examples
    --------
    >>> from shoal.plan import Plan
    >>> as_command(Plan(k=5, columns=["wages"], seed=7), "firms.csv")
    'shoal protect firms.csv -k 5 --column=wages --seed=7'
    >>> as_command(Plan(k=5, levels={"size": ["1", "2"]}), "firms.csv", "out.csv")
    'shoal protect firms.csv -k 5 --levels=size=1,2 -o out.csv'
    """
    words = ["shoal", "protect", f"./{source}" if source.startswith("-") else source]
    if needs_file(plan):
        words += ["--plan", "plan.toml"]
    else:
        words += ["-k", str(plan.k)]
        asked = {name: getattr(plan, name) for name in changed(plan)} | {"roles": _roles(plan)}
        asked |= {"columns": columns or plan.columns or ()}
        for option in OPTIONS:
            if option.field in asked and not (option.field == "columns" and plan.blocks):
                words += option.write(asked[option.field])
    return shlex.join(words if target is None else [*words, "-o", target])


def as_python(
    plan: Plan,
    source: str | None = None,
    target: str | None = None,
    columns: Sequence[Any] | None = None,
    call: str = "shoal.microaggregate(data",
) -> str:
    """A `call` with the plan's fields on one line, or a script that reads and writes files.

    Examples
    --------
    >>> from shoal.plan import Plan
    >>> as_python(Plan(k=5, columns=["wages"], strata=["region"]))
    "shoal.microaggregate(data, k=5, columns=['wages'], strata=('region',))"
    """
    words = [f"k={plan.k}"]
    words.append(f"columns={list(columns or plan.columns or ())!r}")
    for name in changed(plan):
        value = _roles(plan) if name == "roles" else getattr(plan, name)
        if name != "columns" and not (name == "roles" and not value):
            words.append(f"{name}={value!r}")
    if source is None:
        return f"{call}, {', '.join(words)})"
    call = "".join(f"    {word},\n" for word in [repr(source), *words])
    ending = "" if target is None else f"release.write({target!r})\n"
    return f"import shoal\n\nrelease = shoal.microaggregate(\n{call})\n{ending}"


def _roles(plan: Plan) -> dict[Any, str]:
    """The roles that no other field says."""
    return {name: role for name, role in plan.roles.items() if role not in _IMPLIED}


def needs_file(plan: Plan) -> bool:
    """Whether the plan says what typed words do not give back: a text that looks like a number, say."""
    for option in OPTIONS:
        value = _roles(plan) if option.field == "roles" else getattr(plan, option.field)
        if option.field in changed(plan) and SHAPES[option.shape].kind is list and value:
            words = SHAPES[option.shape].write(value)
            if plain_value(option.read(words)) != plain_value(value):
                return True
    return False
