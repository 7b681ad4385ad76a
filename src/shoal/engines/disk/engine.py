"""Tables larger than memory on one machine: statistics, blocks on disk, one block after another, parts.

Memory holds one batch, a few blocks, and for each record the number of its group; for each group what
it publishes.
"""

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints
from shoal.engines.blocks.block import faults_of, protect_block, refuse_faults
from shoal.engines.blocks.layout import keys_of
from shoal.engines.blocks.limits import columns_to_protect, look_at_some
from shoal.engines.blocks.placed import Placed, refuse_unmeasurable
from shoal.engines.blocks.plan import BlockPlan, block_size, make_plan, private, sha256_of
from shoal.engines.blocks.steps import find
from shoal.engines.blocks.strata import merge
from shoal.engines.disk.groups import Groups, Parts
from shoal.engines.disk.look import RecodedTable, look
from shoal.engines.disk.nearby import nearby
from shoal.engines.disk.shuffle import STRETCH, Shuffle
from shoal.engines.disk.spill import Spill
from shoal.engines.memory import linked_units, time_left
from shoal.errors import InputError, too_few
from shoal.frame.order import row_ids
from shoal.frame.types import left_out
from shoal.io import parquet
from shoal.io.hive import Folders
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.measures.order import order_note
from shoal.measures.uniqueness import few_valued
from shoal.outcome import Outcome, notes_on
from shoal.plan import Plan
from shoal.stages.kept import repeated_units
from shoal.stages.part import Published
from shoal.stages.units import group_sizes, once_note
from shoal.verify import policy
from shoal.verify.count import Counter
from shoal.verify.stream import compare_batches

Progress = Callable[[float], None]
#: Blocks in memory at a time; the search inside a block uses all cores anyway.
AT_ONCE = 2
#: The shares of the whole work after statistics, grouping, writing; the check is the rest.
SHARES = (0.03, 0.9, 0.95)
#: The share of the grouping that the spill takes.
SPILLED = 0.05


