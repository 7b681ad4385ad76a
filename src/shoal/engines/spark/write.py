"""A protected DataFrame written by Spark: read again and counted before it takes its name."""

import contextlib
import dataclasses
import json
import os
import secrets
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engines.blocks.layout import keys_of
from shoal.engines.blocks.placed import Placed, refuse_unmeasurable
from shoal.engines.blocks.plan import private, sha256_of
from shoal.engines.memory import linked_note
from shoal.engines.spark.bring import brought
from shoal.engines.spark.fingerprint import fingerprints, hashable
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import speaking
from shoal.engines.spark.shared import SharedFolder
from shoal.engines.spark.tasks import GROUP, PLACE, UNIT, told_in
from shoal.errors import InputError, MachineError
from shoal.io.hive import MOST, Folders
from shoal.io.json_text import json_text
from shoal.io.parquet import MANIFEST, private_note
from shoal.measures.uniqueness import FEW
from shoal.outcome import Outcome, notes_on
from shoal.stages.kept import identifiers, repeating
from shoal.stages.loss import Loss, about_centre
from shoal.stages.part import COUNTS
from shoal.stages.units import once_note
from shoal.verify import policy
from shoal.verify.compare import Agreement
from shoal.verify.count import Finding
from shoal.verify.requirements import Held

#: Of each combination: its rows, and how many records or units share it. No table has columns of these names.
ROWS, SIZE = "__shoal_rows", "__shoal_size"


