"""At least k distinct units in each group: k counts people, not records."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Ints
from shoal.requirements.base import Requirement


class Units(Requirement):
    """The records of a group come from at least k distinct units."""

    name, title, needs = "units", "At least k distinct units", "the unit of each record"

    @classmethod
    def of(cls, units: Ints, k: int) -> Units:
        codes = np.unique(units, return_inverse=True)[1].astype(np.int64)
        remedy = f"fewer than k={k} distinct units: lower k, or merge strata (--merge-small-strata)"
        return cls(codes, np.zeros(len(codes)), np.array([float(k)]), remedy)

    def holds(self, members: Ints) -> bool:
        return len(set(self.codes[members].tolist())) >= self.parameters[0]

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        seen = 0  # one member of each unit seen so far stands in front
        for a in range(count):
            b = 0
            while b < seen and codes[members[b]] != codes[members[a]]:
                b += 1
            if b == seen:
                members[a], members[b] = members[b], members[a]
                seen += 1
                if seen >= parameters[0]:
                    return True
        return seen >= parameters[0]