@nearby
def run(
    plan: Plan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    partition_by: str | Sequence[str] | None = None,
    progress: Progress | None = None,
    compute: Callable[[Callable[[], Any]], Any] = lambda work: work(),
    block_records: int | None = None,
    batch_records: int = parquet.BATCH,
    part_records: int = parquet.PART,
    blocks: BlockPlan | None = None,
    private_to: Path | None = None,
    then: Callable[[Outcome, Placed], None] | None = None,
) -> Outcome:
    """Make the release that the plan describes from Parquet files.

    `compute` calls what takes long: the command line hands over one that hears Ctrl-C meanwhile. `blocks` is
    a block plan to follow instead of making one, `block_records` the size of its blocks. `batch_records` are
    read at once, and a part file has `part_records`. What is for the owner alone goes to `private_to`.
    `then` is called with the finished release, as long as its files lie here.
    """
    began = time.perf_counter()
    report = progress or (lambda fraction: None)
    target = Path(target)
    parquet.refuse_target(Path(source), target, replace)
    table = parquet.ParquetTable(source, batch_records)
    if len(table) < plan.k:
        raise too_few(plan.k, len(table))
    if then is not None:
        refuse_unmeasurable(len(table))
    asked = columns_to_protect(plan, table.schema)
    chosen = [column.name for column in asked.chosen]
    keys, keys_note = keys_of(plan, table.schema, table.keys, chosen, target, partition_by)
    if plan.missing == "drop":
        kept = np.concatenate([asked.complete(batch, begin) for begin, batch in table.batches(chosen)])
        if not kept.all():
            left = left_out(len(table), int(kept.sum()), plan.k)
            table = parquet.SomeRows(table, kept, [left])
    original = table

    def gather(names: Sequence[str], seek: Callable[[Any], Any]) -> list[Any]:
        return [seek(table.batches(names))]

    recoding, asked, steps = find(plan, asked, gather, len(table))
    table = table if recoding is None else RecodedTable(table, recoding)
    joined = {} if recoding is None else recoding.steps.levels
    merged: Sequence[str] = ()
    size = block_records or block_size(len(table))
    folders = Folders(keys) if keys else None
    seen = look(plan, table, asked, size, folders, lambda part: report(SHARES[0] * part))
    needed, recoding_loss = seen.statistics.listing(joined)
    if plan.merge_small_strata:
        merging, needed, more = merge(plan, needed, seen.statistics.facts(needed), gather)
        table, steps = table if merging is None else RecodedTable(table, merging), [*steps, *more]
        merged = () if merging is None else merging.changed
    said = look_at_some(plan, needed, seen.some, merged)
    parts = [needed.part(names) for names in plan.parts([column.name for column in needed.chosen])]
    plans = []
    for part in parts:
        facts = seen.statistics.facts(part)
        plans.append(blocks or make_plan(plan, part.chosen, facts, seen.sample, size))
        plans[-1].require(plan, part.chosen)
        if plans[-1].records != len(table):
            raise InputError(f"the block plan is of {plans[-1].records} records, but there are {len(table)}")
    with parquet.workplace(target) as folder:
        grouped = []

        def during(part: int, begin: float, share: float, done: float) -> None:
            report(SHARES[0] + (SHARES[1] - SHARES[0]) * (part + begin + share * done) / len(parts))

        for j, part in enumerate(parts):
            spill = Spill(folder / "spill", part, plan.unit)
            plans[j] = spill.fill(plans[j], table, partial(during, j, 0, SPILLED))
            seconds = time_left(plan, began, began, len(parts) - j)
            progress = partial(during, j, SPILLED, 1 - SPILLED)
            grouped.append(_group(plans[j], spill, compute, seconds, progress))
        groups = Parts(grouped, [column.name for column in needed.strata])
        made = folder / ("release.parquet" if target.suffix == ".parquet" else "release")
        dropped = [*plan.named("identifier"), *plan.unnumbered]
        schema = table.schema.empty_table().drop_columns(dropped).schema
        writer = parquet.PartWriter(made, schema, part_records, folders)
        places = seen.places(len(table), folders)
        stretch = min(STRETCH, part_records)
        shuffle = None if places is None else Shuffle(folder / "shuffle", schema, places, stretch)
        for begin, batch in table.batches(schema.names):
            if shuffle is None:
                writer.write(groups.replace(batch, begin))
            else:
                shuffle.add(groups.replace(batch, begin), begin)
            report(SHARES[1] + (SHARES[2] - SHARES[1]) * begin / len(table))
        for batch in () if shuffle is None else shuffle.batches():
            writer.write(batch)
        writer.close()
        unique = _verify(table, made, schema, groups, places, lambda part: report(SHARES[2] + 0.05 * part))

        def ids(name: str) -> Ints:
            return np.concatenate([row_ids(batch, [name]) for _, batch in table.batches([name])])

        notes = [
            *(*table.notes, *keys_note, *steps, *once_note(groups.once), *said, *groups.notes),
            *repeated_units(plan, table.schema.names, groups.columns, groups.labels, ids),
            *([] if groups.units is None else linked_units(plan, groups.units, groups.labels)),
            *notes_on(plan, list(groups.used), groups.counts),
        ]
        sizes = np.concatenate([group_sizes(labels, groups.units) for labels in groups.labels])
        outcome = Outcome.of(
            *(plan, list(groups.columns), sizes, groups.loss, list(groups.used), notes, began),
            kept=[name for name in schema.names if name not in groups.columns],
            records=len(table),
            held=groups.held,
            recoding_loss=recoding_loss,
            least=groups.least if all(len(one.counts) == 1 for one in plans) else None,
            unique_on_categories=unique[0],
            unique_rows=unique[1],
            engine="disk",
            blocks=max(len(one.counts) for one in plans),
            plan_sha256=sha256_of(plans),
        )
        if made.is_dir():
            parquet.write_manifest(made, writer.parts, outcome.public())
            outcome = outcome.noting(
                parquet.write_private(private_to or parquet.private_path(target), private(outcome, plans))
            )
        parquet.publish(made, target)
    if then is not None:
        released = parquet.ParquetTable(target, kinds=schema).by_column()
        released = released if places is None else released.take(places)
        labels = groups.labels[0] if len(groups.labels) == 1 else np.stack(groups.labels, axis=1)
        placed = Placed(original.by_column(), released, labels, groups.units)
        del groups, seen, spill, places  # measures need the room
        then(outcome, placed)
    return outcome


