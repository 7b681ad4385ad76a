"""Requirements on columns as plans write them: `diversity={"disease": 3}`, `--closeness income=beta:1.5`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.plan.model import Plan


class Limits(NamedTuple):
    """What one number of a rule may be."""

    above: float  # it is larger than this
    most: float = math.inf
    whole: bool = False

    def allow(self, number: float) -> bool:
        return self.above < number <= self.most and (not self.whole or number % 1 == 0)


#: field -> kind of rule -> its numbers, and what each group then has, in words. The first kind needs no name.
KINDS: dict[str, dict[str, tuple[tuple[Limits, ...], str]]] = {
    "diversity": {
        "distinct": ((Limits(0, whole=True),), "at least {0:g} different values of {column}"),
        "entropy": ((Limits(0.999),), "values of {column} as even as {0:g} equally frequent ones (entropy)"),
        "recursive": ((Limits(0), Limits(1, whole=True)), "recursive ({0:g}, {1:g})-diversity of {column}"),
        "share": ((Limits(0, 1),), "no value of {column} in more than {0:.4%} of its records"),
    },
    "closeness": {
        "t": ((Limits(-1e-9, 1),), "{column} distributed within {0:g} of the whole table (t-closeness)"),
        "beta": ((Limits(0),), "{0:g}-likeness of {column} to the whole table (beta)"),
        "enhanced_beta": ((Limits(0),), "enhanced {0:g}-likeness of {column} to the whole table (beta)"),
        "delta": ((Limits(0),), "{0:g}-disclosure privacy of {column} (delta, of the values that it has)"),
    },
    "dominance": {
        "largest": (
            (Limits(0, whole=True), Limits(0, 100)),
            "at most {1:g} % of the sum of {column} from its {0:g} largest",
        ),
        "p": ((Limits(0),), "no largest {column} that the second can tell to within {0:g} % (p % rule)"),
        "pq": (
            (Limits(0), Limits(0, 100)),
            "no largest {column} that the second, who knows it to within {1:g} %, can tell to within {0:g} %",
        ),
    },
    "spread": {
        "sd": ((Limits(0),), "values of {column} that span at least {0:g} standard deviations"),
        "rel": ((Limits(0),), "values of {column} that span at least {0:g} of their mean"),
    },
}
_FORMS = {
    "diversity": "a whole number of values (3), entropy:L, recursive:C,L or share:A, with A up to 1",
    "closeness": "a distance from 0 to 1 (0.2), beta:B, enhanced_beta:B or delta:D",
    "dominance": "N:P, such as 1:80 (percent), p:P or pq:P,Q",
    "spread": "a number of standard deviations (0.2) or rel:R, such as rel:0.1",
}


class Rule(NamedTuple):
    """One requirement on one column."""

    field: str
    column: Any
    kind: str
    numbers: tuple[float, ...]

    @property
    def limit(self) -> float:
        """What the figure of a group is compared with."""
        return self.numbers[1] if self.kind == "largest" else self.numbers[0]

    @property
    def at_least(self) -> bool:
        """Whether the figure may not be below its limit; else it may not be above."""
        return self.kind in ("distinct", "entropy", "p", "pq", "sd", "rel")

    def __str__(self) -> str:
        return KINDS[self.field][self.kind][1].format(*self.numbers, column=repr(self.column))


def read_rule(field: str, column: Any, given: Any) -> Rule:
    """The rule that a number or a text such as `entropy:2` stands for."""
    kinds = KINDS[field]
    word, colon, rest = str(given).partition(":")
    if not colon or word not in kinds:  # a number alone, or N:P
        word, rest = next(iter(kinds)), str(given).replace(":", ",")
    try:
        numbers = tuple(map(float, rest.split(",")))
    except ValueError:
        numbers = ()
    limits = kinds[word][0]
    kind_of = isinstance(given, (str, Real)) and not isinstance(given, bool)
    if (
        not kind_of
        or len(numbers) != len(limits)
        or not all(limit.allow(x) for limit, x in zip(limits, numbers))
    ):
        raise InputError(f"{field} of column {column!r} is {_FORMS[field]}, not {given!r}")
    return Rule(field, column, word, numbers)


def alternatives(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of a plan, once for each choice of the rules where a column has a list of them."""
    several = [
        (word, column, rules)
        for word in KINDS
        for column, rules in (fields.get(word) or {}).items()
        if isinstance(rules, list | tuple)
    ]
    made = []
    for chosen in itertools.product(*(rules for _, _, rules in several)):
        own = {word: dict(fields[word]) for word, _, _ in several}
        for (word, column, _), rule in zip(several, chosen):
            own[word][column] = rule
        made.append({**fields, **own})
    if not made:
        raise InputError("nothing to compare: a column has an empty list of rules")
    return made


def required_by(plan: Plan) -> str:
    """What the plan asks of each group beyond k, as it is typed; contributors unless they are the usual 2."""
    asked = [f"unit {column}" for column in plan.unit]
    asked += [f"contributors={plan.contributors}"] if plan.contributors != 2 else []
    asked += [f"{word} {column}={rule}" for word in KINDS for column, rule in getattr(plan, word).items()]
    return ", ".join(asked)


def without(plan: Plan, contributors: bool) -> list[Plan]:
    """The plan without each of its requirements, and without all of them.

    Without units, k counts records; their columns are dropped all the same. `contributors` says whether the
    usual two can cost anything.
    """
    roles = {name: role for name, role in plan.roles.items() if name not in plan.unit}
    roles |= dict.fromkeys(plan.unit, "identifier")
    less: list[dict[str, Any]] = []
    if plan.unit:
        less.append({"unit": (), "roles": roles, "by_record": (), "pseudonyms": None})
    if plan.contributors > 2 or (contributors and plan.contributors == 2):
        less.append({"contributors": 1})
    nothing = {name: value for fields in less for name, value in fields.items()}
    for word in KINDS:
        rules = getattr(plan, word)
        less += [{word: {other: rules[other] for other in rules if other != column}} for column in rules]
        nothing[word] = {}
    return [replace(plan, **fields) for fields in ([*less, nothing] if len(less) > 1 else less)]
