"""What Spark's Python workers do with batches and blocks: the same functions as on one machine."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.blocks.block import protect_block
from shoal.engines.blocks.columns import StoredColumn
from shoal.engines.blocks.plan import BlockPlan
from shoal.errors import CheckFailed, InputError
from shoal.stages.kept import few_units
from shoal.stages.moments import Moments
from shoal.stages.part import COUNTS
from shoal.stages.units import group_sizes

BLOCK, TIE, PLACE, UNIT = "__shoal_block", "__shoal_tie", "__shoal_place", "__shoal_unit"
KEY, LEAF = "__shoal_key", "__shoal_leaf"
#: Numbers for the values of columns that look like identifiers: IDS + "0", IDS + "1", ..
IDS = "__shoal_id"
#: What is known of each block as JSON, told on its first row and null on all others.
FACTS = "__shoal_facts"


def find_moments(chosen: Sequence[StoredColumn]) -> Callable:
    """One row for each partition: the moments of every column as JSON, or what is wrong with it."""

    def task(batches):
        moments = [Moments()] * len(chosen)
        try:
            for batch in batches:
                columns = [stored.read(cells) for stored, cells in zip(chosen, batch.columns)]
                new = [Moments.of(column.present, column.gap_count) for column in columns]
                moments = [one + other for one, other in zip(moments, new)]
            answer = json.dumps([list(one) for one in moments])
        except InputError as error:
            answer = json.dumps({"error": str(error)})
        yield pa.RecordBatch.from_pydict({"moments": [answer]})

    return task


def count_leaves(plan: BlockPlan, chosen: Sequence[StoredColumn]) -> Callable:
    """For each partition, how many records each leaf has."""

    def task(batches):
        counts = np.zeros(plan.leaves, np.int64)
        for batch in batches:
            leaves = plan.leaves_of([stored.read(cells) for stored, cells in zip(chosen, batch.columns)])
            counts += np.bincount(leaves, minlength=plan.leaves)
        yield pa.RecordBatch.from_pydict({"leaf": np.arange(plan.leaves), "records": counts})

    return task


def assign_leaves(plan: BlockPlan, chosen: Sequence[StoredColumn]) -> Callable:
    """The batches with the key and the leaf of each record."""

    def task(batches):
        for batch in batches:
            leaves = plan.leaves_of([stored.read(batch.column(stored.name)) for stored in chosen])
            keyed = batch.append_column(KEY, pa.array(plan.keys_of(batch)))
            yield keyed.append_column(LEAF, pa.array(leaves))

    return task


def assign_blocks(plan: BlockPlan, chosen: Sequence[StoredColumn]) -> Callable:
    """The batches with one more column: the block of each record; a unit's records know their leaf."""

    def task(batches):
        for batch in batches:
            if LEAF in batch.schema.names:
                leaves, ties = np.asarray(batch.column(LEAF)), _numbers(batch, UNIT)
                batch = batch.drop_columns([LEAF])
            else:
                leaves = plan.leaves_of([stored.read(batch.column(stored.name)) for stored in chosen])
                ties = _numbers(batch, TIE)
            blocks = plan.blocks_of(leaves, ties)
            yield batch.append_column(BLOCK, pa.array(blocks, pa.int32()))

    return task


def release_block(plan: BlockPlan, chosen: Sequence[StoredColumn]) -> Callable:
    """A block's records with their protected columns replaced, and what is known of the block."""

    def task(key, table):
        os.environ.setdefault("SHOAL_THREADS", "1")
        block = key[0].as_py()
        shared = any(shards > 1 for first, shards in plan.places if first <= block < first + shards)
        if not shared and len(table) != plan.counts[block]:
            raise CheckFailed(
                f"block {block} has {len(table)} records where {plan.counts[block]} were counted: the data "
                "change from one reading to the next; store them first (df.checkpoint(), or a file)"
            )
        columns = [stored.read(table[stored.name]) for stored in chosen]
        units = np.asarray(table[UNIT]) if UNIT in table.column_names else None
        labels, published = protect_block(plan, block, columns, _numbers(table, TIE), units=units)
        for stored, groups in zip(chosen, published.groups):
            at = table.schema.get_field_index(stored.name)
            table = table.set_column(at, table.schema.field(at), stored.published(groups, labels))
        ids = [name for name in table.column_names if name.startswith(IDS)]
        sizes = group_sizes(labels, units)
        facts = {
            "block": block,
            "groups": len(sizes),
            "sizes": [int(sizes.min()), int(sizes.max())],
            "loss": [float(part) for part in published.loss],
            "counts": {name: getattr(published, name) for name in COUNTS},
            "method": published.method,
            "once": published.once,
            "few": [few_units(np.asarray(table[name]), labels, plan.plan.k) for name in ids],
        }
        told = pa.array([json.dumps(facts)] + [None] * (len(table) - 1), pa.string())
        return table.drop_columns([BLOCK, TIE, *ids]).append_column(FACTS, told)

    return task


def _numbers(table: Any, name: str) -> np.ndarray:
    at = table.schema.get_field_index(name)
    return np.ascontiguousarray(np.asarray(table.column(at))).view(np.uint64)
