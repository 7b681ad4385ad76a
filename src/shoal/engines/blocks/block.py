"""Grouping one block: the same function on every engine, so that the same plan gives the same groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed
from shoal.frame.column import Column
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_within
from shoal.stages.encode import Space, raw_matrix
from shoal.stages.gap_patterns import pattern_cells
from shoal.stages.impute import fill
from shoal.stages.loss import Loss, measure
from shoal.stages.publish import publish
from shoal.stages.refine_gaps import settle


@dataclass(frozen=True, eq=False)
class Grouped:
    """The group of each record of a block, what each group publishes in each column, and what that loses."""

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    published: list[tuple[NDArray, NDArray[np.bool_] | None]]  # values, and which groups keep a gap
    loss: Loss


def group_block(
    plan: BlockPlan,
    block: int,
    columns: Sequence[Column],
    ties: NDArray,
    progress: Callable[[float], None] | None = None,
) -> Grouped:
    """Put the records into one order whatever order they came in, then group and publish them.

    The order is by values; records alike in all of them follow their `ties`.
    """
    if len(ties) < plan.k:
        raise CheckFailed(
            f"block {block} has {len(ties)} records, short of k={plan.k}: the data changed since the plan "
            "was made; protect them again"
        )
    keys: list[NDArray] = [ties]
    for column in reversed(columns):
        keys += [column.values] if column.gaps is None else [column.values, column.gaps]
    order = np.lexsort(keys)
    columns = [c.holding(c.values[order], None if c.gaps is None else c.gaps[order]) for c in columns]
    Z = np.stack([scale.apply(c.values) for scale, c in zip(plan.scales, columns)], axis=1)
    for j, column in enumerate(columns):
        if column.gaps is not None:
            Z[column.gaps, j] = 0.0
    info = get_method(plan.method, plan.parameters)
    space = Space(Z, list(plan.scales), [slice(j, j + 1) for j in range(len(columns))])
    cells = pattern_cells(columns, None, plan.k) if plan.missing == "group" else None
    points = fill(Z, columns, space.spans, cells)
    partition = run_within(
        info,
        raw_matrix(columns) if info.input == "raw" else points,
        plan.k,
        cells,
        seed=plan.seed_of(block),
        progress=progress,
        parameters=plan.parameters,
    )
    partition = settle(partition, points, columns, space.spans, cells, plan.k)
    published = [publish(column, partition) for column in columns]
    loss = measure(space, columns, [values for values, _ in published], partition, None)
    labels = np.empty(len(order), np.int64)
    labels[order] = partition.labels
    return Grouped(labels, partition.sizes, published, loss._replace(total=float(np.square(Z).sum())))


def summary(
    plan: BlockPlan, sizes: dict[str, int], loss: Loss, seconds: float, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The outcome as plain values, in the words of `Release.summary`."""
    return {
        "records": plan.records,
        "columns": list(plan.names),
        **sizes,
        "information_loss": loss.percent(loss.within),
        "rounding_loss": loss.percent(loss.rounding) if loss.rounding > 1e-20 * loss.total else 0.0,
        "method": plan.method,
        "used": [plan.method],
        "k": plan.k,
        "seed": plan.seed,
        "per_column": False,
        "promise": f"every published combination of {', '.join(plan.names)} is shared by at least "
        f"{plan.k} records",
        "seconds": seconds,
        "notes": list(notes),
        "blocks": len(plan.counts),
        "plan_sha256": plan.sha256(),
    }
