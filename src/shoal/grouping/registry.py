"""One interface for every grouping method: a function `f(X, k, *, its own parameters) -> labels`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.display import Tabular
from shoal.errors import InputError, did_you_mean

#: Keyword parameters that the caller fills in and that no user sets by name.
SUPPLIED = ("rng", "time_limit", "progress", "confidential")

_registry: dict[str, MethodInfo] = {}
_METHODS = "shoal.algorithms"


class Confidential(NamedTuple):
    """The column of a rule on closeness, as methods that need one are handed it."""

    codes: Ints  # the level of each record
    one: Floats  # of each level the share in the whole table; if `ordered`, the share up to it
    two: Floats  # if `ordered`, the sums of these
    ordered: bool
    t: float


@dataclass(frozen=True)
class MethodInfo:
    """A method as its decorator and its signature describe it."""

    key: str
    title: str
    paper: str
    sizes: str  # "k..2k-1" is a promise that is checked; "k.." promises only the lower end
    cost: str  # growth of time with n and k
    input: str = "standard"  # or "raw": the values as they are, int64 kept
    columns: str = "any"  # or "one"
    optimal: bool = False  # finds the partition of least SSE
    whole: bool = False  # that SSE is about the whole number nearest to the mean
    mixed: bool = False  # serves tables with categories too
    needs: str | None = None  # a field of the plan, without which it cannot group: "closeness"
    proves: bool = False  # its partition says what any other loses at least: `Partition.least`
    seconds: float | None = None  # the time limit where none is given
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default
    supplied: tuple[str, ...] = ()
    summary: str = ""
    function: Callable[..., Ints] = field(repr=False, default=lambda X, k: X)


def method(*, title: str, paper: str, sizes: str, cost: str, **facts: Any) -> Callable:
    """Register a function as a method, under its own name.

    The function may count on 2 <= k and 2k <= n: smaller tables have only one partition, and
    `run_method` answers them itself. X is C-ordered, read-only and never empty. One that needs closeness
    names `confidential` among its parameters and is handed the coded column and t.
    """

    def register(function: Callable) -> Callable:
        names = inspect.signature(function).parameters
        defaults = {name: p.default for name, p in names.items() if p.kind is p.KEYWORD_ONLY}
        _registry[function.__name__] = MethodInfo(
            key=function.__name__,
            title=title,
            paper=paper,
            sizes=sizes,
            cost=cost,
            parameters=MappingProxyType({name: d for name, d in defaults.items() if name not in SUPPLIED}),
            supplied=tuple(name for name in defaults if name in SUPPLIED),
            summary=(inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " "),
            function=function,
            **facts,
        )
        return function

    return register


class Methods(Tabular, Mapping[str, MethodInfo]):
    """The methods that there are: key -> MethodInfo."""

    def __getitem__(self, key: str) -> MethodInfo:
        return _registry[key]

    def __iter__(self) -> Iterator[str]:
        families = [f"{_METHODS}.{family}" for family in importlib.import_module(_METHODS).FAMILIES]

        def place(key: str) -> int:
            module = _registry[key].function.__module__
            return families.index(module) if module in families else len(families)

        return iter(sorted(_registry, key=place))

    def __len__(self) -> int:
        return len(_registry)

    def __repr__(self) -> str:
        return f"Methods({len(self)}: {', '.join(self)})"

    def records_of(self) -> list[dict[str, Any]]:
        """One row for each method."""
        told = ("key", "title", "paper", "sizes", "cost", "optimal", "mixed", "summary")
        return [{name: getattr(info, name) for name in told} for info in self.values()]


def methods() -> Methods:
    """Every registered method: key -> MethodInfo."""
    for family in importlib.import_module(_METHODS).FAMILIES:
        importlib.import_module(f"{_METHODS}.{family}")
    importlib.import_module("shoal.optimise")
    return Methods()


def get_method(key: str, parameters: Mapping[str, Any] | None = None) -> MethodInfo:
    """The method of that key, if it also takes these parameters."""
    importlib.import_module("shoal.optimise")  # most ask for its `auto`, which loads few of the others
    registered = Methods() if key in _registry else methods()
    key = next((name for name in registered if name.lower() == str(key).lower()), key)
    if key not in registered:
        raise InputError(f"unknown method {key!r}: {did_you_mean(str(key), registered)}")
    info = registered[key]
    for name, value in (parameters or {}).items():
        if name not in info.parameters:
            hint = did_you_mean(name, info.parameters) if info.parameters else "it takes none"
            raise InputError(f"method {key!r} has no parameter {name!r}: {hint}")
        default = info.parameters[name]
        for kind, word in ((bool, "true or false"), ((int, float, np.number), "a number")):
            if isinstance(default, kind):
                if not isinstance(value, kind) or isinstance(value, bool) > isinstance(default, bool):
                    raise InputError(
                        f"{name} of method {key!r} must be {word}, such as {default}, not {value!r}"
                    )
                break
    return info
