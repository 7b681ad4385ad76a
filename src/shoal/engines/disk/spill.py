"""The columns to group by, on disk: any block of them comes back without reading the others."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engines.blocks.columns import Needed
from shoal.engines.blocks.plan import BlockPlan
from shoal.frame.column import Column
from shoal.frame.order import row_ids
from shoal.io.parquet import ParquetTable
from shoal.stages.units import refuse_without_unit

_HOME = np.dtype([("unit", np.int64), ("key", np.int64), ("leaf", np.int64)])


class Spill:
    """The columns to group by on disk, in stretches of one leaf each; where they lie, in memory."""

    def __init__(self, path: Path, needed: Needed, unit: Sequence[str] = ()):
        self.path, self.needed, self.unit = path, needed, list(unit)
        self._names = list(dict.fromkeys([*needed.names, *unit]))
        self._columns = needed.columns
        self._record = np.dtype(
            [("row", np.int64), ("unit", np.int64), ("gaps", np.bool_, (len(self._columns),))]
            + [(f"v{j}", column.empty.values.dtype) for j, column in enumerate(self._columns)]
        )
        #: Of each block: (first record in the file, how many).
        self._stretches: list[list[tuple[int, int]]] = []

    def fill(self, plan: BlockPlan, table: ParquetTable, report: Callable[[float], None]) -> BlockPlan:
        """Write every batch sorted by leaf; then the leaves' exact counts place them in blocks.

        A unit's records lie in one leaf, which takes a reading of its own to find.
        """
        homes = None
        if self.unit:
            homes = _Homes()
            for begin, batch in table.batches(self._names):
                refuse_without_unit(batch, self.unit, begin)
                leaves = plan.leaves_in(self.needed, self.needed.read(batch, begin))
                homes.add(self._homed(batch), plan.keys_of(batch), leaves)
            homes.finish()
        per_leaf: dict[int, list[tuple[int, int]]] = {}
        written = 0
        with self.path.open("wb") as file:
            for begin, batch in table.batches(self._names):
                columns = self.needed.read(batch, begin)
                units = row_ids(batch, self.unit)
                if homes is None:
                    leaves = plan.leaves_in(self.needed, columns)
                else:
                    leaves = homes.of(self._homed(batch))
                order = np.argsort(leaves, kind="stable")
                records = np.zeros(len(batch), self._record)
                records["row"], records["unit"] = begin + order, units[order]
                for j, column in enumerate(columns):
                    records[f"v{j}"] = column.values[order]
                    if column.gaps is not None:
                        records["gaps"][:, j] = column.gaps[order]
                file.write(records.view(np.uint8).data)
                for leaf, count in zip(*(facts.tolist() for facts in np.unique(leaves, return_counts=True))):
                    per_leaf.setdefault(leaf, []).append((written, count))
                    written += count
                report((begin + len(batch)) / len(table))
        held = {leaf: sum(count for _, count in stretches) for leaf, stretches in per_leaf.items()}
        units_of = held if homes is None else homes.counts()
        plan = plan.placed({leaf: (held[leaf], units_of[leaf]) for leaf in held}, self.needed.title)
        self._stretches = [[] for _ in plan.counts]
        self._shares = [(0, 1)] * len(plan.counts)
        for leaf, first, shards in plan.places:
            for shard in range(shards):
                self._stretches[first + shard] += per_leaf[leaf]
                self._shares[first + shard] = (shard, shards)
        return plan

    def _homed(self, batch: Any) -> Ints:
        """Who lies in one leaf: a unit, in each stratum for itself."""
        return row_ids(batch, [*self.unit, *(column.at for column in self.needed.strata)])

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
        for j, column in enumerate(self._columns):
            gaps = np.ascontiguousarray(records["gaps"][:, j])
            values = np.ascontiguousarray(records[f"v{j}"])
            columns.append(column.empty.holding(values, gaps if gaps.any() else None))
        return records["row"].copy(), columns, records["unit"].copy() if self.unit else None


class _Homes:
    """In which leaf the records of each unit lie: that of its record with the least key. 24 bytes a unit."""

    def __init__(self) -> None:
        self._found = np.zeros(0, _HOME)  # one for each unit, in order
        self._new: list[NDArray] = []

    def add(self, units: Ints, keys: Ints, leaves: NDArray) -> None:
        """The records of one more batch."""
        records = np.empty(len(units), _HOME)
        records["unit"], records["key"], records["leaf"] = units, keys, leaves
        self._new.append(_least(records))
        if sum(map(len, self._new)) > len(self._found):
            self.finish()

    def finish(self) -> None:
        """Take in what is new; then `of` can be asked."""
        self._found = _least(np.concatenate([self._found, *self._new]))
        self._new = []

    def of(self, units: Ints) -> Ints:
        """The leaf of each of these records' units."""
        return self._found["leaf"][np.searchsorted(self._found["unit"], units)]

    def counts(self) -> dict[int, int]:
        """How many units each leaf has."""
        leaves, counts = np.unique(self._found["leaf"], return_counts=True)
        return dict(zip(leaves.tolist(), counts.tolist()))


def _least(records: NDArray) -> NDArray:
    """Of each unit the record with the least key."""
    records = records[np.lexsort([records["leaf"], records["key"], records["unit"]])]
    units = records["unit"]
    return records[np.r_[True, units[1:] != units[:-1]]] if len(records) else records
