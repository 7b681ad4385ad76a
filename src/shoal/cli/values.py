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
