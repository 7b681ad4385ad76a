"""The everyday steps beside grouping, as a plan says them: tails, joined levels, rounding."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.plan.model import Plan


def tail(name: str, column: Any, value: Any) -> Any:
    """Where a tail begins: a number, a date as text, or a share of the values such as "q0.99"."""
    number = _number(value)
    if number is not None:
        return number
    text = str(value)
    share = _number(text[1:]) if text.startswith("q") else None
    if (share is not None and 0 < share < 1) or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text
    raise InputError(
        f"{name} of column {column!r} is a value, a date, or a share of the values such as q0.99, "
        f"not {value!r}"
    )


def rounding(name: str, column: Any, value: Any) -> int | str:
    """How many decimals, "sig:3" (significant digits) or "base:5" (multiples)."""
    kind, _, word = str(value).rpartition(":")
    number = None if isinstance(value, bool) else _number(word)
    whole = number is not None and number % 1 == 0 and number <= 15
    if number is not None and not kind and number < 0:
        raise InputError(
            f"round of column {column!r} is to {word} digits: they are 0 or more; to round to tens or "
            "hundreds, say base:10 or base:100"
        )
    if number is not None and kind == "" and whole:
        return int(number)
    if number is not None and kind == "sig" and whole and number >= 1:
        return f"sig:{int(number)}"
    if number is not None and kind == "base" and number > 0:
        return f"base:{word}"
    raise InputError(
        f"round of column {column!r} is a number of decimals (2), of significant digits (sig:3) or a base "
        f"(base:5), not {value!r}"
    )


def join(name: str, column: Any, value: Any) -> dict[Any, Any]:
    """New level -> the levels that it is joined of; "rare" -> the count below which levels are."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Mapping):
        if not isinstance(value, Iterable):
            raise _no_join(column, value)
        value = dict(read_join(column, word) for word in value)
    found: dict[Any, Any] = {}
    for title, members in value.items():
        if title == "rare":
            if not isinstance(members, int) or isinstance(members, bool) or members < 1:
                raise InputError(
                    f"regroup of column {column!r}: rare takes the count below which levels are joined, "
                    f"such as 20, not {members!r}"
                )
            found[title] = members
            continue
        members = (members,) if isinstance(members, str) else members
        if not isinstance(members, Iterable) or not (members := tuple(members)):
            raise _no_join(column, value)
        taken = {str(member) for other in found.values() if isinstance(other, tuple) for member in other}
        twice = [member for member in members if str(member) in taken]
        if twice:
            raise InputError(f"regroup of column {column!r} joins {twice[0]!r} twice: name it once")
        found[title] = members
    if not found:
        raise _no_join(column, value)
    return found


def read_join(column: Any, word: Any) -> tuple[str, Any]:
    """`Manual:miner,farmer` or `rare:20`; a level with a comma stands in double quotes."""
    title, sign, members = str(word).partition(":")
    if not sign or not title or not members:
        raise _no_join(column, word)
    if title == "rare":
        return title, int(members) if members.isdecimal() else members
    return title, tuple(next(csv.reader([members], skipinitialspace=True)))


def _no_join(column: Any, value: Any) -> InputError:
    return InputError(
        f"regroup of column {column!r} reads NEW:a,b (or {{'NEW': ['a', 'b']}}) or rare:20, not {value!r}"
    )


def _number(value: Any) -> int | float | None:
    """A finite number, or what spells one."""
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    if not number.is_finite() or not math.isfinite(float(number)):
        return None
    return int(number) if number % 1 == 0 and abs(number) < 2**63 else float(number)


def said(plan: Plan) -> list[str]:
    """The steps of a plan, one sentence each; nothing in them stems from the data."""
    found = [f"{name}: values above {value} are capped" for name, value in plan.top.items()]
    found += [f"{name}: values below {value} are capped" for name, value in plan.bottom.items()]
    for name, titles in plan.regroup.items():
        for title, members in titles.items():
            if title == "rare":
                found.append(f"{name}: levels of fewer than {members} are joined as other")
            else:
                found.append(f"{name}: {', '.join(map(str, members))} are joined as {title}")
    kinds = {"": "to {} decimals", "sig": "to {} significant digits", "base": "to multiples of {}"}
    for name, rule in plan.round.items():
        kind, _, number = str(rule).rpartition(":")
        words = kinds[kind].format(number)
        words = words.removesuffix("s") if number == "1" else words  # 1 decimal
        found.append(f"{name}: rounded {words}")
    if plan.decimals:
        found.append("protected columns are rounded to as many decimals as the original shows")
    if plan.pseudonyms is not None:
        found.append(f"{plan.unit[0]}: a new number for each unit, made under a private key")
    return found
