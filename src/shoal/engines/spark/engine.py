"""A Spark DataFrame, protected block by block on the cluster; the driver sees a sample."""

import hashlib
import os
import pickle
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from shoal.engines.blocks.block import refuse_faults
from shoal.engines.blocks.columns import MERGED, WAS, Needed
from shoal.engines.blocks.layout import keys_of
from shoal.engines.blocks.limits import columns_to_protect, look_at_some, refuse_names
from shoal.engines.blocks.placed import Placed
from shoal.engines.blocks.plan import BlockPlan, block_size, make_plan, sample_size
from shoal.engines.blocks.statistics import gathered
from shoal.engines.blocks.steps import Recoding, find
from shoal.engines.blocks.strata import Merging, merge
from shoal.engines.spark.fingerprint import Fingerprint, fingerprints, hashable, salts
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import session, speaking
from shoal.engines.spark.tasks import (
    BLOCK,
    FACTS,
    GROUP,
    IDS,
    KEY,
    LEAF,
    PLACE,
    TIE,
    UNIT,
    assign_blocks,
    assign_leaves,
    count_leaves,
    each,
    find_faults,
    gather,
    release_block,
    told_in,
)
from shoal.engines.spark.write import write
from shoal.errors import InputError, too_few
from shoal.frame.types import left_out
from shoal.io.databases.address import is_remote, shown
from shoal.io.parquet import ParquetTable
from shoal.outcome import Outcome
from shoal.plan import Plan, PlanFields, explicit
from shoal.stages.kept import SAMPLE, identifiers


@explicit(Plan, loose=True, positional=1)
def protect(
    df: Any,
    k: int,
    *,
    block_plan: BlockPlan | None = None,
    block_records: int | None = None,
    **fields: Unpack[PlanFields],
) -> SparkRelease:
    """Protect a Spark DataFrame: each record becomes the centroid of a group of at least k similar ones.

    Statistics, a sample and exact counts are taken at once (three readings of the data); the grouping is
    lazy, and deterministic if the data are. Give the release to `shoal.spark.write`, which checks before it
    publishes.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The records.
    k : int
        How many records must share each published combination of values, at least.
    block_plan : BlockPlan, optional
        A block plan to follow, that another run made.
    block_records : int, optional
        How many records a block should have.
    **fields
        As `shoal.Plan` has them: `columns`, `method`, `unit` and others.

    Returns
    -------
    SparkRelease
        Its `.table` is the protected DataFrame.

    Raises
    ------
    InputError
        If the data, a value or a keyword is wrong; the message says what to do.

    Examples
    --------
    >>> release = shoal.spark.protect(df, 5, columns=["turnover", "wages"])  # doctest: +SKIP
    >>> outcome = shoal.spark.write(release, "safe")  # doctest: +SKIP
    """
    return _protect(Plan(k, **fields), df, block_plan, block_records)


