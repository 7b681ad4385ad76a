"""The groups of all blocks: what memory holds of a release until it is written."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engines.blocks.columns import StoredColumn
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed
from shoal.stages.loss import Loss, about_centre
from shoal.stages.part import COUNTS, Published
from shoal.stages.publish import GroupValues
from shoal.verify.requirements import Held


class Groups:
    """The group of every record and what every group publishes."""

    def __init__(self, blocks: BlockPlan, columns: Sequence[StoredColumn]):
        self.k, self.columns = blocks.plan.k, {column.name: column for column in columns}
        self.labels = np.full(blocks.records, -1, np.int32)
        self.units: Ints | None = None  # whose record each is, where units are protected
        self.loss = Loss()
        self.least: float | None = None  # what was proven of the last block
        self._sums: dict[Any, Any] = {}
        self.used: dict[str, None] = {}
        self.notes: list[str] = []
        self.held: list[Held] = []
        self.once = list(self.columns)  # columns that are the same in all records of a unit
        self.counts = dict.fromkeys(COUNTS, 0)
        self._count = 0
        self._sizes: list[NDArray] = []
        self._parts: list[list[GroupValues]] = [[] for _ in columns]

    def add(self, rows: Ints, units: Ints | None, labels: Ints, published: Published) -> None:
        """The groups of one more block, whose records are these rows, of these units."""
        if units is not None:
            self.units = np.zeros(len(self.labels), np.int64) if self.units is None else self.units
            self.units[rows] = units
        self.labels[rows] = labels + self._count
        self._count += len(published.partition)
        self.loss += published.loss
        self.least = published.least
        for name, sums in published.sums.items():
            self._sums[name] = self._sums.get(name, 0) + sums
        self.used |= {published.method: None}
        self.held += published.held
        self.once = [name for name in self.once if name in published.once]
        for name in self.counts:
            self.counts[name] += getattr(published, name)
        self._sizes.append(published.partition.sizes.astype(np.int32))
        for blocks, new in zip(self._parts, published.groups):
            blocks.append(new)

    def finish(self) -> "Groups":
        """Check that no record is left out and no group short; lay the values of all blocks end to end."""
        sizes = np.bincount(self.labels, minlength=self._count) if self.labels.min() >= 0 else np.zeros(1)
        self.sizes = np.concatenate(self._sizes)
        if not np.array_equal(sizes, self.sizes) or self.sizes.min() < self.k:
            raise CheckFailed(
                f"a record has no group, or a group is short of k={self.k}: nothing is released"
            )
        self.loss = about_centre(self.loss, self._sums)
        self.values: dict[str, GroupValues] = {}
        for name, blocks in zip(self.columns, self._parts):
            values = np.concatenate([part.values for part in blocks])
            gaps = [np.zeros(len(p.values), bool) if p.gaps is None else p.gaps for p in blocks]
            some = any(part.gaps is not None for part in blocks)
            self.values[name] = GroupValues(values, np.concatenate(gaps) if some else None)
            blocks.clear()
        return self

    def published(self, name: str, begin: int, count: int) -> Any:
        """What these records publish in a column, as Arrow cells."""
        return self.columns[name].published(self.values[name], self.labels[begin : begin + count])


class Parts:
    """The groups of columns that were grouped apart, seen together."""

    def __init__(self, parts: Sequence[Groups], strata: Sequence[str]):
        first, self._part_of = parts[0], {name: part for part in parts for name in part.columns}
        self.k, self.units = first.k, first.units
        self.columns = {name: column for part in parts for name, column in part.columns.items()}
        self.within = [name for name in strata if name not in self.columns]  # in which k is counted
        self.parts = [list(part.columns) for part in parts]
        self.labels = [part.labels for part in parts]
        self.loss = sum((part.loss for part in parts), Loss())
        proven = [part.least for part in parts if part.least is not None]
        self.least = sum(proven) if len(proven) == len(parts) else None
        self.used = dict.fromkeys(name for part in parts for name in part.used)
        self.notes = [note for part in parts for note in part.notes]
        self.held = [held for part in parts for held in part.held]
        self.once = [name for part in parts for name in part.once]
        self.counts = {name: sum(part.counts[name] for part in parts) for name in COUNTS}

    def published(self, name: str, begin: int, count: int) -> Any:
        """What these records publish in a column, as Arrow cells."""
        return self._part_of[name].published(name, begin, count)

    def replace(self, batch: pa.RecordBatch, begin: int) -> pa.RecordBatch:
        """The batch with its protected columns replaced; the rest is untouched."""
        for name in self.columns:
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, batch.schema.field(at), self.published(name, begin, len(batch)))
        return batch
