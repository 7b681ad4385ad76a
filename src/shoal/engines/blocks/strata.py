"""Small strata merged with others, in tables that come batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.arrays import Ints
from shoal.engines.blocks.columns import MERGED, Needed
from shoal.engines.blocks.facts import Tally
from shoal.engines.blocks.plan import combination_of
from shoal.engines.blocks.steps import Batches, Gather
from shoal.frame.order import row_ids
from shoal.plan import Plan
from shoal.stages.encode import encode
from shoal.stages.moments import Moments
from shoal.stages.strata import join_small, merged_note


@dataclass(frozen=True, eq=False)
class Merging:
    """Batches in which records of small strata have the cells of the stratum that theirs was merged with.

    A stratum column that is protected publishes what its groups do: what it was merged with stands beside it.
    """

    needed: Needed
    known: Ints  # combinations of levels, in order
    into: Ints  # the place of the one that each was merged with
    changed: Sequence[str] = ()  # the columns that have other cells

    @property
    def added(self) -> dict[str, str]:
        """The columns that stand beside the others, and of which each is made."""
        protected = {column.name for column in self.needed.chosen}
        return {MERGED + c.name: c.name for c in self.needed.strata if c.name in protected}

    def sources(self, names: Sequence[str]) -> list[str]:
        """The columns of the table that these are made of."""
        wanted = dict.fromkeys(name.removeprefix(MERGED) for name in names)
        strata = [column.name for column in self.needed.strata]
        return list(wanted | dict.fromkeys(strata if set(strata) & set(wanted) else ()))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def apply(self, batch: Any, first_row: int | None = None) -> Any:
        """An Arrow batch or table with the strata as they were merged."""
        strata = self.needed.strata
        if strata[0].name not in batch.schema.names:
            return batch
        combinations = combination_of([c.of(batch, first_row) for c in strata], len(batch))
        rows = np.searchsorted(self.known, combinations)
        merged = self.into[rows] != rows
        for column, levels in zip(strata, self.needed.levels_in(self.known[self.into[rows]])):
            old = batch.column(column.name)
            cells = column.cells_of(np.where(merged, levels, 1))
            cells = pc.if_else(pa.array(merged), cells, column.cells(old)).cast(old.type)
            if MERGED + column.name in self.added:
                batch = batch.append_column(MERGED + column.name, cells)
            else:
                place = batch.schema.get_field_index(column.name)
                batch = batch.set_column(place, batch.schema.field(place), cells)
        return batch


def merge(
    plan: Plan, needed: Needed, facts: Sequence[Moments | Tally], gather: Gather
) -> tuple[Merging | None, Needed, list[str]]:
    """No stratum is short of k; None if none was. It takes one reading, and 16 bytes a unit and stratum."""
    scales = [one.scale() for one in facts]

    def counted(batches: Batches) -> tuple[dict[int, Any], Ints]:
        found: dict[int, Any] = {}
        pairs = np.zeros((2, 0), np.int64)
        for begin, batch in batches:
            strata = [column.of(batch, begin) for column in needed.strata]
            numbers = combination_of(strata, len(batch))
            points = encode([column.of(batch, begin) for column in needed.chosen], scales=scales).matrix
            for number in np.unique(numbers).tolist():
                some = points[numbers == number]
                found[number] = found.get(number, 0) + np.append(some.sum(axis=0), len(some))
            if plan.unit:
                new = np.stack([numbers, row_ids(batch, plan.unit)])
                pairs = np.unique(np.concatenate([pairs, new], axis=1), axis=1)
        return found, pairs

    names = [*(column.at for column in (*needed.strata, *needed.chosen)), *plan.unit]
    total: dict[int, Any] = {}
    parts = gather(list(dict.fromkeys(names)), counted)
    for found, _ in parts:
        for number, sums in found.items():
            total[number] = total.get(number, 0) + sums
    known = np.array(sorted(total))
    sums = np.stack([total[number] for number in known.tolist()])
    pairs = None
    if plan.unit:
        pairs = np.unique(np.concatenate([more for _, more in parts], axis=1), axis=1)
        pairs[0] = np.searchsorted(known, pairs[0])
    sizes = sums[:, -1].astype(np.int64)
    into, notes = join_small(plan.k, [needed.title(n) for n in known.tolist()], sizes, sums[:, :-1], pairs)
    if not notes:
        return None, needed, []
    protected = {column.name for column in needed.chosen}
    levels = zip(needed.strata, needed.levels_in(known), needed.levels_in(known[into]))
    other = {c.name: own != theirs for c, own, theirs in levels if c.name not in protected}
    changed = [name for name in other if other[name].any()]
    records = int(sizes[np.logical_or.reduce(list(other.values()))].sum()) if changed else 0
    notes += merged_note(records, changed)
    return Merging(needed, known, into, changed), needed.beside(protected), notes
