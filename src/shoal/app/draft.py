"""Settings as they stand in the form: changed by clicks, made into a plan when a run is asked for."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError
from shoal.plan import Plan
from shoal.plan.options import OPTIONS

#: Fields that the plan takes as they stand in the form.
PLAIN = (
    *("seed", "time_limit", "per_column", "missing", "scaling", "merge_small_strata"),
    *("zeros", "thin", "order", "contributors", "contributor_share", "known", "by_record"),
)
CODES = next(option for option in OPTIONS if option.field == "missing_codes")


@dataclass
class Draft:
    """What the form says. Roles and types are by column; the rest is for all of them."""

    roles: dict[str, str]
    types: dict[str, str | None]  # None: as stored
    k: int | None = 5
    method: str = "auto"
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    per_column: bool = False
    missing: str = "group"
    scaling: str = "standard"
    centroids: str | None = None
    preserve: bool = False
    merge_small_strata: bool = False
    zeros: str = "value"
    thin: str = "widen"
    order: str = "shuffle"
    contributors: int = 2
    contributor_share: float = 0.9
    missing_codes: str = ""  # as typed: 99, or wage=99
    known: list[str] | None = None
    by_record: list[str] = field(default_factory=list)
    prove: bool = True
    kinds: dict[str, str] = field(default_factory=dict)  # how columns are stored
    levels: dict[str, str] = field(default_factory=dict)  # of ordinal columns, lowest first, as typed

    @classmethod
    def guessed(cls, facts: Mapping[str, Any], demo: bool = False) -> "Draft":
        """The guesses as a beginning. The demo protects its amounts, as `shoal demo` does."""
        columns = facts["columns"]
        if demo:
            for column in columns:
                if column["type"] == "nominal":
                    column["role"], column["reason"] = "other", "a broad category; the demo keeps it as it is"
        types = {c["name"]: None if c["type"] == c["kind"] else c["type"] for c in columns}
        kinds = {c["name"]: c["kind"] for c in columns}
        return cls({c["name"]: c["role"] for c in columns}, types, kinds=kinds)

    def copy(self) -> "Draft":
        return deepcopy(self)

    def named(self, role: str) -> list[str]:
        return [name for name, given in self.roles.items() if given == role]

    def give(self, role: str, names: list[str]) -> None:
        """Let exactly these columns have the role; those that lose it are kept as they are."""
        for name in self.named(role):
            if name not in names:
                self.roles[name] = "other"
        for name in names:
            self.roles[name] = role

    def plan(self) -> Plan:
        """The plan, or one sentence that says what is missing."""
        quasi = self.named("quasi")
        if not quasi:
            raise InputError("no column is to be protected: give at least one the role 'quasi' in step 1")
        if self.k is None:
            raise InputError("k is empty: say how many records shall share each combination")
        return Plan(
            self.k,
            method=self.method,
            parameters={name: value for name, value in self.parameters.items() if value is not None},
            roles=self.roles,
            types={name: kind for name in quasi if (kind := self.types[name]) is not None},
            levels={
                name: [word.strip() for word in words.split(",")]
                for name, words in self.levels.items()
                if words.strip() and self.types.get(name) == "ordinal" and name in quasi
            },
            missing_codes=CODES.read([word for word in self.missing_codes.split() if word]),
            **{name: getattr(self, name) for name in PLAIN},
            centroids=self._centroids(quasi),
            preserve="totals" if self.preserve else None,
        )

    def _centroids(self, names: list[str]) -> dict[str, str]:
        """The chosen centroid, for the columns that have one: categories without order publish their mode."""
        if self.centroids is None:
            return {}
        return {
            name: self.centroids
            for name in names
            if (self.types[name] or self.kinds.get(name)) not in ("nominal", "boolean")
        }