def _protect(
    plan: Plan, df: Any, blocks: BlockPlan | None, block_records: int | None, notes: Sequence[str] = ()
) -> SparkRelease:
    from pyspark.sql import functions as F

    began = time.perf_counter()
    _refuse(plan)
    refuse_names(df.columns)
    for name in df.columns:
        if "." in name or "`" in name:  # PySpark names columns to its workers without quotes
            raise InputError(f"column {name!r} has a dot or a backtick, which Spark misreads: rename it")
    with speaking("Spark could not look at the data"):
        asked = columns_to_protect(plan, df.limit(0).toArrow().schema)
        whole = df.count() if plan.missing == "drop" else 0
        if plan.missing == "drop":
            complete = each(lambda batch: batch.filter(pa.array(asked.complete(batch))))
            df = df.mapInArrow(complete, df.schema)
        original, was = df, list[str]()
        recoding, asked, steps = find(plan, asked, partial(_gather, df), df.count() if plan.stepped else 0)
        if recoding is not None:
            df = _recoded(df, recoding)
            was += recoding.added
        statistics = gathered(asked, partial(_gather, df))
        needed, lost = statistics.listing({} if recoding is None else recoding.steps.levels)
        merged: Sequence[str] = ()
        if plan.merge_small_strata:
            merging, needed, more = merge(plan, needed, statistics.facts(needed), partial(_gather, df))
            steps += more
            if merging is not None:
                old = {WAS + name: F.col(f"`{name}`") for name in merging.changed if WAS + name not in was}
                df, merged = _recoded(df.withColumns(old), merging), merging.changed
                was += [*old, *merging.added]
        records = statistics.records if blocks is None else blocks.records
        left = [left_out(whole, records, plan.k)] if whole > records else []
        if records < plan.k:
            raise too_few(plan.k, records)
        names, size = [column.name for column in needed.chosen], block_records or block_size(records)
        # Columns that are grouped apart are replaced one after another: a protected stratum stands beside.
        strata = [c.name for c in needed.strata if plan.apart and c.name in names and not c.prefix]
        df = df.select("*", *(F.col(f"`{name}`").alias(MERGED + name) for name in strata))
        was += [MERGED + name for name in strata]
        needed = needed.beside(strata)
        dropped = [*plan.named("identifier"), *plan.unnumbered]
        stay = [name for name in original.columns if name not in (*dropped, *names)]
        salted = salts()
        unit_gaps = [F.count_if(F.col(f"`{name}`").isNull()) for name in plan.unit]
        (seen, before), gaps = fingerprints(df, [(df.columns, (1, 2)), (stay, salted)], unit_gaps)
        for name, count in zip(plan.unit, gaps):
            if count:
                raise InputError(f"column {name!r} has a gap, but every record needs its unit: fill it")
        named = [F.col(f"`{name}`") for name in plan.unit]
        units = df.withColumn(UNIT, F.xxhash64(*named)) if named else df
        some = _some(df, SAMPLE, records, plan.seed)
        said = (*left, *steps, *look_at_some(plan, needed, some, merged))
        parts = [needed.part(some) for some in plan.parts(names)]
        if blocks is None:
            wanted = sample_size(records, size)
            chosen = df.select(*[f"`{name}`" for name in names])
            sample = some if wanted <= SAMPLE else _some(chosen, wanted, records, plan.seed)
            drafts = [make_plan(plan, part.chosen, statistics.facts(part), sample, size) for part in parts]
            plans = _placed(units, list(zip(drafts, parts)))
        else:
            plans = [blocks for _ in parts]
    for part, one in zip(parts, plans):
        one.require(plan, part.chosen)
    salt = _salt(plan, seen, names)
    # A shuffle keeps no order: records alike in all protected columns are told apart by all the others.
    told_by = {
        f"{IDS}{j}": F.xxhash64(*hashable(df.select(f"`{name}`")))
        for j, name in enumerate(identifiers(plan, original.columns, names))
    }
    place = {PLACE: F.xxhash64(F.lit(salt), *hashable(df)), TIE: F.xxhash64(*hashable(df.drop(*dropped)))}
    raw = [F.col(f"`{WAS + n if WAS + n in was else n}`").alias(n) for n in original.columns]
    beside = df.select(place[PLACE].alias(PLACE), *raw)
    measured = units.withColumns(place | told_by).drop(*dropped)
    for part, one in zip(parts, plans):
        _refuse_unheld(measured, one, part)
    for j, (part, one) in enumerate(zip(parts, plans)):
        last = j == len(parts) - 1
        out = _bare(measured.drop(TIE, *told_by, *was).schema if last else measured.schema)
        assigned = _assigned(measured, one, part)
        made = release_block(one, part, j, last)
        measured = assigned.groupBy(BLOCK).applyInArrow(
            made, out.add(f"{FACTS}{j}", "string").add(f"{GROUP}{j}", "long")
        )
    told = [field.name for field in df.schema.fields if field.metadata]
    said = (*notes, *said, *([f"metadata left out: of {', '.join(told)}"] if told else ()))
    table = measured.drop(*told_in(measured), *told_in(measured, GROUP), PLACE, UNIT)
    return SparkRelease(
        table, plans, df.drop(*was), beside, measured, stay, before, salted, began, said, lost
    )


