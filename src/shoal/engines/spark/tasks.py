"""What Spark's Python workers do with batches and blocks: the same functions as on one machine."""

import json
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.blocks.block import faults_of, protect_block
from shoal.engines.blocks.columns import MERGED, WAS, Moved, Needed, StoredColumn
from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.blocks.steps import Recoding
from shoal.engines.blocks.strata import Merging
from shoal.errors import CheckFailed, InputError
from shoal.stages.kept import few_units
from shoal.stages.moments import Moments
from shoal.stages.part import COUNTS
from shoal.stages.prepare import as_weights
from shoal.stages.units import group_sizes

BLOCK, TIE, PLACE, UNIT = "__shoal_block", "__shoal_tie", "__shoal_place", "__shoal_unit"
KEY, LEAF = "__shoal_key", "__shoal_leaf"
#: Numbers for the values of columns that look like identifiers: IDS + "0", IDS + "1", ..
IDS = "__shoal_id"
#: What is known of each block as JSON, told on its first row and null on all others.
FACTS = "__shoal_facts"


def find_moments(columns: Sequence[StoredColumn | Moved], weight: StoredColumn | None = None) -> Callable:
    """One row for each partition: the moments of these columns as JSON, or what is wrong with them."""

    def task(batches):
        moments = [Moments()] * len(columns)
        try:
            for batch in batches:
                for j, stored in enumerate(columns):
                    column = stored.of(batch)
                    if stored == weight:
                        as_weights(column, None)
                    moments[j] += Moments.of(column.present, column.gap_count)
            answer = json.dumps([list(one) for one in moments])
        except InputError as error:
            answer = json.dumps({"error": str(error)})
        yield pa.RecordBatch.from_pydict({"moments": [answer]})

    return task


def gather(find: Callable[[Any], Any]) -> Callable:
    """What a function finds in the batches of each partition, or what is wrong with them."""

    def task(batches):
        try:
            found = find((None, batch) for batch in batches)
        except InputError as error:
            found = error
        yield pa.RecordBatch.from_pydict({"found": [pickle.dumps(found)]})

    return task


def recode(recoding: Recoding | Merging) -> Callable:
    """The batches as the plan's steps make them, or with small strata merged."""

    def task(batches):
        for batch in batches:
            yield recoding.apply(batch)

    return task


def keep_complete(needed: Needed) -> Callable:
    """The records without a gap in a column to protect."""

    def task(batches):
        for batch in batches:
            yield batch.filter(pa.array(needed.complete(batch)))

    return task


def count_leaves(plan: BlockPlan, needed: Needed) -> Callable:
    """For each batch, how many records each leaf has."""

    def task(batches):
        for batch in batches:
            leaves, counts = np.unique(plan.leaves_in(needed, needed.read(batch)), return_counts=True)
            yield pa.RecordBatch.from_pydict({"leaf": leaves, "records": counts})

    return task


def assign_leaves(plan: BlockPlan, needed: Needed) -> Callable:
    """The batches with the key and the leaf of each record."""

    def task(batches):
        for batch in batches:
            leaves = plan.leaves_in(needed, needed.read(batch))
            keyed = batch.append_column(KEY, pa.array(plan.keys_of(batch)))
            yield keyed.append_column(LEAF, pa.array(leaves))

    return task


def assign_blocks(plan: BlockPlan, needed: Needed) -> Callable:
    """The batches with one more column: the block of each record; a unit's records know their leaf."""

    def task(batches):
        for batch in batches:
            if LEAF in batch.schema.names:
                leaves, ties = np.asarray(batch.column(LEAF)), _numbers(batch, UNIT)
                batch = batch.drop_columns([LEAF])
            else:
                leaves = plan.leaves_in(needed, needed.read(batch))
                ties = _numbers(batch, TIE)
            blocks = plan.blocks_of(leaves, ties)
            yield batch.append_column(BLOCK, pa.array(blocks, pa.int32()))

    return task


def find_faults(plan: BlockPlan, needed: Needed) -> Callable:
    """What a block cannot hold of the rules."""

    def task(table):
        units = np.asarray(table[UNIT]) if UNIT in table.column_names else None
        found = faults_of(plan, needed, needed.read(table), units)
        rows = [{"far": far, "fault": fault} for far, fault in found]
        return pa.Table.from_pylist(rows, pa.schema({"far": pa.float64(), "fault": pa.string()}))

    return task


def release_block(plan: BlockPlan, needed: Needed) -> Callable:
    """A block's records with their protected columns replaced, and what is known of the block."""

    def task(key, table):
        os.environ.setdefault("SHOAL_THREADS", "1")
        block = key[0].as_py()
        shared = any(shards > 1 for _, first, shards in plan.places if first <= block < first + shards)
        if not shared and len(table) != plan.counts[block]:
            raise CheckFailed(
                f"block {block} has {len(table)} records where {plan.counts[block]} were counted: the data "
                "change from one reading to the next; store them first (df.checkpoint(), or a file)"
            )
        units = np.asarray(table[UNIT]) if UNIT in table.column_names else None
        columns, ties = needed.read(table), _numbers(table, TIE)
        labels, published = protect_block(plan, needed, block, columns, ties, units=units)
        for stored, groups in zip(needed.chosen, published.groups):
            at = table.schema.get_field_index(stored.name)
            table = table.set_column(at, table.schema.field(at), stored.published(groups, labels))
        ids = [name for name in table.column_names if name.startswith(IDS)]
        sizes = group_sizes(labels, units)
        facts = {
            "block": block,
            "groups": len(sizes),
            "sizes": [int(sizes.min()), int(sizes.max())],
            "loss": [float(part) for part in published.loss],
            "sums": {name: sums.tolist() for name, sums in published.sums.items()},
            "counts": {name: getattr(published, name) for name in COUNTS},
            "method": published.method,
            "once": published.once,
            "held": [asdict(held) for held in published.held],
            "few": [few_units(np.asarray(table[name]), labels, plan.plan.k) for name in ids],
        }
        told = pa.array([json.dumps(facts)] + [None] * (len(table) - 1), pa.string())
        was = [name for name in table.column_names if name.startswith((WAS, MERGED))]
        return table.drop_columns([BLOCK, TIE, *ids, *was]).append_column(FACTS, told)

    return task


def _numbers(table: Any, name: str) -> np.ndarray:
    at = table.schema.get_field_index(name)
    return np.ascontiguousarray(np.asarray(table.column(at))).view(np.uint64)
