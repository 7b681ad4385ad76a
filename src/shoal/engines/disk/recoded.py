"""A table on disk as the plan's steps make it, batch by batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from shoal.engines.blocks.steps import Recoding
from shoal.engines.blocks.strata import Merging
from shoal.io.parquet import ParquetTable


class RecodedTable(ParquetTable):
    """A table as its recoding, or merging of strata, makes it."""

    def __init__(self, table: ParquetTable, recoding: Recoding | Merging):
        self._table, self.recoding, self.keys = table, recoding, table.keys
        self.schema, self.rows, self.notes = recoding.schema(table.schema), table.rows, table.notes

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """As of the whole table; a column that changes can be had as it was, too."""
        for begin, batch in self._table.batches(self.recoding.sources(columns)):
            yield begin, self.recoding.apply(batch, begin).select(list(columns))


def gather(table: ParquetTable, names: Sequence[str], find: Callable[[Any], Any]) -> list[Any]:
    """What a function finds in these columns."""
    return [find(table.batches(names))]
