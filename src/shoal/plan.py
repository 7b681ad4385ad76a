"""Plan: everything needed to make the same release again."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError


@dataclass(frozen=True)
class Plan:
    """What is asked for. `columns=None` means every numeric column."""

    k: int
    columns: tuple[Any, ...] | None = None
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    per_column: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _whole("k", self.k, 1))
        object.__setattr__(self, "seed", _whole("seed", self.seed, 0))
        object.__setattr__(self, "parameters", dict(self.parameters))
        if isinstance(self.columns, (str, int)):
            object.__setattr__(self, "columns", (self.columns,))
        elif self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
        if self.time_limit is not None and not (
            isinstance(self.time_limit, (int, float)) and 0 < self.time_limit < math.inf
        ):
            raise InputError(f"time_limit must be a positive number of seconds, not {self.time_limit!r}")


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return number
