"""What Spark's Python workers do with batches and blocks: the same functions as on one machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shoal.engines.blocks.block import group_block
from shoal.engines.blocks.columns import Kind, Moments
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed, InputError

BLOCK, TIE = "__shoal_block", "__shoal_tie"
#: What is known of each block, told on its first row and null on all others.
FACTS = {
    "__shoal_groups": "long",
    "__shoal_smallest": "long",
    "__shoal_largest": "long",
    "__shoal_total": "double",
    "__shoal_within": "double",
    "__shoal_rounding": "double",
}


def find_moments(kinds: Sequence[Kind]) -> Callable:
    """One row for each partition: the moments of every column as JSON, or what is wrong with it."""

    def task(batches):
        import pyarrow as pa

        moments = [Moments()] * len(kinds)
        try:
            for batch in batches:
                columns = [kind.read(cells) for kind, cells in zip(kinds, batch.columns)]
                moments = [own + Moments.of(column) for own, column in zip(moments, columns)]
            answer = json.dumps([list(own) for own in moments])
        except InputError as error:
            answer = json.dumps({"error": str(error)})
        yield pa.RecordBatch.from_pydict({"moments": [answer]})

    return task


def count_leaves(plan: BlockPlan, kinds: Sequence[Kind]) -> Callable:
    """For each partition, how many records each leaf has."""

    def task(batches):
        import pyarrow as pa

        counts = np.zeros(plan.leaves, np.int64)
        for batch in batches:
            leaves = plan.leaves_of([kind.read(cells) for kind, cells in zip(kinds, batch.columns)])
            counts += np.bincount(leaves, minlength=plan.leaves)
        yield pa.RecordBatch.from_pydict({"leaf": np.arange(plan.leaves), "records": counts})

    return task


def assign_blocks(plan: BlockPlan, kinds: Sequence[Kind]) -> Callable:
    """The batches with one more column: the block of each record."""

    def task(batches):
        import pyarrow as pa

        for batch in batches:
            leaves = plan.leaves_of([kind.read(batch.column(kind.name)) for kind in kinds])
            blocks = plan.blocks_of(leaves, _ties(batch))
            yield batch.append_column(BLOCK, pa.array(blocks, pa.int32()))

    return task


def release_block(plan: BlockPlan, kinds: Sequence[Kind]) -> Callable:
    """A block's records with their protected columns replaced, and what is known of the block."""

    def task(key, table):
        import pyarrow as pa

        os.environ.setdefault("SHOAL_THREADS", "1")
        block = key[0].as_py()
        shared = any(shards > 1 for first, shards in plan.places if first <= block < first + shards)
        if not shared and len(table) != plan.counts[block]:
            raise CheckFailed(
                f"block {block} has {len(table)} records where {plan.counts[block]} were counted: the data "
                "change from one reading to the next; store them first (df.checkpoint(), or a file)"
            )
        grouped = group_block(plan, block, [kind.read(table[kind.name]) for kind in kinds], _ties(table))
        for kind, (values, empty) in zip(kinds, grouped.published):
            gaps = None if empty is None else empty[grouped.labels]
            at = table.schema.get_field_index(kind.name)
            cells = kind.cells(values[grouped.labels], gaps)
            table = table.set_column(at, table.schema.field(at), cells)
        table = table.drop_columns([BLOCK, TIE])
        sizes = grouped.sizes
        known = (len(sizes), int(sizes.min()), int(sizes.max()), *map(float, grouped.loss))
        for (name, word), value in zip(FACTS.items(), known):
            stored = pa.int64() if word == "long" else pa.float64()
            table = table.append_column(name, pa.array([value] + [None] * (len(table) - 1), stored))
        return table

    return task


def _ties(table: Any) -> np.ndarray:
    at = table.schema.get_field_index(TIE)
    return np.ascontiguousarray(np.asarray(table.column(at))).view(np.uint64)
