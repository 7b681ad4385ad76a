"""Values typed on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.plan import Plan


def parameters(settings: Sequence[str] | None) -> dict[str, Any]:
    """`name=value` words as a mapping; numbers, true, false and null are taken as such, the rest as text."""
    values: dict[str, Any] = {}
    for setting in settings or ():
        name, sign, text = setting.partition("=")
        if not sign or not name:
            raise InputError(f"--set takes NAME=VALUE, such as gamma=0.2, not {setting!r}")
        try:
            values[name.strip()] = json.loads(text)
        except ValueError:  # no JSON, or a number of more digits than Python reads
            values[name.strip()] = text
        except RecursionError:
            raise InputError(f"--set {name} has lists too deep in lists: give a simple value") from None
    return values


def plan_or_k(plan: Path | None, k: str | None, **fields: Any) -> Plan:
    """The plan in the file, or one of k and these fields."""
    from shoal.plan import Plan

    if plan is not None:
        return Plan.read(plan, None if k is None else whole(k))
    if k is None:
        raise InputError("how many records must share each combination? give -k, such as -k 5, or a --plan")
    return Plan(k=whole(k), **fields)


def whole(text: str) -> Any:
    """The whole number that was typed, or the text itself, which the plan then refuses in its own words."""
    try:
        return int(text)
    except ValueError:
        return text if len(text) <= 40 else f"{text[:40]}..."


def assignments(words: Sequence[str] | None, option: str) -> dict[str, str]:
    """`column=word` words as a mapping; the column's name may itself hold an equals sign."""
    by_column = {}
    for text in words or ():
        name, sign, word = text.rpartition("=")
        if not sign:
            raise InputError(f"{option} takes COLUMN=WORD, not {text!r}")
        by_column[name] = word
    return by_column


def listed(text: str) -> list[str]:
    """Words separated by commas."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise InputError(f"{text!r} is not a list such as 3,5,10: something is missing at a comma")
    return words
