"""What blocks must know of a whole table, found batch by batch; what parts of the table tell is merged."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.engines.blocks.columns import MOVED, Needed, StoredColumn
from shoal.engines.blocks.facts import Distinct, Tally, tally
from shoal.engines.blocks.steps import Batches, Gather
from shoal.frame.column import Measured, Whole
from shoal.frame.types import as_weights, refuse_no_weight
from shoal.plan.rules import Rule
from shoal.stages.loss import lost_by_recoding
from shoal.stages.moments import Moments


class Statistics:
    """Moments of numbers, the cells of categories, and the different numbers where closeness is asked."""

    def __init__(self, needed: Needed):
        compared = [(rule.field, column) for rule, column in needed.watched if not column.categorical]
        spread, old = [column for word, column in compared if word == "spread"], [c for _, c in needed.moves]
        self.needed, self.records, self._weighs = needed, 0, needed.weight is None
        numbers = [c for c in (*needed.chosen, *needed.was, *spread, *old) if not c.categorical]
        self._moves = [(new, was) for new, was in needed.moves if not was.categorical]
        moved = [MOVED + new.name for new, _ in self._moves]
        self.moments = dict.fromkeys([*(column.at for column in numbers), *moved], Moments())
        self.distinct = {column.at: Distinct() for word, column in compared if word == "closeness"}
        read = [*needed.columns, *(column for column in needed.kept if column.categorical), *old]
        self._read = list({(c.at, c.categorical): c for c in reversed(read)}.values())  # each once
        self.listed = {column.at: Counter[Any]() for column in self._read if column.categorical}

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys(column.at for column in (*self._read, *self.needed.kept)))

    def add(self, batch: Any, begin: int | None = None) -> None:
        """One more batch, whose first row has this place in the table, if that is known."""
        self.records += len(batch)
        for stored in self._read:
            if stored.categorical:
                tally(self.listed[stored.at], stored.cells(batch.column(stored.at)))
                continue
            column = stored.of(batch, begin)
            if stored.at in self.distinct:
                self.distinct[stored.at].add(column)
            if stored is self.needed.weight:
                self._weighs |= bool(as_weights(column, begin).any())
            elif stored.at in self.moments:
                self.moments[stored.at] += Moments.of(column.present, column.gap_count)
        for new, was in self._moves:
            old = was.of(batch, begin)
            moved = new.of(batch, begin).values.astype(float) - old.values.astype(float)
            self.moments[MOVED + new.name] += Moments.of(moved[old.there])

    def merge(self, other: "Statistics") -> None:
        """Those of another part of the table."""
        self.records += other.records
        self._weighs |= other._weighs
        for name, more in other.moments.items():
            self.moments[name] += more
        for name, seen in other.distinct.items():
            self.distinct[name].merge(seen)
        for name, cells in other.listed.items():
            self.listed[name].update(cells)

    def listing(self, joined: Mapping[str, Mapping[Any, Any]]) -> tuple[Needed, dict[str, float]]:
        """The columns with the different cells of each category and what rules compare groups with.

        And what each column loses that is recoded only, in percent. `joined` has the new levels of columns.
        """
        needed, lost = self.needed, {}
        if not self._weighs and needed.weight is not None:
            refuse_no_weight(needed.weight.name, np.zeros(0))
        needed = replace(
            needed,
            chosen=tuple(self._listed(column, joined) for column in needed.chosen),
            strata=tuple(self._listed(column, joined) for column in needed.strata),
            watched=tuple((r, self._compared(r, self._listed(c, joined))) for r, c in needed.watched),
            kept=tuple(self._listed(column, joined) for column in needed.kept),
        )
        for new, old in needed.moves:
            if old.categorical:
                column, often = new.joined(old, joined[new.name])
                lost[new.name] = lost_by_recoding(column, often.astype(float))
            else:
                lost[new.name] = self.moments[MOVED + new.name].percent_of(self.moments[old.at])
        return needed, lost

    def _listed(self, column: StoredColumn, joined: Mapping[str, Mapping[Any, Any]]) -> StoredColumn:
        """A column with the different cells that it has, and had before it was recoded."""
        column = column.listing(self.listed[column.at]) if column.categorical else column
        if column.before is None:
            return column
        old = self._listed(column.before, joined)
        if not old.categorical:
            return replace(column, before=old, measured=Measured(self.moments[old.at].scale()))
        measured = column.joined(old, joined[column.name])[0].measured
        return replace(column, before=old, measured=measured)

    def _compared(self, rule: Rule, column: StoredColumn) -> StoredColumn:
        """A column with what the rule compares groups with."""
        whole = None
        if rule.field == "closeness":
            whole = column.moments().whole() if column.categorical else self.distinct[column.at].whole()
        elif rule.field == "spread":
            whole = Whole(np.zeros(0), np.zeros(1, np.int64), self.moments[column.at].deviation())
        return replace(column, whole=whole)

    def facts(self, needed: Needed) -> list[Moments | Tally]:
        """What is known of each of these columns to protect."""
        return [c.moments() if c.categorical else self.moments[c.name] for c in needed.chosen]


def gathered(needed: Needed, gather: Gather) -> Statistics:
    """The statistics of a whole table, in one reading."""

    def find(batches: Batches) -> Statistics:
        seen = Statistics(needed)
        for begin, batch in batches:
            seen.add(batch, begin)
        return seen

    whole = Statistics(needed)
    for part in gather(whole.names, find):
        whole.merge(part)
    whole.moments = {name: _short(moments) for name, moments in whole.moments.items()}
    return whole


def _short(moments: Moments) -> Moments:
    """Without the last digits (of 53 binary ones 36 stay), which hang on how the table was divided."""
    mean, squares = (
        math.ldexp(round(math.ldexp(part, 36)), power - 36)
        for part, power in map(math.frexp, (moments.mean, moments.squares))
    )
    return moments._replace(mean=mean, squares=squares)
