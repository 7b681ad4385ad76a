"""A Spark DataFrame, protected block by block on the cluster; the driver sees a sample."""

import hashlib
import json
import os
import pickle
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from shoal.engines.blocks.block import refuse_faults
from shoal.engines.blocks.columns import Moved, Needed, StoredColumn
from shoal.engines.blocks.facts import MOST_DISTINCT, Distinct, Tally
from shoal.engines.blocks.limits import columns_to_protect, look_at_some, refuse_names
from shoal.engines.blocks.plan import BlockPlan, block_size, make_plan, sample_size
from shoal.engines.blocks.steps import Recoding, find
from shoal.engines.blocks.strata import Merging, merge
from shoal.engines.spark.fingerprint import fingerprint, hashable
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import session, speaking
from shoal.engines.spark.tasks import (
    BLOCK,
    FACTS,
    IDS,
    KEY,
    LEAF,
    PLACE,
    TIE,
    UNIT,
    assign_blocks,
    assign_leaves,
    count_leaves,
    find_faults,
    find_moments,
    gather,
    keep_complete,
    recode,
    release_block,
)
from shoal.engines.spark.write import write
from shoal.errors import InputError, too_few
from shoal.io.databases.address import is_remote, shown
from shoal.io.parquet import ParquetTable
from shoal.outcome import Outcome
from shoal.plan import Plan, PlanFields, explicit
from shoal.stages.kept import SAMPLE, identifiers
from shoal.stages.moments import Moments
from shoal.stages.prepare import left_out, refuse_no_weight


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


def _protect(plan: Plan, df: Any, blocks: BlockPlan | None, block_records: int | None) -> SparkRelease:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    began = time.perf_counter()
    _refuse(plan)
    refuse_names(df.columns)
    with speaking("Spark could not look at the data"):
        asked = columns_to_protect(plan, df.limit(0).toArrow().schema)
        whole = df.count() if plan.missing == "drop" else 0
        if plan.missing == "drop":
            df = df.mapInArrow(keep_complete(asked), df.schema)
        original, was = df, list[str]()
        recoding, asked, steps = find(plan, asked, partial(_gather, df), df.count() if plan.stepped else 0)
        if recoding is not None:
            df = _recoded(df, recoding)
            was += recoding.added
        needed, lost = _listed(df, asked, {} if recoding is None else recoding.steps.levels)
        facts = _facts(df, needed) if blocks is None or plan.merge_small_strata else []
        merged: Sequence[str] = ()
        if plan.merge_small_strata:
            merging, needed, more = merge(plan, needed, facts, partial(_gather, df))
            steps += more
            if merging is not None:
                df, merged = _recoded(df, merging), merging.changed
                was += merging.added
        units = _units(plan, df)
        records = facts[0].present + facts[0].gaps if blocks is None else blocks.records
        left = [left_out(whole, records, plan.k)] if whole > records else []
        if records < plan.k:
            raise too_few(plan.k, records)
        said = (*left, *steps, *look_at_some(plan, needed, _some(df, SAMPLE, records, 0), merged))
        if blocks is None:
            blocks = _plan(plan, units, needed, facts, records, block_records or block_size(records))
    blocks.require(plan, needed.chosen)
    with speaking("Spark could not look at the data"):
        salt = _salt(plan, original, blocks.names)
    dropped = [*plan.named("identifier"), *plan.unnumbered]
    # A shuffle keeps no order: records alike in all protected columns are told apart by all the others.
    told_by = {
        f"{IDS}{j}": F.xxhash64(*hashable(df.select(f"`{name}`")))
        for j, name in enumerate(identifiers(plan, original.columns, blocks.names))
    }
    place = {PLACE: F.xxhash64(F.lit(salt), *hashable(df)), TIE: F.xxhash64(*hashable(df.drop(*dropped)))}
    assigned = units.withColumns(place | told_by).drop(*dropped)
    out = _bare(assigned.drop(TIE, *told_by, *was).schema).add(FACTS, "string")
    if plan.unit:
        assigned = _homed(assigned, blocks, needed)
    schema = StructType([f for f in assigned.schema.fields if f.name != LEAF]).add(BLOCK, "integer")
    assigned = assigned.mapInArrow(assign_blocks(blocks, needed), schema)
    if needed.watched and len(blocks.counts) > 1:
        names = [*needed.names, *([UNIT] if plan.unit else ()), BLOCK]
        with speaking("Spark could not look at the data"):
            grouped = assigned.select(*(f"`{name}`" for name in names)).groupBy(BLOCK)
            found = grouped.applyInArrow(find_faults(blocks, needed), "far double, fault string").collect()
        refuse_faults((row["far"], row["fault"]) for row in found)
    measured = assigned.groupBy(BLOCK).applyInArrow(release_block(blocks, needed), out)
    told = [field.name for field in df.schema.fields if field.metadata]
    said = (*said, *([f"metadata left out: of {', '.join(told)}"] if told else ()))
    table = measured.drop(FACTS, PLACE, UNIT)
    return SparkRelease(table, blocks, df.drop(*was), measured, began, said, lost)


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
    return df.mapInArrow(recode(recoding), type(df.schema)([*fields.values(), *added]))


