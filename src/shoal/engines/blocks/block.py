"""One block of a table through all stages: the same on every engine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engines.blocks.columns import Needed
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column
from shoal.stages.part import Published
from shoal.stages.require import asked_of, refuse_infeasible
from shoal.stages.units import protect_units
from shoal.verify.requirements import figures_of


def faults_of(
    blocks: BlockPlan, needed: Needed, columns: Sequence[Column], units: Ints | None = None
) -> list[tuple[float, str]]:
    """For each rule that a block cannot hold, how far it is from it, and that in a sentence."""
    part, found = needed.divided(columns, units, blocks.scales), []
    for rule, column in part.watched:
        asked = asked_of(blocks.plan, replace(part, columns=(), watched=[(rule, column)]))
        try:
            refuse_infeasible(asked, part, blocks.plan.k)
        except InputError as error:
            together = np.zeros(len(part), np.int64) if part.strata is None else part.strata
            figures = figures_of(rule, column, together, part.weight, units)[0]
            found.append((-figures.min() if rule.at_least else figures.max(), str(error)))
    return found


def refuse_faults(found: Iterable[tuple[float, str]]) -> None:
    """Refuse blocks that cannot hold a rule, by the farthest from it: what that can have, all can."""
    worst = max(found, default=None)
    if worst is not None:
        raise InputError(worst[1])


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
    published = protect_units(
        blocks.plan,
        needed.divided(
            [column.at(order) for column in columns],
            None if units is None else units[order],
            blocks.scales if several else None,
        ),
        seed=blocks.seed_of(block),
        time_limit=time_limit,
        progress=progress,
    )
    labels = np.empty(len(order), np.int64)
    labels[order] = published.partition.labels
    return labels, published
