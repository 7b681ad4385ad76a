"""One block of a table through all stages: the same on every engine."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engines.blocks.columns import Needed
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed
from shoal.frame.column import Column
from shoal.stages.part import Published
from shoal.stages.units import protect_units


def protect_block(
    blocks: BlockPlan,
    needed: Needed,
    block: int,
    columns: Sequence[Column],
    ties: NDArray,
    progress: Callable[[float], None] | None = None,
    units: Ints | None = None,
    time_limit: float | None = None,
) -> tuple[Ints, Published]:
    """The label of each record, in the order the records came in, and what the groups publish.

    `columns` are all that are needed.
    The records are grouped in one order, whatever order they came in: by value, and where all values are
    alike by their `ties`. A table of one block keeps the order of its ties: on disk these are the row
    numbers, so the release is the one that memory gives.
    """
    if len(ties) < blocks.plan.k:
        raise CheckFailed(
            f"block {block} has {len(ties)} records, short of k={blocks.plan.k}: the data changed since the "
            "plan was made; protect them again"
        )
    keys: list[NDArray] = [ties]
    several = len(blocks.counts) > 1
    if several:
        for column in reversed(columns):
            keys += [column.values] if column.gaps is None else [column.values, column.gaps]
    order = np.lexsort(keys)
    roles = needed.divided([column.at(order) for column in columns], several)
    published = protect_units(
        blocks.plan,
        roles.columns,
        roles.strata,
        roles.weight,
        None if units is None else units[order],
        watched=roles.watched,
        scales=blocks.scales if several else None,
        seed=blocks.seed_of(block),
        time_limit=time_limit,
        progress=progress,
    )
    labels = np.empty(len(order), np.int64)
    labels[order] = published.partition.labels
    return labels, published
