"""Reports of what a cluster makes: the same figures as of memory and of disk."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import shoal.spark
from shoal.datasets import survey
from shoal.engines.blocks import placed
from shoal.engines.disk import engine as disk
from shoal.engines.spark import write as cluster
from shoal.engines.spark.tasks import PLACE
from shoal.errors import InputError, MachineError
from shoal.pipeline import release_of, run
from shoal.plan import Plan
from shoal.report import build
from shoal.verify.compare import first_difference
from tests.engines.test_parity import (
    TOGETHER,
    in_the_order_of_a_cluster,
    many,
    plan_of,
    table,  # noqa: F401
)
from tests.engines.test_spark import STRATA
from tests.measures.test_large import close

FIGURES = ("utility", "risk", "distributions", "map", "audit", "outcome")


def told(plan, made, folder, other, ours, key="id"):
    """The report of a cluster's release, and of another's, whose rows `ours` puts into the same order."""
    models = []

    def then(outcome, placed):
        same = ours(np.array(pc.index_in(placed.original[key], other.original[key])))
        for name in placed.original.column_names:
            cells = same.original[name]
            assert first_difference(placed.original[name], cells) is None, name
        models.extend(build(one, bound_time=None) for one in (release_of(plan, None, outcome, placed), same))

    cluster.write(made, folder / "out", then=then)
    for model in models:  # in which engines differ
        for name in ("seconds", "engine", "plan_sha256", "notes"):
            model["outcome"].pop(name)
    return models


def agree(one, other):
    for part in FIGURES:
        close(one[part], other[part], part)


@pytest.mark.parametrize("options", [TOGETHER[2], TOGETHER[4], TOGETHER[5]], ids=str)
def test_the_report_of_one_block_is_that_of_memory(options, table, tmp_path, spark, monkeypatch):  # noqa: F811
    """With units that get numbers, tails, gaps, weights, columns that are grouped apart, merged strata."""
    if "pseudonyms" in options:
        options = options | {"pseudonyms": str(tmp_path / "key")}
    plan = plan_of(options)
    made, ordered = in_the_order_of_a_cluster(plan, table, spark, monkeypatch)
    release = run(plan, ordered)

    def ours(rows):
        whose = None if release.units is None else release.units[rows]
        tables = {"table": release.table.take(rows), "original": release.original.take(rows)}
        return replace(release, **tables, labels=release.labels[rows], units=whose)

    agree(*told(plan, made, tmp_path, release, ours))


def test_the_report_of_several_blocks_is_that_of_disk(tmp_path, spark):
    pq.write_table(many(), tmp_path / "in.parquet")
    plan, local = Plan(**STRATA), []
    disk.run(
        *(plan, tmp_path / "in.parquet", tmp_path / "local"),
        block_records=150,
        then=lambda *done: local.append(release_of(plan, None, *done)),
    )
    rows = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    made = shoal.spark.protect(rows, block_records=150, **STRATA)

    def ours(rows):
        tables = {"table": local[0].table.take(rows), "original": local[0].original.take(rows)}
        return replace(local[0], **tables, labels=local[0].labels[rows])

    agree(*told(plan, made, tmp_path, local[0], ours, "row"))
    assert len(made.plan.counts) > 5


@pytest.fixture
def firms(spark, tmp_path):
    """A release that is not yet written, and where its table lies."""
    pq.write_table(survey(200), tmp_path / "in.parquet")
    rows = spark.read.parquet(str(tmp_path / "in.parquet"))
    return shoal.spark.protect(rows, 4, columns=["turnover", "wages"], method="mdav")


def test_write_writes_both_reports_and_leaves_nothing_else(firms, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    reports = {"report": tmp_path / "r.json", "public_report": tmp_path / "public.json"}
    outcome = shoal.spark.write(firms, tmp_path / "out", **reports)
    told, public = (json.loads(path.read_text()) for path in reports.values())
    assert told["outcome"]["information_loss"] == outcome.information_loss
    assert sorted(run["k"] for run in told["why_k"]["comparison"]["runs"]) == [2, 4, 8, 16]
    assert told["provenance"]["replay"].startswith("shoal.spark.protect(data, k=4, columns=['turnover',")
    assert "risk" not in public
    assert list((tmp_path / "temporary").iterdir()) == []


def test_points_in_time_are_written_and_reported(spark, tmp_path):
    rows = spark.range(40).selectExpr("double(id) x", "timestamp_seconds(id % 4) at")
    made = shoal.spark.protect(rows, 4, keep=["at"], columns=["x"], method="mdav")
    shoal.spark.write(made, tmp_path / "out", report=tmp_path / "r.txt")
    assert (tmp_path / "r.txt").exists()


def test_what_cannot_be_reported_is_refused_before_the_work(firms, tmp_path, monkeypatch):
    for report in ("r.pdf", "nowhere/r.html"):
        with pytest.raises(InputError):
            shoal.spark.write(firms, tmp_path / "out", report=tmp_path / report)
    monkeypatch.setattr(placed, "memory", lambda: 200 * placed.MEASURED - 1)
    for call in (
        lambda: shoal.spark.write(firms, tmp_path / "out", report=tmp_path / "r.txt"),
        lambda: shoal.protect_files(tmp_path / "in.parquet", tmp_path / "out", 4, report=tmp_path / "r.txt"),
    ):
        with pytest.raises(InputError, match="to measure 200 records takes"):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.where("employees > 9"),
        lambda raw: raw.union(raw.limit(1)),
        lambda raw: raw.withColumn(PLACE, raw[PLACE] + 1),
    ],
)
def test_an_original_that_changed_is_not_measured(firms, tmp_path, change):
    """Records less, one more, others: the release is there, the report is not."""
    changed = replace(firms, raw=change(firms.raw))
    with pytest.raises(MachineError, match="is finished and checked, but its original has other records"):
        shoal.spark.write(changed, tmp_path / "out", report=tmp_path / "r.txt")
    assert (tmp_path / "out" / "_manifest.json").exists()
    assert not (tmp_path / "r.txt").exists()