def _gather(df: Any, names: Sequence[str], find: Any) -> list[Any]:
    """What a function finds in each partition of these columns."""
    parts = df.select(*[f"`{name}`" for name in names]).mapInArrow(gather(find), "found binary").collect()
    found = [pickle.loads(part["found"]) for part in parts]
    for one in found:
        if isinstance(one, InputError):
            raise one
    return found


def _recoded(df: Any, recoding: Recoding | Merging) -> Any:
    """The DataFrame as its recoding, or merging of strata, makes it."""
    from pyspark.sql.types import LongType, StructField

    fields = {field.name: field for field in df.schema.fields}
    added = [StructField(name, fields[of].dataType) for name, of in recoding.added.items()]
    if isinstance(recoding, Recoding) and recoding.steps.key is not None:
        unit = recoding.steps.plan.unit[0]
        fields[unit] = StructField(unit, LongType())
    return df.mapInArrow(each(recoding.apply), type(df.schema)([*fields.values(), *added]))


def _assigned(df: Any, blocks: BlockPlan, needed: Needed) -> Any:
    """The DataFrame with the block of each record."""
    df = _homed(df, blocks, needed) if blocks.plan.unit else df
    fields = [field for field in df.schema.fields if field.name != LEAF]
    schema = type(df.schema)(fields).add(BLOCK, "integer")
    return df.mapInArrow(each(partial(assign_blocks, blocks, needed)), schema)


def _refuse_unheld(df: Any, blocks: BlockPlan, needed: Needed) -> None:
    """Say before the work what a block cannot hold of the rules."""
    if needed.watched and len(blocks.counts) > 1:
        names = [*needed.names, *([UNIT] if blocks.plan.unit else ()), BLOCK]
        with speaking("Spark could not look at the data"):
            chosen = _assigned(df, blocks, needed).select(*(f"`{name}`" for name in names)).groupBy(BLOCK)
            found = chosen.applyInArrow(find_faults(blocks, needed), "far double, fault string").collect()
        refuse_faults((row["far"], row["fault"]) for row in found)


