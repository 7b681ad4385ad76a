"""The same release by other means: lines of Python, and a command line."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from shoal.plan import Plan

_DEFAULTS = Plan(1)
_OPTIONS = ("missing", "scaling", "preserve", "seed", "time_limit")
_KEPT = ("other", "quasi", "stratum", "weight")  # roles that say nothing more on the command line


def python_lines(plan: Plan, source: str, target: str) -> str:
    """A call of `shoal.microaggregate` that makes the same release."""
    words = [repr(source), f"k={plan.k}", f"columns={list(plan.columns or ())!r}"]
    for f in fields(Plan):
        value = getattr(plan, f.name)
        if f.name in ("k", "columns", "sha256", "version") or value == getattr(_DEFAULTS, f.name):
            continue
        if f.name == "roles":
            value = {name: role for name, role in plan.roles.items() if role not in _KEPT}
            if not value:
                continue
        words.append(f"{f.name}={value!r}")
    call = "".join(f"    {word},\n" for word in words)
    return f"import shoal\n\nrelease = shoal.microaggregate(\n{call})\nrelease.write({target!r})\n"


def command_line(plan: Plan, source: str, target: str) -> str:
    """`shoal protect` with options, or with the plan where an option does not exist."""
    if plan.centroids:
        return shlex.join(["shoal", "protect", _path(source), "--plan", "plan.toml", "-o", target])
    words = ["shoal", "protect", _path(source), "-k", str(plan.k), "-m", plan.method]
    words += [f"--column={name}" for name in plan.columns or ()]
    words += [f"--type={name}={kind}" for name, kind in plan.types.items()]
    words += [f"--role={name}={role}" for name, role in plan.roles.items() if role not in _KEPT]
    words += [f"--stratum={name}" for name in plan.strata]
    words += [f"--weight={plan.weight}"] if plan.weight is not None else []
    words += [f"--set={name}={_typed(value)}" for name, value in plan.parameters.items()]
    for name in _OPTIONS:
        value = getattr(plan, name)
        if value != getattr(_DEFAULTS, name):
            words.append(f"--{name.replace('_', '-')}={value}")
    words += ["--merge-small-strata"] if plan.merge_small_strata else []
    words += ["--per-column"] if plan.per_column else []
    return shlex.join([*words, "-o", target])


def _path(name: str) -> str:
    """A name that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name


def _typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
