"""A protected DataFrame written by Spark: read again and counted before it takes its name."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from typing import Any

import shoal
from shoal.engines.blocks.block import summary
from shoal.engines.spark.session import speaking
from shoal.engines.spark.tasks import FACTS
from shoal.errors import CheckFailed, InputError, MachineError
from shoal.io.parquet import MANIFEST
from shoal.stages.loss import Loss


def write(df: Any, path: str | os.PathLike[str], *, replace: bool = False) -> dict[str, Any]:
    """Write what `protect` gave back as a folder of Parquet parts with a manifest, all or nothing.

    Spark writes to a hidden folder beside `path`; a failed task is tried again there. The parts are read
    again and counted: a missing or doubled record, or a combination that fewer than k share, and nothing is
    published. The outcome is given back as plain values.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    work = getattr(df, "_shoal", None)
    if work is None:
        raise InputError("only what shoal.spark.protect gave back can be checked: transform the data before")
    spark = df.sparkSession
    with speaking("Spark cannot reach the output"):
        place = _Place(spark, str(path), replace)
    seen = Observation()
    groups, smallest, largest, total, within, rounding = (F.col(name) for name in FACTS)
    observed = work.measured.observe(
        seen,
        F.count(F.lit(1)).alias("records"),
        F.sum(groups).alias("groups"),
        F.min(smallest).alias("smallest_group"),
        F.max(largest).alias("largest_group"),
        F.sum(total).alias("total"),
        F.sum(within).alias("within"),
        F.sum(rounding).alias("rounding"),
    )
    try:
        with speaking("Spark could not finish, nothing is published"):
            observed.drop(*FACTS).write.parquet(place.made)
            facts = dict(seen.get)
            _require(spark.read.parquet(place.made), work.plan, facts["records"])
            sizes = {name: int(facts[name]) for name in ("groups", "smallest_group", "largest_group")}
            if sizes["smallest_group"] < work.plan.k:
                raise CheckFailed(f"a group is short of k={work.plan.k}: nothing is published")
            loss = Loss(facts["total"], facts["within"], facts["rounding"])
            outcome = summary(work.plan, sizes, loss, time.perf_counter() - work.began)
            parts = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(place.made)
            listed = parts.select("path", "length", F.sha2("content", 256).alias("sha256")).collect()
            manifest = {
                "shoal": shoal.__version__,
                **outcome,
                "block_plan": work.plan.json(),
                "parts": [
                    {"name": row["path"].rsplit("/", 1)[1], "bytes": row["length"], "sha256": row["sha256"]}
                    for row in sorted(listed)
                ],
            }
            place.publish(json.dumps(manifest, indent=1) + "\n")
    finally:
        place.clean()
    return outcome


def _require(written: Any, plan: Any, flowed: int) -> None:
    """Count what was written: every record is there, every combination at least k times."""
    from pyspark.sql import functions as F

    counted = written.groupBy(*[f"`{name}`" for name in plan.names]).count()
    records, rarest = counted.agg(F.sum("count"), F.min("count")).collect()[0]
    if not records == flowed == plan.records:
        raise CheckFailed(f"{plan.records} records came in, {records} were written: nothing is published")
    if rarest < plan.k:
        raise CheckFailed(
            f"a combination is shared by {rarest} records, fewer than k={plan.k}: nothing is published"
        )


class _Place:
    """The folder to publish, on whatever file system Spark writes to, and a hidden one beside it."""

    def __init__(self, spark: Any, path: str, replace: bool):
        if not hasattr(spark, "_jsparkSession"):
            raise InputError("shoal.spark.write needs a classic session: Spark Connect cannot rename files")
        java = spark._jvm.org.apache.hadoop.fs
        self._path = java.Path
        self.target = java.Path(path)
        self._files = self.target.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        # Not named .part, which may be swept if nobody holds its lock: file systems of Spark have none.
        self._hidden = java.Path(self._parent(), f".{self.target.getName()}.{secrets.token_hex(4)}.spark")
        self.made = self._inside("release").toString()
        self._old = self._files.exists(self.target)
        if not self._files.exists(self._parent()):
            raise InputError(f"the folder {self._parent().toString()!r} does not exist: make it first")
        if self._old and not replace:
            raise InputError(f"{path!r} exists already: name another, or let it be replaced (--replace)")
        if self._old and not self._files.exists(java.Path(self.target, MANIFEST)):
            raise InputError(f"{path!r} has no {MANIFEST}, so it is no release: name another folder")

    def _parent(self) -> Any:
        return self.target.getParent() or self._path(".")

    def _inside(self, name: str) -> Any:
        return self._path(self._hidden, name)

    def publish(self, manifest: str) -> None:
        """Put the manifest beside the parts and give the folder its name; an old release leaves before."""
        stream = self._files.create(self._path(self.made, MANIFEST))
        stream.write(bytearray(manifest.encode()))
        stream.close()
        if self._old:
            self._rename(self.target, self._inside("old"))
        try:
            self._rename(self._path(self.made), self.target)
        except BaseException:
            if self._old:
                self._rename(self._inside("old"), self.target)
            raise

    def _rename(self, one: Any, other: Any) -> None:
        if not self._files.rename(one, other):
            raise MachineError(
                f"{one.toString()!r} could not be renamed {other.toString()!r}: nothing is published"
            )

    def clean(self) -> None:
        with contextlib.suppress(Exception):  # what made the work fail is told, not this
            self._files.delete(self._hidden, True)
