"""What a group publishes of a column comes from at least two: nobody's own value, nobody's own weight."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.frame.column import Column
from shoal.requirements.base import SLACK, Requirement


class Contributors(Requirement):
    """A published cell has no contributor, or as many as asked for and none with most of the weight.

    A contributor is a unit (a record, where no units are given) with a value and a positive weight. Where
    the values that are there all weigh 0, their plain mean is published: each then counts with weight 1.
    """

    name, title, needs = "contributors", "At least so many contributors to each cell", "gaps, zeros, weights"
    of_cells = True

    @classmethod
    def of(
        cls,
        column: Column,
        least: int,
        share: float = 1.0,
        weight: Floats | None = None,
        units: Ints | None = None,
        zeros: bool = False,
    ) -> Contributors:
        """With `zeros`, only values other than 0 count: zeros are a pattern of their own."""
        n = len(column.values)
        codes = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].astype(np.int64)
        if column.gaps is not None:
            codes[column.gaps] = -1
        if zeros and not column.categorical:
            codes[column.values == 0] = -1
        weights = np.ones(n) if weight is None else weight
        return cls(codes, weights, np.array([least, 1.0 if weight is None else share]))

    def holds(self, members: Ints) -> bool:
        there = members[self.codes[members] >= 0]
        weight = self.values[there]
        if not weight.any():
            weight = np.ones(len(there))
        held: dict[int, float] = {}
        for unit, w in zip(self.codes[there].tolist(), weight.tolist()):
            if w > 0:
                held[unit] = held.get(unit, 0.0) + w
        least, share = self.parameters
        most = max(held.values(), default=0.0)
        return not held or bool(len(held) >= least and most <= share * sum(held.values()) * (1 + SLACK))

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        there = weighty = 0
        for a in range(count):
            if codes[members[a]] >= 0:
                there += 1
                weighty += values[members[a]] > 0
        units = 0
        total = most = 0.0
        for a in range(count):
            unit, mine, new = codes[members[a]], 0.0, True
            if unit < 0 or (weighty > 0 and values[members[a]] <= 0):
                continue
            for b in range(count):
                if codes[members[b]] == unit and (weighty == 0 or values[members[b]] > 0):
                    if b < a:
                        new = False
                        break
                    mine += values[members[b]] if weighty > 0 else 1.0
            if new:
                units += 1
                total += mine
                most = max(most, mine)
                if units >= parameters[0] and parameters[1] >= 1:
                    return True
        return there == 0 or (units >= parameters[0] and most <= parameters[1] * total * (1 + SLACK))
