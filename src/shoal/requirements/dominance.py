"""No unit makes up most of a group's sum, and none can tell another's value from it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.frame.column import Column
from shoal.plan.rules import Rule
from shoal.requirements.base import SLACK, Requirement, rounded


class Dominance(Requirement):
    """The (n, p) rule; or the p % rule, of which the pq rule is one with p / q.

    Values count without their sign, a gap as 0. A record with survey weight w stands for w units of its
    value (one at least); the records of a unit count together, for as many as the least weight of them says.
    Two groups that hold it hold it together: the largest n of both have at most what those of each have.
    """

    name, title, needs = "dominance", "No unit dominates a group's sum", "a column of numbers"

    @classmethod
    def of(
        cls, rule: Rule, column: Column, weight: Floats | None = None, units: Ints | None = None
    ) -> Dominance:
        """`parameters` are n, p (or 0 and the p of p %) as shares, and how many each unit stands for."""
        n = len(column.values)
        codes = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].astype(np.int64)
        sizes = np.abs(column.values.astype(np.float64)) * column.there
        sizes = sizes / (sizes.max() or 1.0)
        copies = np.ones(n) if weight is None else np.maximum(weight, 1.0)
        least = np.full(codes.max() + 1, np.inf)
        np.minimum.at(least, codes, copies)
        asked = [*rule.numbers, 100.0]
        if rule.kind == "largest":
            asked = [asked[0], asked[1] / 100]
        else:
            asked = [0.0, asked[0] / (asked[1] if rule.kind == "pq" else 100.0)]
        return cls(codes, sizes * copies, np.concatenate([asked, least]), asked=str(rule))

    def figure(self, members: Ints) -> float:
        """The share of the largest n; or what is left without the largest two, by the largest."""
        held: defaultdict[int, float] = defaultdict(float)
        for unit, value in zip(self.codes[members].tolist(), self.values[members].tolist()):
            held[unit] += value
        each = sorted(
            ((held[u] / self.parameters[2 + u], self.parameters[2 + u]) for u in held), reverse=True
        )
        left, largest, rest = self.parameters[0] or 2, 0.0, 0.0
        for size, copies in each:
            largest += size * min(copies, left)
            rest += size * max(copies - left, 0)
            left = max(left - copies, 0)
        if self.parameters[0] == 0:
            return rest / each[0][0] if each[0][0] else np.inf
        return largest / (largest + rest) if largest else 0.0

    def holds(self, members: Ints) -> bool:
        asked, figure = self.parameters[1], self.figure(members)
        return bool(figure <= asked + SLACK if self.parameters[0] else figure >= asked - SLACK)

    def nearest(self, members: Ints) -> str | None:
        figure = 100 * self.figure(members)
        if self.parameters[0]:
            return f"{self.parameters[0]:g}:{rounded(figure, up=True)}"
        return f"p:{rounded(figure, up=False)}" if figure > 0 else None

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        units = codes[members[:count]]
        order = np.argsort(units)
        sizes, copies, total, held = np.empty(count), np.empty(count), 0.0, 0
        for a in range(count):
            unit, value = units[order[a]], values[members[order[a]]]
            total += value
            if a > 0 and unit == units[order[a - 1]]:
                sizes[held - 1] += value / parameters[2 + unit]
            else:
                sizes[held], copies[held] = value / parameters[2 + unit], parameters[2 + unit]
                held += 1
        left = parameters[0] if parameters[0] > 0 else 2.0
        rest, order = 0.0, np.argsort(-sizes[:held])
        for a in range(held):
            rest += sizes[order[a]] * max(copies[order[a]] - left, 0.0)
            left = max(left - copies[order[a]], 0.0)
        if parameters[0] > 0:
            return total - rest <= (parameters[1] + SLACK) * total
        return rest >= (parameters[1] - SLACK) * sizes[order[0]]
