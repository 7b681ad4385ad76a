"""What Spark's Python workers do with batches and blocks: the same functions as on one machine."""

import json
import os
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.blocks.block import faults_of, protect_block
from shoal.engines.blocks.columns import MERGED, WAS, Needed
from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.blocks.steps import Batches
from shoal.errors import CheckFailed, InputError
from shoal.stages.kept import few_units
from shoal.stages.part import COUNTS
from shoal.stages.units import group_sizes

BLOCK, TIE, PLACE, UNIT = "__shoal_block", "__shoal_tie", "__shoal_place", "__shoal_unit"
KEY, LEAF = "__shoal_key", "__shoal_leaf"
#: Numbers for the values of columns that look like identifiers: IDS + "0", IDS + "1", ..
IDS = "__shoal_id"
#: What is known of each block as JSON, told on its first row and null on all others; one column for each part
#: of columns that are grouped together: FACTS + "0", FACTS + "1", ..
FACTS = "__shoal_facts"
#: The group of each record: its block in the upper 32 bits; one column for each part, as of the facts.
GROUP = "__shoal_group"


def gather(find: Callable[[Any], Any]) -> Callable:
    """What a function finds in the batches of each partition, or what is wrong with them."""

    def task(batches):
        try:
            found = find((None, batch) for batch in batches)
        except InputError as error:
            found = error
        yield pa.RecordBatch.from_pydict({"found": [pickle.dumps(found)]})

    return task


def each(change: Callable[[Any], Any]) -> Callable:
    """Every batch, changed."""

    def task(batches):
        return map(change, batches)

    return task


def count_leaves(parts: Sequence[tuple[BlockPlan, Needed]], batches: Batches) -> list[Counter[int]]:
    """How many records each leaf has, for each part of columns that are grouped together."""
    found = [Counter[int]() for _ in parts]
    for _, batch in batches:
        for counter, (plan, needed) in zip(found, parts):
            leaves, counts = np.unique(plan.leaves_in(needed, needed.read(batch)), return_counts=True)
            counter.update(dict(zip(leaves.tolist(), counts.tolist())))
    return found


def assign_leaves(plan: BlockPlan, needed: Needed, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with the key and the leaf of each record."""
    leaves = plan.leaves_in(needed, needed.read(batch))
    return batch.append_column(KEY, pa.array(plan.keys_of(batch))).append_column(LEAF, pa.array(leaves))


def assign_blocks(plan: BlockPlan, needed: Needed, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with one more column: the block of each record; a unit's records know their leaf."""
    if LEAF in batch.schema.names:
        leaves, ties = np.asarray(batch.column(LEAF)), _numbers(batch, UNIT)
        batch = batch.drop_columns([LEAF])
    else:
        leaves, ties = plan.leaves_in(needed, needed.read(batch)), _numbers(batch, TIE)
    return batch.append_column(BLOCK, pa.array(plan.blocks_of(leaves, ties), pa.int32()))


def find_faults(plan: BlockPlan, needed: Needed) -> Callable:
    """What a block cannot hold of the rules."""

    def task(table):
        units = np.asarray(table[UNIT]) if UNIT in table.column_names else None
        found = faults_of(plan, needed, needed.read(table), units)
        rows = [{"far": far, "fault": fault} for far, fault in found]
        return pa.Table.from_pylist(rows, pa.schema({"far": pa.float64(), "fault": pa.string()}))

    return task


def release_block(plan: BlockPlan, needed: Needed, part: int = 0, last: bool = True) -> Callable:
    """A block's records with their protected columns replaced, and what is known of the block.

    The `last` part of columns leaves out what the grouping needed beside them.
    """

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
            "part": part,
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
        left = [name for name in table.column_names if name.startswith((WAS, MERGED, IDS, TIE))]
        table = table.drop_columns([BLOCK, *(left if last else ())]).append_column(f"{FACTS}{part}", told)
        table = table.append_column(f"{GROUP}{part}", pa.array((block << 32) + labels.astype(np.int64)))
        return table.cast(pa.schema([_in_utc(field) for field in table.schema]))

    return task


def _in_utc(field: pa.Field) -> pa.Field:
    """Points in time come in the session's zone, and groups have to give them back in UTC."""
    zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp(field.type.unit, "UTC")) if zoned else field


def told_in(df: Any, what: str = FACTS) -> list[str]:
    """The columns of a DataFrame in which blocks tell what is known of them."""
    return [name for name in df.columns if name.startswith(what)]


def pack(batches: Any) -> Any:
    """Each batch as the bytes of a stream of Arrow's, so that a driver can take one after another."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"packed": [sink.getvalue().to_pybytes()]})


def _numbers(table: Any, name: str) -> np.ndarray:
    at = table.schema.get_field_index(name)
    return np.ascontiguousarray(np.asarray(table.column(at))).view(np.uint64)
