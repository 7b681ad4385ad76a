"""The first reading of a table on disk: all that blocks must know of the whole."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints, numbers_to
from shoal.engines.blocks.columns import Needed
from shoal.engines.blocks.plan import sample_size
from shoal.engines.blocks.statistics import Statistics
from shoal.engines.blocks.steps import Recoding
from shoal.engines.blocks.strata import Merging
from shoal.frame.order import Key
from shoal.io.hive import Folders
from shoal.io.parquet import ParquetTable
from shoal.plan import Plan
from shoal.stages.kept import SAMPLE


class RecodedTable(ParquetTable):
    """A table as its recoding, or merging of strata, makes it, batch by batch."""

    def __init__(self, table: ParquetTable, recoding: Recoding | Merging):
        self._table, self.recoding, self.keys = table, recoding, table.keys
        self.schema, self.rows, self.notes = recoding.schema(table.schema), table.rows, table.notes

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """As of the whole table; a column that changes can be had as it was, too."""
        for begin, batch in self._table.batches(self.recoding.sources(columns)):
            yield begin, self.recoding.apply(batch, begin).select(list(columns))


class Seen(NamedTuple):
    """What one reading of the whole table finds."""

    some: Any  # rows drawn by chance from all of it, an Arrow table
    statistics: Statistics
    sample: Any  # what blocks are cut by, an Arrow table
    key: Key | None  # of the order of rows; None if it stays

    def places(self, records: int, folders: Folders | None) -> Ints | None:
        """For each row of the input its place in the output; None if it is the same."""
        order = None if self.key is None else self.key.order(records)
        order = order if folders is None else folders.sorted(order)
        if order is None:
            return None
        places = np.empty(records, numbers_to(records))
        places[order] = np.arange(records)
        return places


def look(
    plan: Plan,
    table: ParquetTable,
    needed: Needed,
    target: int,
    folders: Folders | None,
    report: Callable[[float], None],
) -> Seen:
    """Read the whole table once."""

    def drawn(seed: int, count: int) -> Ints:
        return np.sort(np.random.default_rng(seed).choice(len(table), min(count, len(table)), replace=False))

    names = [column.name for column in needed.chosen]
    cut_by, looked_at = drawn(plan.seed, sample_size(len(table), target)), drawn(0, SAMPLE)
    sample, some = [], []
    key = None if plan.order == "keep" else Key(table.schema.names, plan.canonical(names))
    was = {of: name for name, of in table.recoding.added.items()} if isinstance(table, RecodedTable) else {}
    statistics = Statistics(needed)
    for begin, batch in table.batches([*table.schema.names, *was.values()]):

        def here(rows: Ints, begin: int = begin, end: int = begin + len(batch)) -> Ints:
            return rows[slice(*np.searchsorted(rows, [begin, end]))] - begin

        statistics.add(batch, begin)
        sample.append(batch.select(names).take(pa.array(here(cut_by))))
        some.append(batch.take(pa.array(here(looked_at))))
        if key is not None:
            key.add(pa.table({name: batch.column(was.get(name, name)) for name in table.schema.names}))
        if folders is not None:
            folders.add(batch)
        report((begin + len(batch)) / len(table))
    return Seen(pa.Table.from_batches(some), statistics, pa.Table.from_batches(sample), key)
