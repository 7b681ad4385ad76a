"""Plans as TOML files: every decision in plain sight, one table for each column."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Collection, Mapping
from typing import Any

import shoal
from shoal.errors import InputError, did_you_mean
from shoal.plan import Plan
from shoal.plan.options import FOR_ALL, OPTIONS

#: Keys of [release]: fields that say one thing of the whole release.
_RELEASE = (
    "k",
    *(o.field for o in OPTIONS if o.shape in ("word", "whole", "number", "switch") and o.field != "weight"),
)
_MADE = ("version", "sha256")
#: Key of a column -> field of the plan, which maps columns to values.
_FIELDS = {
    o.field if o.shape == "codes" else o.flags[-1][2:].replace("-", "_"): o.field
    for o in OPTIONS
    if o.shape in ("pairs", "numbers", "rules", "lists", "joins", "word or pairs", "codes")
    and o.field != "roles"
}
#: Key of a column, true or false -> field of the plan, which lists columns. A role says the other lists.
_SIGNS = {
    o.flags[-1][2:].replace("-", "_"): o.field
    for o in OPTIONS
    if o.shape == "names" and o.field not in ("columns", "unit", "keep")
}
_COLUMN = ("role", "block", *_SIGNS, *_FIELDS)
_BLOCK = ("block", int, "a whole number")
_SECTIONS = ("made", "release", "parameters", "columns")
_COMMENTS = {
    **{option.field: option.help for option in OPTIONS},
    "k": "Records (units) that share a published combination, at least; `shoal suggest` finds k for a risk",
    "version": "Of shoal that wrote this plan",
    "sha256": "Of the data it was written for",
}


def as_toml(plan: Plan, reasons: Mapping[Any, str]) -> str:
    """The plan as TOML, with comments; what is at its default in a column is left out."""
    lines = ["# A plan for shoal. Change what you like; unknown words are refused."]
    lines += _section("made", {"version": shoal.__version__, "sha256": plan.sha256})
    given = {name: getattr(plan, name) for name in FOR_ALL}
    words = {name: x for name, x in given.items() if x and not isinstance(x, Mapping)}
    lines += _section("release", {**{name: getattr(plan, name) for name in _RELEASE}, **words})
    if plan.parameters:
        lines += _section("parameters", plan.parameters)
    lines += [
        "",
        "# Roles: quasi (grouped on and replaced), identifier (dropped), stratum (groups never cross it),",
        "# weight (survey weight), unit (whom k counts; dropped), confidential and other (published as they",
        "# are). A column that has no role here and looks like an identifier is asked about.",
        "# Types: continuous, integer, date, ordinal, nominal, boolean. Also: levels (of an ordinal column,",
        "# lowest first), scaling (standard, robust, range, rank, none), log, column_weight (in distances),",
        "# centroid (mean, median, trimmed, mode), block (columns of one number are grouped together),",
        "# missing_codes (values that stand for a gap), known (an intruder may know this kept column),",
        '# top and bottom (a value, or "q0.99": what lies beyond is capped), regroup ({ New = ["a", "b"],',
        '# rare = 20 }: levels are joined), round (decimals, "sig:3" or "base:5"),',
        "# by_record (a column that is the same in all records of a unit is still grouped over records).",
        "# What each group must hold of a column: diversity (3, 'entropy:2', 'recursive:3,2', 'share:0.6'),",
        "# closeness (0.2, 'beta:1.5', 'delta:1'), dominance ('1:80', 'p:10'), spread (0.2, 'rel:0.1').",
    ]
    for name, facts in _tables(plan, reasons).items():
        lines += ["", f"[columns.{_text(str(name))}]" + _remark(reasons.get(name))]
        lines += [f"{key} = {_value(value)}" for key, value in facts.items()]
    return "\n".join(lines) + "\n"


def _section(title: str, values: Mapping[str, Any]) -> list[str]:
    lines = ["", f"[{title}]"]
    for name, value in values.items():
        if value is not None:
            lines.append(f"{_key(name)} = {_value(value)}{_remark(_COMMENTS.get(name))}")
    return lines


def _tables(plan: Plan, reasons: Mapping[Any, str]) -> dict[Any, dict[str, Any]]:
    """The table of each column. Quasi columns keep their order, which decides ties; the rest follow."""
    same = [name for name in reasons if name in (plan.columns or ())] == list(plan.columns or ())
    names = [*(reasons if same else ()), *(plan.columns or ()), *plan.roles, *reasons]
    facts: list[tuple[str, Any, Any]] = [("role", name, role) for name, role in plan.roles.items()]
    for key, field in _FIELDS.items():
        given = getattr(plan, field)
        facts += [(key, name, value) for name, value in given.items()] if isinstance(given, Mapping) else []
    for key, field in _SIGNS.items():
        listed = getattr(plan, field) or ()
        facts += [(key, n, True) for n in listed if key != "stratum" or plan.roles[n] != "stratum"]
    for number, block in enumerate(plan.blocks or (), 1):
        facts += [("block", name, number) for name in block]
    tables: dict[Any, dict[str, Any]] = {name: {} for name in names}
    for key, name, value in facts:
        tables.setdefault(name, {})[key] = value
    return tables


def read_plan(path: str | os.PathLike[str], k: int | None = None) -> Plan:
    """The plan in a TOML file; `k` fills in, or must agree with, the one it has."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode()
    except FileNotFoundError:
        raise InputError(
            f"there is no plan {str(path)!r}: `shoal plan FILE > plan.toml` writes one"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not a plan in TOML: {error}") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    return parse_plan(text, k, repr(str(path)))


def parse_plan(text: str, k: int | None = None, called: str = "the text") -> Plan:
    """The plan in a text, which messages call so."""
    try:
        found = tomllib.loads(text)
        repr(found)  # which Python refuses where a number (0xfff...) has too many digits
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{called} is not a plan in TOML: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(
            f"{called} is no plan: a number has too many digits, or lists lie too deep in lists"
        ) from None
    _known("section", found, _SECTIONS)
    _known("key of [made]", _table(found, "made"), _MADE)
    release = _table(found, "release")
    _known("key of [release]", release, (*_RELEASE, *FOR_ALL))
    if k is not None and release.get("k", k) != k:
        raise InputError(f"the plan says k={release['k']}, and you say k={k}: change one of them")
    if k is None and "k" not in release:
        raise InputError("the plan has no k: give one (-k)")
    settings = {"k": k, **release, **_table(found, "made"), "parameters": _table(found, "parameters")}
    return Plan(**{**settings, **_columns(_table(found, "columns"))})


def _columns(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan that the tables of its columns fill."""
    fields: dict[str, Any] = {"roles": {}, "strata": []}
    blocks: dict[int, list[str]] = {}
    for name, facts in tables.items():
        if not isinstance(facts, dict):
            raise InputError(f"[columns] holds a table for each column, but {name!r} is {facts!r}")
        _known(f"key of column {name!r}", facts, _COLUMN)
        for key, kind, what in (*((key, bool, "true or false") for key in _SIGNS), _BLOCK):
            if type(facts.get(key, kind())) is not kind:
                raise InputError(f"{key} of column {name!r} is {what}, not {facts[key]!r}")
        if "role" in facts:
            fields["roles"][name] = facts["role"]
        if facts.get("role") == "stratum":
            fields["strata"].append(name)
        for key, field in _SIGNS.items():
            if facts.get(key):
                fields.setdefault(field, []).append(name)
        for key, field in _FIELDS.items():
            if key in facts:
                fields.setdefault(field, {})[name] = facts[key]
        if "block" in facts:
            blocks.setdefault(facts["block"], []).append(name)
    if blocks:
        fields["blocks"] = [blocks[number] for number in sorted(blocks)]
    return fields


def _table(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"[{name}] of the plan must be a table, not {table!r}")
    return table


def _known(what: str, given: Collection[str], known: Collection[str]) -> None:
    for word in given:
        if word not in known:
            raise InputError(f"unknown {what} {word!r} in the plan: {did_you_mean(word, known)}")


def _remark(text: str | None) -> str:
    return "" if not text else "  # " + _text(" ".join(text.split()))[1:-1].replace('\\"', '"')


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(name))} = {_value(v)}" for name, v in value.items()) + " }"
    return _text(str(value))


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _text(name)


def _text(text: str) -> str:
    """As a quoted text, with what steers a terminal escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\xa0" else f"\\U{ord(c):08x}" for c in quoted)
