"""The groups of all blocks: what memory holds of a release until it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engines.blocks.block import Grouped
from shoal.engines.blocks.columns import Kind
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed
from shoal.stages.loss import Loss


class Groups:
    """The group of every record and what every group publishes: all that memory holds of the release."""

    def __init__(self, plan: BlockPlan, chosen: Sequence[Kind]):
        self.plan, self.chosen = plan, chosen
        self.labels = np.full(plan.records, -1, np.int32)
        self.loss = Loss()
        self.count = 0
        self._sizes: list[NDArray] = []
        self._parts: list[list[tuple[NDArray, NDArray[np.bool_] | None]]] = [[] for _ in chosen]

    def add(self, rows: NDArray[np.int64], grouped: Grouped) -> None:
        self.labels[rows] = grouped.labels + self.count
        self.count += len(grouped.sizes)
        self.loss += grouped.loss
        self._sizes.append(grouped.sizes.astype(np.int32))
        for own, new in zip(self._parts, grouped.published):
            own.append(new)

    def finish(self) -> Groups:
        """Check that no record is left out and no group short; lay the values of all blocks end to end."""
        sizes = np.bincount(self.labels, minlength=self.count) if self.labels.min() >= 0 else np.zeros(1)
        self.sizes = np.concatenate(self._sizes)
        if not np.array_equal(sizes, self.sizes) or self.sizes.min() < self.plan.k:
            raise CheckFailed(
                f"a record has no group, or a group is short of k={self.plan.k}: nothing is released"
            )
        self.values, self.gaps = [], []
        for own in self._parts:
            self.values.append(np.concatenate([values for values, _ in own]))
            gaps = [np.zeros(len(v), bool) if empty is None else empty for v, empty in own]
            self.gaps.append(np.concatenate(gaps) if any(e is not None for _, e in own) else None)
            own.clear()
        return self

    def facts(self) -> dict[str, int]:
        return {
            "groups": self.count,
            "smallest_group": int(self.sizes.min()),
            "largest_group": int(self.sizes.max()),
        }

    def released(self, j: int, begin: int, count: int) -> Any:
        """What these records publish in column j, as Arrow cells."""
        labels = self.labels[begin : begin + count]
        gaps = self.gaps[j]
        return self.chosen[j].cells(self.values[j][labels], None if gaps is None else gaps[labels])

    def replace(self, batch: Any, begin: int) -> Any:
        """The batch with its protected columns replaced; the rest is untouched."""
        for j, kind in enumerate(self.chosen):
            at = batch.schema.get_field_index(kind.name)
            batch = batch.set_column(at, batch.schema.field(at), self.released(j, begin, len(batch)))
        return batch
