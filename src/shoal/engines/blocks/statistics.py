"""What blocks must know of a whole table, found batch by batch; what parts of the table tell is merged."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.engines.blocks.columns import Needed, StoredColumn
from shoal.engines.blocks.facts import Distinct, Tally, tally
from shoal.engines.blocks.steps import Batches, Gather
from shoal.frame.types import as_weights, refuse_no_weight
from shoal.stages.moments import Moments


class Statistics:
    """Moments of numbers, the cells of categories, and the different numbers where closeness is asked."""

    def __init__(self, needed: Needed):
        compared = [(rule.field, column) for rule, column in needed.watched if not column.categorical]
        numbers = [*needed.chosen, *needed.was, *(column for word, column in compared if word == "spread")]
        self.needed, self.records, self._weighs = needed, 0, needed.weight is None
        self.moments = {c.at: Moments() for c in (*numbers, *needed.moved) if not c.categorical}
        self.distinct = {column.at: Distinct() for word, column in compared if word == "closeness"}
        self.listed: dict[str, dict[Any, int]] = {column.at: {} for column in needed.counted}
        read = [*needed.columns, *needed.counted, *needed.moved]
        self._read = list({(c.at, c.categorical): c for c in reversed(read)}.values())  # each once

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys(name for column in self._read for name in column.reads))

    def add(self, batch: Any, begin: int | None = None) -> None:
        """One more batch, whose first row has this place in the table, if that is known."""
        self.records += len(batch)
        for stored in self._read:
            if isinstance(stored, StoredColumn) and stored.categorical:
                tally(self.listed[stored.at], stored.cells(batch.column(stored.at)))
                continue
            column = stored.of(batch, begin)
            if stored.at in self.distinct:
                self.distinct[stored.at].add(column)
            if stored is self.needed.weight:
                self._weighs |= bool(as_weights(column, begin).any())
            elif stored.at in self.moments:
                self.moments[stored.at] += Moments.of(column.present, column.gap_count)

    def merge(self, other: "Statistics") -> None:
        """Those of another part of the table."""
        self.records += other.records
        self._weighs |= other._weighs
        for name, more in other.moments.items():
            self.moments[name] += more
        for name, seen in other.distinct.items():
            self.distinct[name].merge(seen)
        for name, cells in other.listed.items():
            for cell, count in cells.items():
                self.listed[name][cell] = self.listed[name].get(cell, 0) + count

    def listing(self, joined: Mapping[str, Any]) -> tuple[Needed, dict[str, float]]:
        """The columns with all that was found, and what is lost by those that are recoded only."""
        if not self._weighs and self.needed.weight is not None:
            refuse_no_weight(self.needed.weight.name, np.zeros(0))
        listed = self.needed.listing(self.listed, self.distinct, self.moments, joined)
        return listed, listed.recoding_loss(self.moments, joined)

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
