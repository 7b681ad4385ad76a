"""A confidential column is distributed in each group much as it is in the whole table."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.frame.column import Column
from shoal.grouping.registry import Confidential
from shoal.kernels.search.closeness import arrange, distance
from shoal.plan.rules import Rule
from shoal.requirements.base import SLACK, Requirement, rounded, shares_of

_ORDERED, _UNORDERED, _BETA, _ENHANCED, _DELTA = range(5)
_KINDS = {"beta": _BETA, "enhanced_beta": _ENHANCED, "delta": _DELTA}
#: Cells of the table of all group sizes and levels that the least possible distance is sought in.
MOST_CELLS = 10**9


def _limits(kind: float, share: Floats, asked: float) -> list[Floats]:
    """The least share of each value that a group has of it, if it has any, and the greatest."""
    if kind == _DELTA:
        return [share * np.exp(-asked), share * np.exp(asked)]
    most = np.minimum(asked, -np.log(share)) if kind == _ENHANCED else asked
    return [0 * share, share * (1 + most)]


class Closeness(Requirement):
    """t-closeness, beta-likeness (basic or enhanced) or delta-disclosure. A gap is a value, after all others.

    t is the earth mover's distance over ranks for numbers, dates and ordinals, where neighbouring values lie
    1 / (m - 1) apart, and total variation for the rest. Beta and delta limit the share of each value that a
    group has. Two groups within a distance, or with shares up to a limit, keep to it together as well.
    """

    name, title, needs = "closeness", "Distributed as in the whole table", "a confidential column"

    @classmethod
    def of(cls, rule: Rule, column: Column) -> Closeness:
        """`parameters`: the kind, the number asked for, how many levels, facts of each, their shares last."""
        (codes, share), (asked,) = shares_of(column), rule.numbers
        kind = _KINDS.get(rule.kind, _UNORDERED if column.type in ("nominal", "boolean") else _ORDERED)
        facts = [share]
        if kind == _ORDERED:
            facts = [np.cumsum(share), np.cumsum(np.cumsum(share))]
        elif kind != _UNORDERED:
            facts = _limits(kind, share, asked)
        parameters = np.array([kind, asked, len(share), *np.ravel(facts), *share])
        return cls(codes, np.zeros(len(codes)), parameters, asked=str(rule))

    def figure(self, members: Ints) -> float:
        """The least t, beta or delta that these records hold."""
        kind, table = int(self.parameters[0]), self.shares
        share = np.bincount(self.codes[members], minlength=len(table)) / len(members)
        if kind == _ORDERED:
            return float(np.abs(np.cumsum(share - table)).sum() / max(len(table) - 1, 1))
        if kind == _UNORDERED:
            return float(np.abs(share - table).sum() / 2)
        grown, there = share / table - 1, share > 0
        if kind == _DELTA:
            return float(np.abs(np.log1p(grown[there])).max())
        if kind == _ENHANCED and (grown > -np.log(table) + SLACK).any():
            return np.inf
        return float(grown.max())

    def holds(self, members: Ints) -> bool:
        return self.figure(members) <= self.parameters[1] + SLACK

    def ranks(self) -> Ints:
        return self.codes

    def nearest(self, members: Ints) -> str | None:
        return self.written(self.figure(members))

    def written(self, figure: float) -> str | None:
        """A t, beta or delta as a plan writes it."""
        word = next((f"{word}:" for word, kind in _KINDS.items() if kind == self.parameters[0]), "")
        return f"{word}{rounded(figure, up=True)}" if figure < np.inf else None

    @property
    def shares(self) -> Floats:
        """The share of each level in the whole table."""
        return self.parameters[-int(self.parameters[2]) :]

    def coded(self, rows: Ints | slice = slice(None)) -> Confidential | None:
        """The column and t as methods take them; None if no t is asked for."""
        kind, t, m = self.parameters[:3]
        if kind > _UNORDERED:
            return None
        one, two = self.parameters[3 : 3 + int(m)], self.parameters[3 + int(m) : 3 + 2 * int(m)]
        return Confidential(self.codes[rows], one, two, kind == _ORDERED, t + SLACK)

    def least(self, k: int) -> float:
        """The least t, beta or delta of a group of k to n / 2 records: without one, all are one group.

        The share of each value (for ranks, of all up to it) is a whole number of records. Of beta and delta
        it is told only if it is more than asked for; inf if none suffices.
        """
        n, m, kind = len(self.codes), int(self.parameters[2]), self.parameters[0]
        if n * m > MOST_CELLS:
            return 0.0
        if kind > _UNORDERED:
            low, high = self.parameters[1], max(self.parameters[1], 1e-3)
            if self._possible(low, k):
                return 0.0
            while not self._possible(high, k):
                low, high = high, 2 * high
                if high > n:
                    return np.inf
            while high - low > 1e-6 * high:
                middle = (low + high) / 2
                low, high = (low, middle) if self._possible(middle, k) else (middle, high)
            return float(high)
        least = np.inf
        for size in range(n // 2, k - 1, -1):
            near = size * self.parameters[3 : 3 + m]
            if kind == _ORDERED:
                off = np.abs(near - np.rint(near)).sum() / max(m - 1, 1)
            else:
                part = np.sort(near - np.floor(near))[::-1]
                more = int(np.rint(part.sum()))  # so many are rounded up
                off = (1 - part[:more]).sum()
            least = min(least, off / size)
            if least <= self.parameters[1] + SLACK:
                break
        return least

    def _possible(self, asked: float, k: int) -> bool:
        """Whether k to n / 2 records can have so many of each value as this beta or delta allows."""
        n = len(self.codes)
        fewest, most = _limits(self.parameters[0], self.shares, asked)
        for size in range(n // 2, k - 1, -1):
            up_to = np.floor(size * most * (1 + SLACK))
            if up_to[up_to >= size * fewest * (1 - SLACK)].sum() >= size:
                return True
        return False

    @staticmethod
    def kernel(members, count, codes, values, parameters):  # type: ignore[no-untyped-def]
        kind, asked, m = parameters[0], parameters[1], np.int64(parameters[2])
        one, two = parameters[3 : 3 + m], parameters[3 + m : 3 + 2 * m]
        if kind == _ORDERED:
            arrange(members, count, codes)
            return distance(members, count, codes, one, two, True) <= asked + SLACK
        runs = members[count : count + m] if count + m <= len(members) else np.empty(m, np.int64)
        runs[:] = 0
        for a in range(count):
            runs[codes[members[a]]] += 1
        total = 0.0
        for code in range(m):
            run = runs[code]
            if kind == _UNORDERED:
                total += max(run / count - one[code], 0.0)
            elif run > two[code] * count * (1 + SLACK) or 0 < run * (1 + SLACK) < one[code] * count:
                return False
        return total <= asked + SLACK
