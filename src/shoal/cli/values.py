"""Values typed on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shoal.errors import InputError


def parameters(settings: Sequence[str] | None) -> dict[str, Any]:
    """`name=value` words as a mapping; numbers, true, false and null are taken as such, the rest as text."""
    found: dict[str, Any] = {}
    for setting in settings or ():
        name, sign, text = setting.partition("=")
        if not sign or not name:
            raise InputError(f"--set takes NAME=VALUE, such as gamma=0.2, not {setting!r}")
        try:
            found[name.strip()] = json.loads(text)
        except json.JSONDecodeError:
            found[name.strip()] = text
    return found


def whole(text: str) -> Any:
    """The whole number that was typed, or the text itself, which the plan then refuses in its own words."""
    try:
        return int(text)
    except ValueError:
        return text


def assignments(words: Sequence[str] | None, option: str) -> dict[str, str]:
    """`column=word` words as a mapping; the column's name may itself hold an equals sign."""
    found = {}
    for text in words or ():
        name, sign, word = text.rpartition("=")
        if not sign:
            raise InputError(f"{option} takes COLUMN=WORD, not {text!r}")
        found[name] = word
    return found


def listed(text: str) -> list[str]:
    """Words separated by commas."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise InputError(f"{text!r} is not a list such as 3,5,10: something is missing at a comma")
    return words