def _verify(
    table: parquet.ParquetTable,
    made: Path,
    schema: pa.Schema,
    groups: Parts,
    places: Ints | None,
    report: Progress,
) -> tuple[int, ...]:
    """Read what was written and the input, and judge it as every release is judged.

    Gives how many rows are one of a kind, in protected columns and those with few values, and in all.
    """
    names, written = schema.names, parquet.ParquetTable(made, kinds=schema)
    untouched = [name for name in names if name not in groups.columns]
    _, first = next(written.batches(names))
    few = few_valued(pa.Table.from_batches([first]), untouched)
    whole = [Counter(chosen, 1) for chosen in ([*groups.columns, *few], names)]

    def released() -> Iterator[Any]:
        for _, batch in written.batches(names):
            for counter in whole:
                counter.add(batch)
            yield batch

    findings, agreement = compare_batches(
        *(table.batches(untouched or names[:1]), released(), untouched, groups.published, groups.parts),
        *(groups.k, len(table), lambda done: report(done / len(table))),
        *(places, groups.units, groups.within),
    )
    counted = "records" if groups.units is None else "units"
    policy.require(groups.k, groups.parts, findings, agreement, counted)
    return tuple(int((counter.sizes() == 1).sum()) for counter in whole)


def _group(
    plan: BlockPlan,
    spill: Spill,
    compute: Callable[[Callable[[], Any]], Any],
    seconds: float | None,
    report: Progress,
) -> Groups:
    """Every block, a few at a time; the outcome does not depend on how many unless the `seconds` run out."""
    end = None if seconds is None else time.perf_counter() + seconds
    chosen = spill.needed.chosen
    if spill.needed.watched and len(plan.counts) > 1:
        read = (spill.read(block)[1:] for block in range(len(plan.counts)))
        refuse_faults(fault for some in read for fault in faults_of(plan, spill.needed, *some))
    groups = Groups(plan, chosen)
    done = np.zeros(len(plan.counts))

    def share(block: int, part: float) -> None:
        done[block] = part * plan.counts[block]
        report(min(1.0, done.sum() / plan.records))

    def one(block: int) -> tuple[Ints, Ints | None, Ints, Published]:
        rows, columns, units = spill.read(block)
        progress = partial(share, block)
        made = protect_block(plan, spill.needed, block, columns, rows, progress, units, limit)
        if block == 0 and plan.plan.order == "keep":
            order = np.argsort(rows)
            whose = "records" if len(plan.counts) == 1 else f"the {len(rows):,} records of one block"
            protected = [column.at(order) for column in columns[: len(chosen)]]
            groups.notes += order_note(plan.plan, protected, made[0][order], whose)
        return rows, units, *made

    blocks, at_once = range(len(plan.counts)), min(thread_count(), AT_ONCE)
    for first in range(0, len(blocks), at_once):
        batch = blocks[first : first + at_once]
        part = sum(plan.counts[j] for j in batch) / sum(plan.counts[first:])
        limit = None if end is None else max(part * (end - time.perf_counter()), 1e-3)
        for block, done_block in zip(batch, compute(partial(map_threads, one, batch))):
            groups.add(*done_block)
            share(block, 1.0)
        _give_back()
    return groups.finish()


def _give_back() -> None:
    """Let the system have what arrays took that are gone.

    The C library keeps what each thread freed for later; block after block of a table of ten million records
    that came to nearly 1 GiB.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # GNU's C library has it
        trim(0)
