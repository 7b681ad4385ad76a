"""JSON that every reader takes: a number that is none (NaN, an infinity) is null."""

import json
import math
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
