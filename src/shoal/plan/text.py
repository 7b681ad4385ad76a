"""A plan as text: a command line of `shoal protect`, or lines of Python, that make the same release again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from shoal.plan import Plan

#: Fields of a plan that stand as `--field=value` on the command line.
_PLAIN = ("weight", "missing", "scaling", "preserve", "seed", "time_limit")
_SWITCHES = ("merge_small_strata", "per_column")
_OPTIONS = {"k", "columns", "method", "parameters", "types", "roles", "strata", *_PLAIN, *_SWITCHES}
_RECORDS = {"version", "sha256"}  # what a plan records of itself; they do not shape the release
_IMPLIED = ("other", "quasi", "stratum", "weight")  # roles that another option says, or that are the default


def changed(plan: Plan) -> list[str]:
    """The fields that are not at their default, in the plan's order."""
    names = []
    for f in fields(plan):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.name not in _RECORDS and getattr(plan, f.name) != default:
            names.append(f.name)
    return names


def as_command(
    plan: Plan, source: str, target: str | None = None, columns: Sequence[Any] | None = None
) -> str:
    """`shoal protect` with options, or with `--plan plan.toml` where no option says what the plan says.

    `columns` are those that were protected, where the plan leaves them open.

    Examples
    --------
    >>> from shoal.plan import Plan
    >>> as_command(Plan(k=5, columns=["wages"], seed=7), "firms.csv")
    'shoal protect firms.csv -k 5 -m auto --column=wages --seed=7'
    >>> as_command(Plan(k=5, columns=["wages"], log=["wages"]), "firms.csv", "out.csv")
    'shoal protect firms.csv --plan plan.toml -o out.csv'
    """
    words = ["shoal", "protect", f"./{source}" if source.startswith("-") else source]
    if not needs_file(plan):
        words += ["-k", str(plan.k), "-m", plan.method]
        words += [f"--column={name}" for name in columns or plan.columns or ()]
        words += [f"--type={name}={kind}" for name, kind in plan.types.items()]
        words += [f"--role={name}={role}" for name, role in _roles(plan).items()]
        words += [f"--stratum={name}" for name in plan.strata]
        words += [f"--set={name}={_typed(value)}" for name, value in plan.parameters.items()]
        given = changed(plan)
        words += [f"--{name.replace('_', '-')}={getattr(plan, name)}" for name in _PLAIN if name in given]
        words += [f"--{name.replace('_', '-')}" for name in _SWITCHES if name in given]
    else:
        words += ["--plan", "plan.toml"]
    return shlex.join(words if target is None else [*words, "-o", target])


def as_python(
    plan: Plan, source: str | None = None, target: str | None = None, columns: Sequence[Any] | None = None
) -> str:
    """A call of `shoal.microaggregate`: of `data` on one line, or a script that reads and writes files.

    Examples
    --------
    >>> from shoal.plan import Plan
    >>> as_python(Plan(k=5, columns=["wages"], strata=["region"]))
    "shoal.microaggregate(data, k=5, columns=['wages'], strata=('region',))"
    """
    words = ["data" if source is None else repr(source), f"k={plan.k}"]
    words.append(f"columns={list(columns or plan.columns or ())!r}")
    for name in changed(plan):
        value = _roles(plan) if name == "roles" else getattr(plan, name)
        if name not in ("k", "columns") and not (name == "roles" and not value):
            words.append(f"{name}={value!r}")
    if source is None:
        return f"shoal.microaggregate({', '.join(words)})"
    call = "".join(f"    {word},\n" for word in words)
    ending = "" if target is None else f"release.write({target!r})\n"
    return f"import shoal\n\nrelease = shoal.microaggregate(\n{call})\n{ending}"


def _roles(plan: Plan) -> dict[Any, str]:
    """The roles that no other field says."""
    return {name: role for name, role in plan.roles.items() if role not in _IMPLIED}


def needs_file(plan: Plan) -> bool:
    """Whether the plan says what no option of `shoal protect` says."""
    plain = isinstance(plan.scaling, str) and all(map(_can_be_typed, plan.parameters.values()))
    return not plain or not set(changed(plan)) <= _OPTIONS


def _typed(value: Any) -> str:
    """A parameter as one types it after --set, where what is no JSON is a text."""
    return value if isinstance(value, str) else json.dumps(value)


def _can_be_typed(value: Any) -> bool:
    """Whether a parameter reads back as itself."""
    try:
        return bool(json.loads(_typed(value)) == value)
    except (TypeError, json.JSONDecodeError):
        return isinstance(value, str)
