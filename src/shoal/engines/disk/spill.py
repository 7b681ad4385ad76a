"""The columns to group by, on disk: any block of them comes back without reading the others."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shoal.arrays import Ints
from shoal.engines.blocks.columns import StoredColumn
from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.disk.homes import Homes
from shoal.frame.column import Column
from shoal.frame.order import row_ids
from shoal.io.parquet import ParquetTable
from shoal.stages.units import refuse_without_unit


class Spill:
    """The columns to group by on disk, in stretches of one leaf each; where they lie, in memory."""

    def __init__(self, path: Path, chosen: Sequence[StoredColumn], unit: Sequence[str] = ()):
        self.path, self.chosen, self.unit = path, chosen, list(unit)
        self._record = np.dtype(
            [("row", np.int64), ("unit", np.int64), ("gaps", np.bool_, (len(chosen),))]
            + [(f"v{j}", column.empty.values.dtype) for j, column in enumerate(chosen)]
        )
        self._stretches: list[
            list[tuple[int, int]]
        ] = []  # of each block: (first record in the file, how many)

    def fill(self, plan: BlockPlan, table: ParquetTable, report: Callable[[float], None]) -> BlockPlan:
        """Write every batch sorted by leaf; then the leaves' exact counts place them in blocks.

        A unit's records lie in one leaf, which takes a reading of its own to find.
        """
        homes = self._homes(plan, table) if self.unit else None
        per_leaf: list[list[tuple[int, int]]] = [[] for _ in range(plan.leaves)]
        written = 0
        with self.path.open("wb") as file:
            for begin, batch in table.batches([*plan.names, *self.unit]):
                columns = [column.read(cells, begin) for column, cells in zip(self.chosen, batch.columns)]
                units = row_ids(batch, self.unit)
                leaves = plan.leaves_of(columns) if homes is None else homes.of(units)
                order = np.argsort(leaves, kind="stable")
                records = np.zeros(len(batch), self._record)
                records["row"], records["unit"] = begin + order, units[order]
                for j, column in enumerate(columns):
                    records[f"v{j}"] = column.values[order]
                    if column.gaps is not None:
                        records["gaps"][:, j] = column.gaps[order]
                file.write(records.view(np.uint8).data)
                counts = np.bincount(leaves, minlength=plan.leaves)
                for leaf in np.flatnonzero(counts).tolist():
                    per_leaf[leaf].append((written, int(counts[leaf])))
                    written += int(counts[leaf])
                report((begin + len(batch)) / len(table))
        plan = plan.placed(
            [sum(count for _, count in stretches) for stretches in per_leaf],
            None if homes is None else homes.counts(plan.leaves),
        )
        self._stretches = [[] for _ in plan.counts]
        self._shares = [(0, 1)] * len(plan.counts)
        for (first, shards), stretches in zip(plan.places, per_leaf):
            for shard in range(shards):
                self._stretches[first + shard] += stretches
                self._shares[first + shard] = (shard, shards)
        return plan

    def _homes(self, plan: BlockPlan, table: ParquetTable) -> Homes:
        homes = Homes()
        for begin, batch in table.batches([*plan.names, *self.unit]):
            refuse_without_unit(batch, self.unit, begin)
            columns = [column.read(cells, begin) for column, cells in zip(self.chosen, batch.columns)]
            homes.add(row_ids(batch, self.unit), plan.keys_of(batch), plan.leaves_of(columns))
        return homes.finish()

    def read(self, block: int) -> tuple[Ints, list[Column], Ints | None]:
        """The row numbers, the columns and the units of one block."""
        size = self._record.itemsize
        pieces = []
        shard, shards = self._shares[block]
        with self.path.open("rb") as file:
            for first, count in self._stretches[block]:
                file.seek(first * size)
                piece = np.fromfile(file, self._record, count)
                ties = piece["unit" if self.unit else "row"].view(np.uint64)
                pieces.append(piece if shards == 1 else piece[ties % np.uint64(shards) == shard])
        records = np.concatenate(pieces)
        columns = []
        for j, column in enumerate(self.chosen):
            gaps = np.ascontiguousarray(records["gaps"][:, j])
            values = np.ascontiguousarray(records[f"v{j}"])
            columns.append(column.empty.holding(values, gaps if gaps.any() else None))
        return records["row"].copy(), columns, records["unit"].copy() if self.unit else None
