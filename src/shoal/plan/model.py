"""Plan: everything needed to make the same release again."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any

from shoal.errors import InputError, did_you_mean
from shoal.words import CENTROIDS, MISSING, PRESERVE, ROLES, SCALINGS, TYPES


@dataclass(frozen=True)
class Plan:
    """What is asked for. `columns=None` means every numeric column that has no other role."""

    k: int
    columns: Any = None  # a tuple once made
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    per_column: bool = False  # each column is grouped on its own
    blocks: Any = None  # or each of these blocks of columns
    roles: Mapping[Any, str] = field(default_factory=dict)  # column -> role
    types: Mapping[Any, str] = field(default_factory=dict)  # column -> type, where the stored one misleads
    levels: Mapping[Any, Sequence[Any]] = field(
        default_factory=dict
    )  # ordinal column -> levels, lowest first
    scaling: Any = "standard"  # one word, or column -> word; for grouping only
    log: Any = ()  # columns to group by their logarithm
    column_weights: Mapping[Any, float] = field(default_factory=dict)  # column -> its share in distances
    centroids: Any = field(default_factory=dict)  # one word, or column -> word
    preserve: str | None = None  # "totals": whole numbers add up to what they did
    missing: str = "group"
    strata: Any = ()
    merge_small_strata: bool = False
    weight: Any = None  # the column of survey weights that enter centroids and loss
    version: str | None = None  # of shoal, that the plan was made with
    sha256: str | None = None  # of the data that the plan was made for

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        self._check_kinds()
        put("k", _whole("k", self.k, 1))
        put("seed", _whole("seed", self.seed, 0))
        put("blocks", None if self.blocks is None else tuple(_names(block) for block in self.blocks))
        put("columns", None if self.columns is None else _names(self.columns))
        for name in ("log", "strata"):
            put(name, _names(getattr(self, name)))
        for name in ("parameters", "roles", "types", "levels", "column_weights"):
            put(name, dict(getattr(self, name)))
        if self.time_limit is not None and not (
            isinstance(self.time_limit, Real)
            and not isinstance(self.time_limit, bool)
            and 0 < self.time_limit < math.inf
        ):
            raise InputError(f"time_limit must be a positive number of seconds, not {self.time_limit!r}")
        put("time_limit", None if self.time_limit is None else float(self.time_limit))
        self._check_words()
        self._spread_roles(put)
        if self.blocks is not None:
            self._check_blocks(put)

    def _check_kinds(self) -> None:
        """A word such as "no" must not pass for true."""
        for name in ("per_column", "merge_small_strata"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is true or false, not {getattr(self, name)!r}")
        if not isinstance(self.method, str):
            raise InputError(f"method is the name of one method, not {self.method!r}")
        for name in ("scaling", "centroids"):
            if not isinstance(getattr(self, name), (str, Mapping)):
                raise InputError(f"{name} is a word, or a word for each column, not {getattr(self, name)!r}")
        for name, levels in self.levels.items():
            if isinstance(levels, str) or not isinstance(levels, Collection):
                raise InputError(f"the levels of column {name!r} are a list, lowest first, not {levels!r}")

    def _check_words(self) -> None:
        for role in self.roles.values():
            _word("role", role, ROLES)
        for kind in self.types.values():
            _word("type", kind, TYPES)
        for scaling in _each(self.scaling):
            _word("scaling", scaling, SCALINGS)
        for centroid in _each(self.centroids):
            _word("centroid", centroid, CENTROIDS)
        _word("missing", self.missing, MISSING)
        if self.preserve is not None:
            _word("preserve", self.preserve, PRESERVE)
        for name, weight in self.column_weights.items():
            if not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
                raise InputError(f"the weight of column {name!r} must be a number from 0 up, not {weight!r}")

    def _spread_roles(self, put: Any) -> None:
        """`roles` and the fields `columns`, `strata` and `weight` say the same, whichever was given."""
        if self.columns is None and self.named("quasi"):
            put("columns", tuple(self.named("quasi")))
        put("strata", self.strata or tuple(self.named("stratum")))
        weights = dict.fromkeys([*self.named("weight"), *([] if self.weight is None else [self.weight])])
        if len(weights) > 1:
            raise InputError(f"{len(weights)} columns are weights, but only one can be: {list(weights)}")
        put("weight", next(iter(weights), None))
        roles = dict.fromkeys(weights, "weight") | dict.fromkeys(self.strata, "stratum")
        for name in self.columns or ():
            if roles.get(name) == "weight":
                raise InputError(f"column {name!r} cannot be both quasi and weight: choose one")
            roles[name] = "quasi"
        for name, role in self.roles.items():
            if roles.get(name, role) != role and role != "stratum":
                raise InputError(f"column {name!r} cannot be both {roles[name]} and {role}: choose one")
            roles.setdefault(name, role)
        put("roles", roles)

    def _check_blocks(self, put: Any) -> None:
        listed = [name for block in self.blocks for name in block]
        if self.per_column:
            raise InputError("blocks and per_column both say what to group on its own: give one of them")
        for name in listed:
            if listed.count(name) > 1:
                raise InputError(f"column {name!r} is in two blocks: name it once")
        if not all(self.blocks) or not self.blocks:
            raise InputError("a block has no column: name at least one in each")
        if self.columns is not None and set(self.columns) != set(listed):
            raise InputError("blocks and columns name different columns: blocks alone suffice")
        put("columns", tuple(listed))

    @property
    def apart(self) -> bool:
        """Whether columns are grouped in several parts, so that k holds for each part only."""
        return self.per_column or (self.blocks is not None and len(self.blocks) > 1)

    def parts(self, names: Sequence[Any]) -> list[list[Any]]:
        """The columns that are grouped together."""
        if self.blocks is not None:
            return [list(block) for block in self.blocks]
        return [[name] for name in names] if self.per_column else [list(names)]

    def named(self, role: str) -> list[Any]:
        """The columns that have this role."""
        return [name for name, given in self.roles.items() if given == role]

    def scaling_of(self, name: Any) -> str:
        return self.scaling if isinstance(self.scaling, str) else self.scaling.get(name, "standard")

    def centroid_of(self, name: Any) -> str | None:
        return self.centroids if isinstance(self.centroids, str) else self.centroids.get(name)

    def called(self, names: Sequence[Any]) -> Plan:
        """The plan with columns called as the table calls them: a file of a plan knows only texts."""
        known = {str(name): name for name in names if not isinstance(name, str)}
        if not known:
            return self

        def spell(given: Any) -> Any:
            if isinstance(given, Mapping):
                return {known.get(name, name): value for name, value in given.items()}
            if isinstance(given, tuple):
                return tuple(spell(name) for name in given)
            return known.get(given, given)

        about = ("columns", "blocks", "roles", "types", "levels", "log", "column_weights", "strata", "weight")
        new = {name: spell(getattr(self, name)) for name in about}
        for name in ("scaling", "centroids"):
            given = getattr(self, name)
            new[name] = given if isinstance(given, str) else spell(given)
        return replace(self, **new)

    @classmethod
    def of(cls, k: int, **options: Any) -> Plan:
        """A plan from keywords; those that no field takes are the method's own parameters."""
        own = {f.name for f in fields(cls)}
        parameters = {name: value for name, value in options.items() if name not in own}
        return cls(k, **{n: v for n, v in options.items() if n in own}, parameters=parameters)

    @classmethod
    def read(cls, path: str | os.PathLike[str], k: int | None = None) -> Plan:
        """The plan in a TOML file. `k` is needed only where the file has none."""
        from shoal.plan.toml import read_plan

        return read_plan(path, k)

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan in the text of a TOML file."""
        from shoal.plan.toml import parse_plan

        return parse_plan(text)

    def toml(self, reasons: Mapping[Any, str] | None = None) -> str:
        """The plan as a TOML file that reads back as itself; `reasons` become comments on columns."""
        from shoal.plan.toml import as_toml

        return as_toml(self, reasons or {})


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return number


def _names(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, (str, int)) else tuple(given)


def _each(given: Any) -> Collection[str]:
    return (given,) if isinstance(given, str) else dict(given).values()


def _word(what: str, word: Any, known: Collection[str]) -> None:
    if word not in known:
        raise InputError(f"unknown {what} {word!r}: {did_you_mean(str(word), known)}")
