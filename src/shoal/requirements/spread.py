"""The values of a group lie far apart: to know the group is not to know the value."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.frame.column import Column
from shoal.plan.rules import Rule
from shoal.requirements.base import SLACK, Requirement, rounded


class Spread(Requirement):
    """From the least to the largest value it is so many standard deviations, or so much of their mean.

    A gap is no value; a group without values does not hold it. Two groups that hold it hold it together.
    """

    name, title, needs = "spread", "Values far apart", "a column of numbers or dates"

    @classmethod
    def of(cls, rule: Rule, column: Column) -> Spread:
        """`parameters`: whether the width is relative, how many, and the deviation; `codes` tell gaps."""
        values, (asked,) = column.values.astype(np.float64), rule.numbers
        codes, there = np.where(column.there, 0, -1), values[column.there]
        scale = float(np.abs(there).max(initial=0.0)) or 1.0
        unit = 1.0 if rule.kind == "rel" or len(there) == 0 else float((there / scale).std())
        if column.whole is not None and rule.kind != "rel":
            unit = column.whole.deviation / scale
        parameters = np.array([float(rule.kind == "rel"), asked, unit])
        return cls(codes, values / scale, parameters, asked=str(rule))

    def figure(self, members: Ints) -> float:
        """The width, in standard deviations or by the mean."""
        there = self.values[members[self.codes[members] == 0]]
        if len(there) == 0 or there.min() == there.max():
            return 0.0
        unit = abs(there.mean()) if self.parameters[0] else self.parameters[2]
        return float((there.max() - there.min()) / unit) if unit else np.inf

    def holds(self, members: Ints) -> bool:
        return bool(self.figure(members) >= self.parameters[1] * (1 - SLACK))

    def ranks(self) -> Floats:
        return self.values

    def nearest(self, members: Ints) -> str | None:
        figure = self.figure(members)
        return ("rel:" if self.parameters[0] else "") + rounded(figure, up=False) if figure else None

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        low, high, total, there = np.inf, -np.inf, 0.0, 0
        for a in range(count):
            if codes[members[a]] == 0:
                value = values[members[a]]
                low, high = min(low, value), max(high, value)
                total += value
                there += 1
        if there == 0 or high == low:
            return False
        unit = abs(total / there) if parameters[0] > 0 else parameters[2]
        return high - low >= parameters[1] * unit * (1 - SLACK)
