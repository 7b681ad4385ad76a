"""Settings as they stand in the form: changed by clicks, made into a plan when a run is asked for."""

import os
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError, did_you_mean
from shoal.plan import Plan
from shoal.plan.options import ABOUT_COLUMNS, FOR_ALL, OPTIONS, SHAPES

DEFAULTS = Plan(5)
#: Fields that say something of single columns: column -> what the plan has for it.
BY_COLUMN = (
    *("diversity", "closeness", "dominance", "spread", "top", "bottom", "regroup", "round"),
    *("column_weights", "scaling", "centroids", "missing_codes", "blocks", "levels"),
)
#: Fields that are given as roles of columns, or stand beside the others in the draft.
_ELSEWHERE = {"k", "columns", "roles", "types", "unit", "weight", "keep", "version", "sha256"}
_CODES = next(option for option in OPTIONS if option.field == "missing_codes")


@dataclass
class Draft:
    """What the form says. Roles and types are by column; `fields` are those of the plan, as it has them."""

    roles: dict[str, str]
    types: dict[str, str | None]  # None: as stored
    k: int | None = 5
    fields: dict[str, Any] = field(default_factory=dict)  # those that are not at their default
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)  # field -> column -> value
    prove: bool = True
    kinds: dict[str, str] = field(default_factory=dict)  # how columns are stored
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
        given = {name: getattr(plan, name) for name in ABOUT_COLUMNS}
        about = [x for name, x in given.items() if name not in FOR_ALL or isinstance(x, Mapping)]
        named = {str(name) for x in about for name in _names(x)}
        if strange := sorted(named - known - {""}):
            said = did_you_mean(strange[0], known)
            raise InputError(f"the plan is for other columns: this table has no {strange[0]!r}; {said}")
        draft = Draft(
            {name: plan.roles.get(name, "other") for name in self.roles},
            {name: plan.types.get(name) for name in self.types},
            plan.k,
            prove=self.prove,
            kinds=self.kinds,
            undecided={name for name in self.roles if name not in plan.roles},
        )
        for name, value in plan.differs().items():
            if name in _ELSEWHERE:
                continue
            if name == "blocks":
                draft.columns[name] = {c: number for number, block in enumerate(value, 1) for c in block}
            elif name == "strata":
                draft.put(name, [column for column in value if plan.roles.get(column) != "stratum"])
            elif name == "missing_codes":
                for word in SHAPES[_CODES.shape].write(value):
                    column, sign, codes = word.rpartition("=")
                    draft.say(name, column, codes) if sign else draft.put(name, codes)
            elif name in BY_COLUMN and isinstance(value, Mapping):
                draft.columns[name] = dict(value)
            else:
                draft.put(name, value)
        draft.plan()  # what the form cannot say is told now
        return draft

    def copy(self) -> "Draft":
        return deepcopy(self)

    def get(self, name: str) -> Any:
        """What the form says of a field for all columns."""
        return self.fields.get(name, getattr(DEFAULTS, name))

    def put(self, name: str, value: Any) -> None:
        """Say a field; its default, or nothing, is not kept."""
        self.fields[name] = value
        if value is None or value == "" or value == [] or value == getattr(DEFAULTS, name):
            del self.fields[name]

    def said(self, name: str, column: str) -> Any:
        """What the form says of a field for one column, or None."""
        return self.columns.get(name, {}).get(column)

    def say(self, name: str, column: str, value: Any) -> None:
        """The same for one column."""
        self.columns.setdefault(name, {})[column] = value
        if value is None or value in ("", [], {}):
            del self.columns[name][column]

    def type_of(self, column: str) -> str | None:
        return self.types.get(column) or self.kinds.get(column)

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
        values = {**self.fields, **{name: dict(said) for name, said in self.columns.items() if said}}
        for name in {"column_weights", "levels", "blocks"} & {*self.columns}:  # of protected columns
            values[name] = {c: said for c, said in self.columns[name].items() if c in quasi}
        levels = values.get("levels", {}).items()
        values["levels"] = {c: said for c, said in levels if self.type_of(c) == "ordinal"}
        texts = [name for name in quasi if self.kinds.get(name) in ("text", "nominal")]
        for name in texts:
            if self.types[name] == "ordinal" and name not in values["levels"]:
                raise InputError(f"the levels of {name!r} have no order yet: give them one in step 2")
        if "strata" in values:
            values["strata"] = [*self.named("stratum"), *self.get("strata")]
        if given := values.pop("blocks", None):
            numbers = {name: given.get(name, "") for name in quasi}
            listed = dict.fromkeys(sorted(numbers.values(), key=str))
            values["blocks"] = [[c for c in quasi if numbers[c] == number] for number in listed]
        values["missing_codes"] = self._codes(quasi)
        with_middle = [name for name in quasi if self.type_of(name) not in ("nominal", "boolean")]
        values["scaling"] = self._words("scaling", quasi, quasi)
        values["centroids"] = self._words("centroids", with_middle, quasi)
        key = values.get("pseudonyms")
        if key is not None and not os.path.isabs(key):
            raise InputError(f"the key file {key!r} needs its whole path, such as /home/me/units.key")
        return Plan(
            self.k,
            roles={name: role for name, role in self.roles.items() if name not in self.undecided},
            types={name: kind for name in quasi if (kind := self.types[name]) is not None},
            **values,
        )

    def _words(self, name: str, able: list[str], quasi: list[str]) -> Any:
        """One word for all columns, or for those that can have it; single columns may have their own."""
        word = self.get(name)
        own = {c: said for c, said in self.columns.get(name, {}).items() if c in quasi}
        if not own and (word == getattr(DEFAULTS, name) or able == quasi):
            return word
        return {**({} if word == getattr(DEFAULTS, name) else dict.fromkeys(able, word)), **own}

    def _codes(self, quasi: list[str]) -> Any:
        """The codes for gaps as typed, with commas: of all columns, of single ones, or both."""
        for_all, own = self.fields.get("missing_codes"), self.columns.get("missing_codes") or {}
        common = [] if for_all is None else _CODES.read([for_all])
        if not own:
            return common
        read = {name: _CODES.read([codes]) for name, codes in own.items()}
        return {name: [*common, *read.get(name, [])] for name in ([*quasi, *own] if common else own)}


def _names(value: Any) -> Iterable[Any]:
    """The columns that a field names: keys, members, or members of members."""
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if isinstance(value, Mapping):
        return tuple(value)
    return [name for inner in value for name in (inner if isinstance(inner, tuple) else (inner,))]
