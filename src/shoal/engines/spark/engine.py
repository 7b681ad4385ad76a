"""A Spark DataFrame, protected block by block on the cluster; the driver sees a sample."""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from shoal.engines.blocks.columns import StoredColumn
from shoal.engines.blocks.limits import columns_to_protect, first_look
from shoal.engines.blocks.plan import BlockPlan, block_size, make_plan, sample_size, units_in_blocks
from shoal.engines.spark.fingerprint import fingerprint, hashable
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import session, speaking
from shoal.engines.spark.tasks import (
    BLOCK,
    FACTS,
    PLACE,
    TIE,
    UNIT,
    assign_blocks,
    count_leaves,
    find_moments,
    release_block,
)
from shoal.engines.spark.write import write
from shoal.errors import InputError, too_few
from shoal.io.parquet import ParquetTable
from shoal.outcome import Outcome
from shoal.plan import Plan, PlanFields, explicit
from shoal.stages.kept import SAMPLE
from shoal.stages.moments import Moments


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
    from pyspark.sql.types import IntegerType, StructField, StructType

    began = time.perf_counter()
    for name in df.columns:
        if name.startswith("__shoal_") or df.columns.count(name) > 1:
            raise InputError(f"a column is called {name!r} twice, or by a name that shoal needs: rename it")
    with speaking("Spark could not look at the data"):
        chosen = columns_to_protect(plan, df.limit(0).toArrow().schema)
        said = first_look(plan, chosen, df.limit(SAMPLE).toArrow())
        if blocks is None:
            blocks = _plan(plan, df, chosen, block_records)
    blocks.require(plan, chosen)
    with speaking("Spark could not look at the data"):
        salt = _salt(plan, df, blocks.names)
        units = _units(plan, df)
    dropped = [*plan.named("identifier"), *plan.unit]
    published = units.withColumn(PLACE, F.xxhash64(F.lit(salt), *hashable(df))).drop(*dropped)
    # A shuffle keeps no order: records alike in all protected columns are told apart by all the others.
    assigned = published.withColumn(TIE, F.xxhash64(*hashable(df.drop(*dropped))))
    schema = StructType([*assigned.schema.fields, StructField(BLOCK, IntegerType())])
    assigned = assigned.mapInArrow(assign_blocks(blocks, chosen), schema)
    out = _bare(published.schema)
    for name, kind in FACTS.items():
        out = out.add(name, kind)
    measured = assigned.groupBy(BLOCK).applyInArrow(release_block(blocks, chosen), out)
    told = [field.name for field in df.schema.fields if field.metadata]
    said = (*said, *units_in_blocks(blocks), *([f"metadata left out: of {', '.join(told)}"] if told else ()))
    return SparkRelease(measured.drop(*FACTS, PLACE, UNIT), blocks, df, measured, began, said)


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


def _salt(plan: Plan, df: Any, columns: Sequence[str]) -> int:
    """A number by which rows are sorted in files: who has neither the data nor the plan cannot make it."""
    if plan.order == "keep":
        raise InputError("a cluster keeps no order of rows: leave order='keep' out, or protect in memory")
    found = fingerprint(df, df.columns, (1, 2))
    digest = hashlib.blake2b(f"{found} {plan.canonical(columns)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _plan(plan: Plan, df: Any, chosen: Sequence[StoredColumn], block_records: int | None) -> BlockPlan:
    """Statistics, a sample of bounded size, and exact counts: the only things that come to the driver."""
    names = [f"`{column.name}`" for column in chosen]
    quasi = df.select(*names)
    moments = [Moments()] * len(chosen)
    for row in quasi.mapInArrow(find_moments(chosen), "moments string").collect():
        found = json.loads(row["moments"])
        if isinstance(found, dict):
            raise InputError(found["error"])
        moments = [one + Moments(*new) for one, new in zip(moments, found)]
    records = moments[0].present + moments[0].gaps
    if records < plan.k:
        raise too_few(plan.k, records)
    size = block_records or block_size(records)
    share = sample_size(records, size) / records
    sample = (quasi if share >= 1 else quasi.sample(share, seed=plan.seed)).toArrow()
    columns = [column.read(sample[column.name]) for column in chosen]
    blocks = make_plan(plan, chosen, moments, columns, size)
    counts = np.zeros(blocks.leaves, np.int64)
    counted = quasi.mapInArrow(count_leaves(blocks, chosen), "leaf bigint, records bigint")
    for row in counted.groupBy("leaf").sum("records").collect():
        counts[row[0]] = row[1]
    return blocks.placed(counts.tolist())


def run(
    plan: Plan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    master: str | None = None,
    replace: bool = False,
    block_records: int | None = None,
) -> Outcome:
    """Protect Parquet files that driver and workers can reach; what `shoal protect --engine spark` does."""
    table = ParquetTable(source)
    columns_to_protect(plan, table.schema)
    with session(master) as spark:
        with speaking("Spark could not read the files"):
            df = spark.read.parquet(*[str(path.resolve()) for path in table.files])
        size = block_records or block_size(len(table))
        spark.conf.set("spark.sql.shuffle.partitions", str(4 * -(-len(table) // size)))
        return write(_protect(plan, df, None, size), os.path.abspath(target), replace=replace)
