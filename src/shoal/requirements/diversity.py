"""A confidential column has many values in each group, and none of them most of its records."""

from __future__ import annotations

from collections import Counter

import numpy as np

from shoal.arrays import Ints
from shoal.frame.column import Column
from shoal.plan.rules import Rule
from shoal.requirements.base import SLACK, Requirement, levels_of, rounded

_KINDS = ("distinct", "entropy", "recursive", "share")


class Diversity(Requirement):
    """Distinct l, entropy l, recursive (c, l), or a largest share. A gap is a value.

    If two groups hold it, so does their union: the entropy of a mixture is not below both, the largest share
    not above both, and the largest l - 1 values of a union have at most what those of both parts have.
    """

    name, title, needs = "diversity", "Many values of a confidential column", "a confidential column"

    @classmethod
    def of(cls, rule: Rule, column: Column) -> Diversity:
        codes, numbers = levels_of(column), [*rule.numbers, 0.0][:2]
        parameters = np.array([_KINDS.index(rule.kind), *numbers])
        return cls(codes, np.zeros(len(codes)), parameters, asked=str(rule))

    def figure(self, members: Ints) -> float:
        counts = sorted(Counter(self.codes[members].tolist()).values(), reverse=True)
        kind = _KINDS[int(self.parameters[0])]
        if kind == "distinct":
            return len(counts)
        if kind == "share":
            return counts[0] / len(members)
        if kind == "entropy":
            shares = np.array(counts) / len(members)
            return float(np.exp(-(shares * np.log(shares)).sum()))
        rest = sum(counts[int(self.parameters[2]) - 1 :])
        return counts[0] / rest if rest else np.inf

    def holds(self, members: Ints) -> bool:
        asked, figure = self.parameters[1], self.figure(members)
        kind = _KINDS[int(self.parameters[0])]
        if kind == "recursive":
            return bool(figure * (1 + SLACK) < asked)
        return bool(figure <= asked * (1 + SLACK) if kind == "share" else figure >= asked * (1 - SLACK))

    def ranks(self) -> Ints | None:
        """Different values are had more cheaply by moving a few records."""
        return self.codes if self.parameters[0] else None

    def nearest(self, members: Ints) -> str | None:
        kind, figure = _KINDS[int(self.parameters[0])], self.figure(members)
        if figure == np.inf:
            return None
        if kind == "recursive":
            return f"recursive:{rounded(figure * (1 + 1e-3), up=True)},{self.parameters[2]:g}"
        return ("" if kind == "distinct" else f"{kind}:") + rounded(figure, up=kind == "share")

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        kind, asked = parameters[0], parameters[1]
        if kind == 0:
            seen = 0  # one member of each level seen so far stands in front
            for a in range(count):
                b = 0
                while b < seen and codes[members[b]] != codes[members[a]]:
                    b += 1
                if b == seen:
                    members[a], members[b] = members[b], members[a]
                    seen += 1
                    if seen >= asked:
                        return True
            return False
        ordered, runs, levels = np.sort(codes[members[:count]]), np.zeros(count), 0
        for a in range(count):
            levels += a > 0 and ordered[a] != ordered[a - 1]
            runs[levels] += 1
        runs = np.sort(runs[: levels + 1])
        if kind == 1:
            return np.log(count) - (runs * np.log(runs)).sum() / count >= np.log(asked * (1 - SLACK))
        if kind == 2:
            rest = runs[: max(levels + 2 - np.int64(parameters[2]), 0)].sum()
            return runs[levels] * (1 + SLACK) < asked * rest
        return runs[levels] <= asked * count * (1 + SLACK)