def _homed(units: Any, blocks: BlockPlan, needed: Needed) -> Any:
    """The DataFrame with the leaf of each record: that of its unit's record (in the stratum) of least key."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    schema = type(units.schema)([*units.schema.fields]).add(KEY, "long").add(LEAF, "long")
    leaves = units.mapInArrow(each(partial(assign_leaves, blocks, needed)), schema)
    whose = [UNIT, *(f"`{column.at}`" for column in needed.strata)]
    home = F.min(F.struct(KEY, LEAF)).over(Window.partitionBy(*whose))
    return leaves.withColumn(LEAF, home[LEAF]).drop(KEY)


def _some(df: Any, wanted: int, records: int, seed: int) -> Any:
    """About so many records, drawn by chance from all of them, as an Arrow table.

    The draw hangs on the seed and on what the rows hold, not on how Spark divides them: of rows that are
    alike, their share is kept, and their hash decides whether one more.
    """
    from pyspark.sql import functions as F

    rows = df.withColumn(KEY, F.xxhash64(F.lit(seed), *hashable(df)))
    if wanted < records:
        chance = F.shiftrightunsigned(KEY, 11) * 2.0**-53
        copies = F.floor(F.count(F.lit(1)) * F.lit(wanted / records) + chance)
        drawn = rows.groupBy(KEY).agg(copies.alias(LEAF)).where(F.col(LEAF) > 0)
        rows = rows.join(F.broadcast(drawn), KEY).dropDuplicates([KEY])
    some = rows.toArrow().sort_by(KEY)
    if wanted < records:
        some = some.take(np.repeat(np.arange(len(some)), some[LEAF]))
    return some.select(df.columns)


def _bare(schema: Any) -> Any:
    """The columns and their types alone: levels, comments and what else a schema tells are not published."""

    def bare(fact: Any) -> Any:
        if isinstance(fact, dict):
            return {name: {} if name == "metadata" else bare(value) for name, value in fact.items()}
        return [bare(one) for one in fact] if isinstance(fact, list) else fact

    return type(schema).fromJson(bare(schema.jsonValue()))


def _refuse(plan: Plan) -> None:
    """What a cluster cannot do in principle."""
    if plan.order == "keep":
        raise InputError("a cluster keeps no order of rows: leave order='keep' out, or protect in memory")
    if plan.time_limit is not None:
        raise InputError(
            "a cluster may make a block twice, and both must be the same, whatever the clock says: "
            "leave time_limit out, or protect on one machine (--engine disk)"
        )


def _salt(plan: Plan, seen: Fingerprint, columns: Sequence[str]) -> int:
    """A number by which rows are sorted in files: who has neither the data nor the plan cannot make it."""
    digest = hashlib.blake2b(f"{seen} {plan.canonical(columns)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _placed(units: Any, parts: Sequence[tuple[BlockPlan, Needed]]) -> list[BlockPlan]:
    """The plan of each part of columns, placed by exact counts of its leaves."""
    from pyspark.sql import functions as F

    names = list(dict.fromkeys(name for _, needed in parts for name in needed.names))
    if parts[0][0].plan.unit:
        quasi = units.select(*[f"`{name}`" for name in names], UNIT)
        counts = []
        for blocks, needed in parts:
            by_leaf = _homed(quasi, blocks, needed).groupBy(LEAF)
            rows = by_leaf.agg(F.count(F.lit(1)), F.countDistinct(UNIT)).collect()
            counts.append({leaf: (records, units) for leaf, records, units in rows})
    else:
        found = zip(*_gather(units, names, partial(count_leaves, parts)))
        leaves = [sum(counters, Counter[int]()) for counters in found]
        counts = [{leaf: (count, count) for leaf, count in counter.items()} for counter in leaves]
    return [blocks.placed(found, needed.title) for (blocks, needed), found in zip(parts, counts)]


def _read(spark: Any, table: ParquetTable) -> Any:
    """The files as a DataFrame; columns that folders name are texts or whole numbers, as `table` has them."""
    from pyspark.sql import functions as F

    files = [str(path.resolve()) for path in table.files]
    if not table.keys:
        return spark.read.parquet(*files)
    for path in files:
        if re.search("%[89A-Fa-f]", path):
            raise InputError(f"Spark takes %C3 and the like in {path!r} for other letters: use --engine disk")
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    df = spark.read.option("basePath", str(table.source.resolve())).parquet(*files)
    whole = [name for name in table.keys if pa.types.is_integer(table.schema.field(name).type)]
    return df.withColumns({name: F.col(f"`{name}`").cast("long") for name in whole})


def run(
    plan: Plan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    master: str | None = None,
    replace: bool = False,
    partition_by: Sequence[str] | None = None,
    block_records: int | None = None,
    then: Callable[[Outcome, Placed], None] | None = None,
) -> Outcome:
    """Protect Parquet files that driver and workers can reach; what `shoal protect --engine spark` does."""
    _refuse(plan)
    for named in (source, target):
        if is_remote(named):
            raise InputError(
                f"{shown(str(named))!r} is for Spark itself to open: give spark.read.parquet(..) to "
                "shoal.spark.protect, or use --engine disk"
            )
    table = ParquetTable(source)
    chosen = [column.name for column in columns_to_protect(plan, table.schema).chosen]
    keys, note = keys_of(plan, table.schema, table.keys, chosen, Path(target), partition_by)
    with session(master) as spark:
        with speaking("Spark could not read the files"):
            df = _read(spark, table)
        size = block_records or block_size(len(table))
        spark.conf.set("spark.sql.shuffle.partitions", str(4 * -(-len(table) // size)))
        release = _protect(plan, df, None, size, (*table.notes, *note))
        return write(release, os.path.abspath(target), replace=replace, partition_by=keys, then=then)