def _homed(units: Any, blocks: BlockPlan, needed: Needed) -> Any:
    """The DataFrame with the leaf of each record: that of its unit's record (in the stratum) of least key."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    schema = type(units.schema)([*units.schema.fields]).add(KEY, "long").add(LEAF, "long")
    leaves = units.mapInArrow(assign_leaves(blocks, needed), schema)
    whose = [UNIT, *(f"`{column.at}`" for column in needed.strata)]
    home = F.min(F.struct(KEY, LEAF)).over(Window.partitionBy(*whose))
    return leaves.withColumn(LEAF, home[LEAF]).drop(KEY)


def _some(df: Any, wanted: int, records: int, seed: int) -> Any:
    """About so many records, drawn by chance from all of them, as an Arrow table."""
    return (df if wanted >= records else df.sample(wanted / records, seed=seed)).toArrow()


def _bare(schema: Any) -> Any:
    """The columns and their types alone: levels, comments and what else a schema tells are not published."""

    def bare(fact: Any) -> Any:
        if isinstance(fact, list):
            return [bare(one) for one in fact]
        return (
            {k: {} if k == "metadata" else bare(v) for k, v in fact.items()}
            if isinstance(fact, dict)
            else fact
        )

    return type(schema).fromJson(bare(schema.jsonValue()))


def _units(plan: Plan, df: Any) -> Any:
    """The DataFrame with a number for each unit, where k counts units; every record must have one."""
    from pyspark.sql import functions as F

    if not plan.unit:
        return df
    named = [F.col(f"`{name}`") for name in plan.unit]
    for name, column in zip(plan.unit, named):
        if df.where(column.isNull()).limit(1).count():
            raise InputError(f"column {name!r} has a gap, but every record needs its unit: fill it")
    return df.withColumn(UNIT, F.xxhash64(*named))


def _refuse(plan: Plan) -> None:
    """What a cluster cannot do in principle."""
    if plan.order == "keep":
        raise InputError("a cluster keeps no order of rows: leave order='keep' out, or protect in memory")
    if plan.apart:
        raise InputError(
            "columns grouped apart (per_column, blocks) need a shuffle of all records for each part, which "
            "is not built for clusters: leave that out, or protect on one machine (--engine disk)"
        )
    if plan.time_limit is not None:
        raise InputError(
            "a cluster may make a block twice, and both must be the same, whatever the clock says: "
            "leave time_limit out, or protect on one machine (--engine disk)"
        )


def _salt(plan: Plan, df: Any, columns: Sequence[str]) -> int:
    """A number by which rows are sorted in files: who has neither the data nor the plan cannot make it."""
    found = fingerprint(df, df.columns, (1, 2))
    digest = hashlib.blake2b(f"{found} {plan.canonical(columns)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _listed(df: Any, needed: Needed, joined: Mapping[str, Any]) -> tuple[Needed, dict[str, float]]:
    """The same with the different cells of each category, and with what rules compare groups with.

    With it, what columns lose that are recoded only.
    """

    def counted(name: str) -> Any:
        return df.groupBy(f"`{name}`").count()

    names = {column.at for column in needed.counted}
    compared = [(rule.field, column) for rule, column in needed.watched if not column.categorical]
    distinct = {column.at: Distinct() for word, column in compared if word == "closeness"}
    for name, column in {column.at: column for _, column in compared if column.at in distinct}.items():
        cells = counted(name).limit(MOST_DISTINCT + 2).toArrow()
        distinct[name].add(column.read(cells[name]), np.asarray(cells["count"]))
    wide = [column for word, column in compared if word == "spread"]
    wide += [column for column in needed.was if not column.categorical]
    numbers = [*wide, *needed.moved]
    moments = dict(zip((column.at for column in numbers), _moments(df, numbers, None))) if numbers else {}
    tallies = {name: dict(counted(name).collect()) for name in names}
    needed = needed.listing(tallies, distinct, moments, joined)
    return needed, needed.recoding_loss(moments, joined)


def _facts(df: Any, needed: Needed) -> list[Moments | Tally]:
    """What is known of each column to protect; weights are looked at on the way."""
    numbers = [column for column in needed.chosen if not column.categorical]
    numbers += [] if needed.weight is None else [needed.weight]
    found = dict(zip((column.name for column in numbers), _moments(df, numbers, needed.weight)))
    if needed.weight is not None and not found[needed.weight.name].top:
        refuse_no_weight(needed.weight.name, np.zeros(0))
    return [column.moments() if column.categorical else found[column.name] for column in needed.chosen]


def _moments(df: Any, chosen: Sequence[StoredColumn | Moved], weight: StoredColumn | None) -> list[Moments]:
    moments = [Moments()] * len(chosen)
    quasi = df.select(*dict.fromkeys(f"`{name}`" for column in chosen for name in column.reads))
    for row in quasi.mapInArrow(find_moments(chosen, weight), "moments string").collect():
        found = json.loads(row["moments"])
        if isinstance(found, dict):
            raise InputError(found["error"])
        moments = [one + Moments(*new) for one, new in zip(moments, found)]
    return moments


def _plan(
    plan: Plan,
    units: Any,
    needed: Needed,
    facts: Sequence[Moments | Tally],
    records: int,
    size: int,
) -> BlockPlan:
    """A sample of bounded size and exact counts: the only things that come to the driver."""
    from pyspark.sql import functions as F

    quasi = units.select(*[f"`{name}`" for name in needed.names], *([UNIT] if plan.unit else []))
    sample = _some(quasi, sample_size(records, size), records, plan.seed)
    blocks = make_plan(plan, needed.chosen, facts, sample, size)
    if plan.unit:
        by_leaf = _homed(quasi, blocks, needed).groupBy(LEAF)
        counted = by_leaf.agg(F.count(F.lit(1)), F.countDistinct(UNIT))
    else:
        leaves = quasi.mapInArrow(count_leaves(blocks, needed), "leaf bigint, records bigint")
        counted = leaves.groupBy("leaf").agg(F.sum("records"), F.sum("records"))
    found = {leaf: (records, units) for leaf, records, units in counted.collect()}
    return blocks.placed(found, needed.title)


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
) -> Outcome:
    """Protect Parquet files that driver and workers can reach; what `shoal protect --engine spark` does."""
    _refuse(plan)
    if partition_by:
        raise InputError("Spark writes no folders named by cells yet: leave that out, or use --engine disk")
    for named in (source, target):
        if is_remote(named):
            raise InputError(
                f"{shown(str(named))!r} is for Spark itself to open: give spark.read.parquet(..) to "
                "shoal.spark.protect, or use --engine disk"
            )
    table = ParquetTable(source)
    columns_to_protect(plan, table.schema)
    with session(master) as spark:
        with speaking("Spark could not read the files"):
            df = _read(spark, table)
        size = block_records or block_size(len(table))
        spark.conf.set("spark.sql.shuffle.partitions", str(4 * -(-len(table) // size)))
        return write(_protect(plan, df, None, size), os.path.abspath(target), replace=replace)