def write(
    release: SparkRelease,
    path: str | os.PathLike[str],
    *,
    replace: bool = False,
    partition_by: str | Sequence[str] = (),
    then: Callable[[Outcome, Placed], None] | None = None,
) -> Outcome:
    """What `shoal.spark.write` does; `then` is called with the finished release, brought here for it."""
    from pyspark import StorageLevel
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    if then is not None:
        refuse_unmeasurable(release.plan.records)
    spark, blocks, names = release.table.sparkSession, release.plan, release.names
    with speaking("Spark could not look at the data"):
        keys, folders = _keys(release, str(path), partition_by)
    with speaking("Spark cannot reach the output"):
        place = (_Place if hasattr(spark, "_jsparkSession") else SharedFolder)(spark, str(path), replace)
    seen = Observation()
    measured = release.measured
    kept = bool(blocks.plan.unit or then)
    if kept:  # units and groups are not written, so they are counted in what is written from
        measured = measured.persist(StorageLevel.DISK_ONLY)
    told = told_in(measured)
    observed = measured.observe(seen, *[F.collect_list(column).alias(column) for column in told])
    try:
        with speaking("Spark could not finish, nothing is published"):
            # Dealt out by hash: to sort them all, Spark would make every block twice, first to find ranges.
            most = int(spark.conf.get("spark.sql.shuffle.partitions"))
            parts = min(most, max(len(one.counts) for one in release.plans))
            by = [*_named(keys), F.pmod(PLACE, F.lit(-(-parts // folders)))] if keys else [PLACE]
            dealt = observed.drop(*told, *told_in(measured, GROUP)).repartition(max(parts, folders), *by)
            rows = dealt.sortWithinPartitions(*_named(keys), PLACE, *_named(names))
            rows.drop(PLACE, UNIT).write.partitionBy(*keys).parquet(place.made)
            written = spark.read.schema(release.table.schema).parquet(place.made)
            few = _verify(release, measured, written, kept)
            unique_on_categories, unique_rows = _unique(written, [*names, *few], written.columns)
            every = map(json.loads, chain.from_iterable(seen.get[column] for column in told))
            once = {(fact["part"], fact["block"]): fact for fact in every}  # a block may be made twice
            facts = [once[block] for block in sorted(once)]
            used = sorted({fact["method"] for fact in facts})
            counts = {name: sum(fact["counts"][name] for fact in facts) for name in COUNTS}
            sizes = np.array([fact["sizes"] for fact in facts]).ravel()
            loss = sum((_loss([f for f in facts if f["part"] == j]) for j in range(len(told))), Loss())
            notes = [*_told(release, facts), *_linked(release, measured)]
            notes += notes_on(blocks.plan, used, counts)
            outcome = Outcome.of(
                *(blocks.plan, names, sizes, loss, used, notes, release.began),
                kept=[name for name in release.table.columns if name not in names],
                records=blocks.records,
                held=[Held(**held) for fact in facts for held in fact["held"]],
                unique_on_categories=unique_on_categories,
                unique_rows=unique_rows,
                recoding_loss=release.recoding_loss,
                engine="spark",
                blocks=max(len(one.counts) for one in release.plans),
                plan_sha256=sha256_of(release.plans),
            )
            outcome = dataclasses.replace(outcome, groups=sum(fact["groups"] for fact in facts))
            parts = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(place.made)
            listed = parts.select("path", "length", F.sha2("content", 256).alias("sha256")).collect()
            manifest = {
                **outcome.public(),
                "parts": [
                    {"name": "/".join(path.split("/")[-1 - len(keys) :]), "bytes": size, "sha256": digest}
                    for path, size, digest in sorted(listed)
                ],
            }
            outcome = outcome.noting(place.write_private(private(outcome, release.plans)))
            place.publish(json_text(manifest, indent=1) + "\n")
        if then is not None:
            finished = f"the release is finished and checked ({path}), but Spark could not send it here"
            with speaking(finished), brought(release, measured, facts) as placed:
                then(outcome, placed)
    finally:
        measured.unpersist()
        place.clean()
    return outcome


def _keys(release: SparkRelease, path: str, asked: str | Sequence[str]) -> tuple[list[str], int]:
    """The columns that name folders, after a look at all of their cells, and how many folders there are."""
    schema = release.table.limit(0).toArrow().schema
    keys, _ = keys_of(release.plan.plan, schema, (), release.names, Path(path), asked)
    if not keys:
        return [], 1
    cells = release.original.select(*_named(keys)).distinct().limit(MOST + 1).toArrow()
    for batch in cells.combine_chunks().to_batches():
        Folders(keys).add(batch)
    return keys, max(1, len(cells))


def _verify(release: SparkRelease, measured: Any, written: Any, kept: bool) -> list[str]:
    """Gather the evidence on the cluster, and judge it as every release is judged.

    Where what was written from is `kept`, to be counted or measured, it must have the same rows.
    In the same reading columns are found that have few different values, a gap among them: these are told.
    """
    from pyspark.sql import functions as F

    plan, names, untouched, salts = release.plan.plan, release.names, release.untouched, release.salts
    asked = [(untouched, salts), ([*untouched, *names], salts)]
    others = [name for name in written.columns if name not in names]
    sketches = [F.hll_sketch_agg(F.xxhash64(column)) for column in hashable(written, others)]
    (after, *published), counts = fingerprints(
        written, asked[: 1 + kept], [F.hll_sketch_estimate(sketch) for sketch in sketches]
    )
    faults = []
    if not release.before.rows == after.rows == release.plan.records:
        faults.append(f"{release.plan.records} records went in, {after.rows} came out")
    elif release.before != after:
        faults.append(f"the rows of {', '.join(untouched)} are not what they were")
    elif published and fingerprints(measured, asked[1:])[0] != published:
        # The rows that have units and groups are not those that were written.
        faults.append("the rows are not what they should be")
    counted, how = ("units", F.countDistinct(UNIT)) if plan.unit else ("records", F.count(F.lit(1)))
    within = [name for name in plan.strata if name not in names]
    parts, findings = [list(blocks.names) for blocks in release.plans], []
    for part in parts:
        by_combination = (measured if plan.unit else written).groupBy(*_named([*part, *within]))
        sizes = by_combination.agg(F.count(F.lit(1)).alias(ROWS), how.alias(SIZE))
        short = F.sum((F.col(SIZE) < plan.k).cast("long"))
        row = sizes.agg(F.sum(ROWS), F.count(F.lit(1)), F.min(SIZE), short).collect()[0]
        records, combinations, rarest, too_few = (int(value or 0) for value in row)
        findings.append(Finding(plan.k, tuple(part), records, combinations, rarest, too_few, counted))
    agreement = Agreement(after.rows, tuple(untouched), tuple(faults))
    policy.require(plan.k, parts, findings if agreement.passed else [], agreement, counted)
    return [name for name, count in zip(others, counts) if count <= FEW]  # sketches of so few are exact


def _loss(facts: Sequence[dict[str, Any]]) -> Loss:
    """What all blocks lose together."""
    sums: dict[str, Any] = {}
    for name, new in chain.from_iterable(fact["sums"].items() for fact in facts):
        sums[name] = sums.get(name, 0) + np.array(new)
    return about_centre(sum((Loss(*fact["loss"]) for fact in facts), Loss()), sums)


def _told(release: SparkRelease, facts: Sequence[dict[str, Any]]) -> list[str]:
    """Notes on units, and on columns that may tell whom k should protect."""
    from pyspark.sql import functions as F

    plan, names, original = release.plan.plan, release.names, release.original
    parts = [[fact["once"] for fact in facts if fact["part"] == j] for j in range(len(release.plans))]
    notes = once_note([name for part in parts for name in part[0] if all(name in once for once in part)])
    for j, name in enumerate(identifiers(plan, original.columns, names)):
        few = sum(fact["few"][j] for fact in facts)
        if few:
            hashes = F.xxhash64(*hashable(original.select(f"`{name}`")))
            distinct = original.agg(F.countDistinct(hashes)).collect()[0][0]
            groups = sum(fact["groups"] for fact in facts)
            notes += repeating(plan.k, name, few, groups, distinct, release.plan.records)
    return [*notes, *release.notes]


def _linked(release: SparkRelease, measured: Any) -> list[str]:
    """What units give away whose rows can be linked, by what their rows publish."""
    from pyspark.sql import functions as F

    plan = release.plan.plan
    if plan.pseudonyms is None:
        return []
    published = F.xxhash64(*_named([*release.names, *plan.strata]))
    rows = measured.groupBy(UNIT).agg(F.sort_array(F.collect_list(published)).alias("rows"))
    row = rows.groupBy("rows").count().agg(F.sum((F.col("count") == 1).cast("long")), F.sum("count"))
    return linked_note(*row.collect()[0])


def _unique(written: Any, *choices: Sequence[str]) -> list[int]:
    """For each choice of columns, how many rows no other row equals in these."""
    from pyspark.sql import functions as F

    hashes = [F.xxhash64(F.lit(j), *hashable(written, names)) for j, names in enumerate(choices)]
    rows = written.select(F.posexplode(F.array(*hashes)).alias("choice", "row"))
    alone = rows.groupBy("choice", "row").count().where("count = 1").groupBy("choice").count()
    found = {row["choice"]: row["count"] for row in alone.collect()}
    return [found.get(j, 0) for j in range(len(choices))]


def _named(names: Sequence[str]) -> list[str]:
    return [f"`{name}`" for name in names]


class _Place:
    """The folder to publish, on whatever file system Spark writes to, and a hidden one beside it."""

    def __init__(self, spark: Any, path: str, replace: bool):
        java = spark._jvm.org.apache.hadoop.fs
        self._java, self._path = java, java.Path
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

    def write_private(self, facts: dict[str, Any]) -> str:
        """Beside the folder, for its owner alone; gives the note that tells where."""
        path = self._path(self._parent(), f"{self.target.getName()}.private.json")
        owner_only = self._java.permission.FsPermission("600")
        stream = self._files.createFile(path).permission(owner_only).overwrite(True).build()
        stream.write(bytearray((json_text(facts, indent=1) + "\n").encode()))
        stream.close()
        return private_note(path.toString())

    def _rename(self, one: Any, other: Any) -> None:
        if not self._files.rename(one, other):
            raise MachineError(
                f"{one.toString()!r} could not be renamed {other.toString()!r}: nothing is published"
            )

    def clean(self) -> None:
        with contextlib.suppress(Exception):  # what made the work fail is told, not this
            self._files.delete(self._hidden, True)
