"""Settings as they stand in the form: changed by clicks, made into a plan when a run is asked for."""

import os
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError, did_you_mean
from shoal.plan import Plan
from shoal.plan.options import ABOUT_COLUMNS, FOR_ALL, OPTIONS, SHAPES, Option

#: Fields that the plan takes as they stand in the form.
PLAIN = (
    *("seed", "time_limit", "per_column", "missing", "scaling", "merge_small_strata"),
    *("zeros", "thin", "order", "contributors", "contributor_share", "known", "by_record"),
)
CODES = next(option for option in OPTIONS if option.field == "missing_codes")
#: Fields that the form asks for in its own way; all other fields of a plan are asked for by their options.
_ASKED = {*PLAIN, "columns", "method", "parameters", "roles", "types", "levels", "missing_codes"}
_ASKED |= {"centroids", "preserve", "strata", "unit", "weight", "keep"}
FURTHER = tuple(option for option in OPTIONS if option.field not in _ASKED)


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
    further: dict[str, Any] = field(default_factory=dict)  # other fields of the plan, as typed: line by line
    undecided: set[str] = field(default_factory=set)  # columns that are kept, and nobody said so

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
        undecided = {c["name"] for c in columns if c["role"] == "other"}
        return cls({c["name"]: c["role"] for c in columns}, types, kinds=kinds, undecided=undecided)

    def following(self, plan: Plan) -> "Draft":
        """The form filled in as a plan says, for the same table."""
        known = {*self.roles}
        about = [
            name for name in ABOUT_COLUMNS if name not in FOR_ALL or isinstance(getattr(plan, name), Mapping)
        ]
        named = {str(name) for field in about for name in _names(getattr(plan, field))}
        if strange := sorted(named - known - {""}):
            said = did_you_mean(strange[0], known)
            raise InputError(f"the plan is for other columns: this table has no {strange[0]!r}; {said}")
        draft = Draft(
            {name: plan.roles.get(name, "other") for name in self.roles},
            {name: plan.types.get(name) for name in self.types},
            **{name: getattr(plan, name) for name in ("k", "method", *PLAIN)},
            parameters=dict(plan.parameters),
            preserve=plan.preserve is not None,
            prove=self.prove,
            kinds=self.kinds,
            levels={name: ", ".join(map(str, levels)) for name, levels in plan.levels.items()},
            missing_codes=" ".join(SHAPES[CODES.shape].write(plan.missing_codes)),
            undecided={name for name in self.roles if name not in plan.roles},
        )
        draft.known = None if plan.known is None else list(plan.known)
        draft.centroids = plan.centroids if isinstance(plan.centroids, str) else None
        words = {option.field: option for option in FURTHER}
        if isinstance(plan.centroids, Mapping):
            words |= {"centroids": _option("centroids")}
        if not isinstance(plan.scaling, str):
            words |= {"scaling": _option("scaling")}
            draft.scaling = "standard"
        if set(plan.strata) != set(plan.named("stratum")):
            words |= {"strata": _option("strata")}
        for name, option in words.items():
            value = getattr(plan, name)
            if value != getattr(Plan(plan.k), name):
                several = SHAPES[option.shape].kind is list
                draft.further[name] = "\n".join(SHAPES[option.shape].write(value)) if several else value
        draft.plan()  # what the form cannot say is told now
        return draft

    def copy(self) -> "Draft":
        return deepcopy(self)

    def named(self, role: str) -> list[str]:
        return [name for name, given in self.roles.items() if given == role]

    def give(self, role: str, names: list[str]) -> None:
        """Let exactly these columns have the role; those that lose it are kept as they are."""
        for name in self.named(role):
            if name not in names:
                self.decide(name, "")
        for name in names:
            self.decide(name, role)

    def decide(self, name: str, role: str) -> None:
        """Give a column a role; without one it is kept, and a run refuses it if that gives too much away."""
        self.roles[name] = role or "other"
        (self.undecided.discard if role else self.undecided.add)(name)

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
            roles={name: role for name, role in self.roles.items() if name not in self.undecided},
            types={name: kind for name in quasi if (kind := self.types[name]) is not None},
            levels={
                name: [word.strip() for word in words.split(",")]
                for name, words in self.levels.items()
                if words.strip() and self.types.get(name) == "ordinal" and name in quasi
            },
            missing_codes=CODES.read([word for word in self.missing_codes.split() if word]),
            **{
                **{name: getattr(self, name) for name in PLAIN},
                "centroids": self._centroids(quasi),
                "preserve": "totals" if self.preserve else None,
                **self._further(),
            },
        )

    def _further(self) -> dict[str, Any]:
        """The fields that were typed as on the command line."""
        values = {}
        for name, given in self.further.items():
            option = _option(name)
            several = SHAPES[option.shape].kind is list
            if words := [line.strip() for line in given.splitlines() if line.strip()] if several else given:
                kind = SHAPES[option.shape].kind
                values[name] = option.read(words if kind in (list, bool, str) else _number(name, words))
        key = values.get("pseudonyms")
        if key is not None and not os.path.isabs(key):
            raise InputError(f"the key file {key!r} needs its whole path, such as /home/me/units.key")
        return values

    def _centroids(self, names: list[str]) -> dict[str, str]:
        """The chosen centroid, for the columns that have one: categories without order publish their mode."""
        if self.centroids is None:
            return {}
        return {
            name: self.centroids
            for name in names
            if (self.types[name] or self.kinds.get(name)) not in ("nominal", "boolean")
        }


def _option(field: str) -> Option:
    return next(option for option in OPTIONS if option.field == field)


def _number(name: str, text: Any) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{name} is a number, not {text!r}") from None
    return int(number) if number.is_integer() else number


def _names(value: Any) -> Iterable[Any]:
    """The columns that a field names: keys, members, or members of members."""
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if isinstance(value, Mapping):
        return tuple(value)
    return [name for inner in value for name in (inner if isinstance(inner, tuple) else (inner,))]
