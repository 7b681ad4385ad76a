"""Spark on two cores of this machine: what is released, and what fails. Executors: test_spark_cluster.py.

The records are few and the method is MDAV: what is tested is that nothing is lost, doubled or half-published.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal.spark
from shoal.engines.disk import engine as disk
from shoal.engines.spark import engine as engine
from shoal.engines.spark.session import SECRECY
from shoal.errors import CheckFailed, InputError, MachineError
from shoal.io.parquet import ParquetTable
from shoal.pipeline import run
from shoal.plan import Plan
from shoal.stages.encode import standardise
from shoal.verify.files import check
from shoal.verify.steps import step_faults
from tests.engines.test_disk import (
    KEPT,
    QUASI,
    as_numbers,
    folder_of,
    people,
    small_disk,  # noqa: F401
    spoil_missing,
    spoil_short,
    spoil_type,
)
from tests.engines.test_parity import late, many, panel, panel_with_shops, stepped

RECORDS = 6000

MANY = {"k": 4, "columns": ["wage", "age", "work"], "missing": "group", "method": "mdav_generic"}
#: Plans of the table `many`: what a cluster makes of them is what disk makes.
STRATA = MANY | {"strata": ["town"], "weight": "grossing", "keep": ["row"], "diversity": {"ill": 2}}
STRATA |= {"closeness": {"ill": 0.4}, "spread": {"wage": 0.05}}
APART = MANY | {"strata": ["town", "work"], "merge_small_strata": True, "keep": ["row", "grossing"]}
APART |= {"blocks": [["wage", "work"], ["age"]]}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as line:
        return line.getsockname()[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def original():
    return people(RECORDS).drop_columns(["odd"])


@pytest.fixture(scope="module")
def df(spark, place, original):
    folder_of(original, place / "in", (1000, 2500, 4000))
    return spark.read.parquet(*[str(place / "in" / f"{part}.parquet") for part in range(4)])


@pytest.fixture(scope="module")
def release(df, place):
    """The DataFrame that `protect` gave back, and what `write` said."""
    released = shoal.spark.protect(df, 5, columns=QUASI, keep=KEPT, method="mdav", block_records=1500)
    return released, shoal.spark.write(released, place / "out")


def visible(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_spark_writes_is_whole_and_safe(release, original, place):
    _, outcome = release
    written = pq.read_table(place / "out").sort_by("id")
    assert outcome.blocks > 2
    for name in ("id", "name", *QUASI):
        assert written.schema.field(name).type == original.schema.field(name).type
    for name in ("id", "name", "list"):
        assert written[name].to_pylist() == original[name].to_pylist()
    assert check(written, 5, QUASI)[0].passed
    assert outcome.smallest_group >= 5
    Z, scales = standardise([as_numbers(original, name) for name in QUASI])
    new = np.stack([s.apply(as_numbers(written, name)) for s, name in zip(scales, QUASI)], axis=1)
    lost = 100 * np.square(Z - new).sum() / np.square(Z).sum()
    assert outcome.information_loss + outcome.rounding_loss == pytest.approx(lost, rel=1e-9)


def test_the_manifest_names_every_part(release, place):
    manifest = json.loads((place / "out" / "_manifest.json").read_text())
    parts = list((place / "out").glob("*.parquet"))
    assert sorted(path.name for path in parts) == sorted(part["name"] for part in manifest["parts"])
    sums = {part["name"]: part["sha256"] for part in manifest["parts"]}
    for path in parts:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[path.name]


def test_the_manifest_tells_readers_nothing_of_single_records(release, place):
    public = (place / "out" / "_manifest.json").read_text()
    for word in ("block_plan", "seed", "plan_sha256", "tree", "scales"):
        assert word not in public
    private = place / "out.private.json"
    assert private.stat().st_mode & 0o777 == 0o600
    assert any(str(private) in note for note in release[1].notes)


def test_rows_lie_in_an_order_that_tells_nothing_and_hangs_on_the_plan(release, place):
    """That it is always the same is seen below, where a task fails once."""
    released, _ = release
    ids = pq.read_table(place / "out")["id"].to_numpy()
    assert abs(np.corrcoef(ids, np.arange(len(ids)))[0, 1]) < 0.1
    plan = released.plan.plan
    salts = {engine._salt(replace(plan, seed=seed), released.before, QUASI) for seed in (0, 1)}
    assert len(salts) == 2
    with pytest.raises(InputError, match="a cluster keeps no order of rows"):
        shoal.spark.protect(released.original, 5, columns=QUASI, keep=KEPT, order="keep")
    with pytest.raises(InputError, match="a cluster may make a block twice"):
        shoal.spark.protect(released.original, 5, columns=QUASI, keep=KEPT, time_limit=5)


def test_k_counts_units_on_a_cluster(df, place):
    from pyspark.sql import functions as F

    houses = df.where("id < 1000").withColumn("house", (F.col("id") % 120).cast("long"))
    told = {"ml_attr": {"type": "nominal", "vals": ["Jane Doe"]}, "comment": "of Jane Doe"}
    income = F.when(F.col("id") < 960, F.col("income"))  # the last 40 have a gap and are left out
    houses = houses.withColumn("income", income).withMetadata("income", told).withMetadata("name", told)
    plan = {
        "missing": "drop",
        "columns": ["income", "age"],
        "keep": [*KEPT, "born"],
        "method": "mdav",
        "block_records": 250,
    }
    outcome = shoal.spark.write(shoal.spark.protect(houses, 3, unit="house", **plan), place / "houses")
    written = pq.read_table(place / "houses").sort_by("id").to_pandas()
    assert "house" not in written.columns
    assert list(written["id"]) == list(range(960))
    assert "40 of 1000 records have a gap and were left out" in outcome.notes
    units = written.assign(house=np.arange(len(written)) % 120).groupby(["income", "age"])["house"].nunique()
    assert units.min() == outcome.smallest_group >= 3
    assert outcome.counted == "units"
    assert "at least 3 different units (house)" in outcome.promise
    parts = [path.read_bytes() for path in (place / "houses").glob("*.parquet")]
    assert not any(b"Jane Doe" in part for part in parts)
    assert any("metadata left out" in note and "income" in note and "name" in note for note in outcome.notes)
    few = [
        name
        for name in written
        if name not in ("income", "age", "list") and written[name].nunique(dropna=False) <= 20
    ]
    alike = written.groupby(["income", "age", *few], dropna=False).size()
    assert outcome.unique_on_categories == (alike == 1).sum()
    with pytest.raises(InputError, match="column 'name' has a gap, but every record needs its unit"):
        shoal.spark.protect(houses, 3, unit="name", columns=["income"], keep=["id", "age", "born", "house"])


def test_no_unit_lies_in_two_blocks_of_a_cluster(spark, place):
    """What is the same in all records of a unit is published once for it, as on disk."""
    table = panel(60)
    pq.write_table(table, place / "panel.parquet")
    plan = {"columns": ["rent", "wage"], "keep": ["row", "flat"], "method": "mdav", "unit": "house"}
    panels = spark.read.parquet(str(place / "panel.parquet")).repartition(3)
    outcome = shoal.spark.write(shoal.spark.protect(panels, 5, block_records=50, **plan), place / "panel_out")
    written = pq.read_table(place / "panel_out").sort_by("row")
    units = written.to_pandas().assign(house=table["house"].to_numpy())
    assert outcome.blocks > 3
    assert (units.groupby("house")["rent"].nunique() == 1).all()
    assert units.groupby("rent")["house"].nunique().min() >= 5
    assert units.groupby(["rent", "wage"])["house"].nunique().min() == outcome.smallest_group >= 5
    assert any("published once for each: rent (by_record" in note for note in outcome.notes)
    disk.run(Plan.of(5, **plan), place / "panel.parquet", place / "panel_disk.parquet", block_records=50)
    local = pq.read_table(place / "panel_disk.parquet").sort_by("row")
    for name in ("rent", "wage"):
        assert written[name].to_pylist() == local[name].to_pylist()


def test_strata_weights_categories_and_requirements_on_a_cluster_are_those_of_disk(spark, place):
    pq.write_table(many(), place / "many.parquet")
    plan = STRATA
    rows = spark.read.parquet(str(place / "many.parquet")).repartition(3)
    outcome = shoal.spark.write(shoal.spark.protect(rows, block_records=150, **plan), place / "many_out")
    local = disk.run(Plan(**plan), place / "many.parquet", place / "many_disk.parquet", block_records=150)
    assert outcome.blocks == local.blocks > 5
    assert outcome.information_loss == pytest.approx(local.information_loss, rel=1e-9)
    assert [found["failing_groups"] for found in outcome.requirements] == [0, 0, 0, 0]
    assert [found["reached"] for found in outcome.requirements] == pytest.approx(
        [found["reached"] for found in local.requirements]
    )
    with pytest.raises(
        InputError, match=r"of .* records cannot have 'ill' distributed within 0.001 of the whole"
    ):
        shoal.spark.protect(rows, block_records=150, **plan | {"closeness": {"ill": 0.001}})
    ours = pq.read_table(place / "many_out").sort_by("row").to_pandas()
    theirs = pq.read_table(place / "many_disk.parquet").sort_by("row").to_pandas()
    assert ours.equals(theirs[ours.columns])


def test_columns_grouped_apart_and_folders_on_a_cluster_are_those_of_disk(spark, place):
    """With partitions that Spark joins and cuts as it goes, and merged strata, one of them protected."""
    pq.write_table(many(), place / "apart.parquet")
    rows = spark.read.parquet(str(place / "apart.parquet")).repartition(3)
    made, joins = place / "apart_out", "spark.sql.adaptive.coalescePartitions.enabled"
    spark.conf.set(joins, "true")
    try:
        release = shoal.spark.protect(rows, block_records=150, **APART)
        outcome = shoal.spark.write(release, made, partition_by=["ill"])
    finally:
        spark.conf.set(joins, "false")
    local = disk.run(Plan(**APART), place / "apart.parquet", place / "apart_disk.parquet", block_records=150)
    assert outcome.blocks == local.blocks > 5
    assert (outcome.groups, outcome.smallest_group) == (local.groups, local.smallest_group)
    assert outcome.information_loss == pytest.approx(local.information_loss, rel=1e-9)
    assert any("was merged with" in note for note in outcome.notes)
    parts = json.loads((made / "_manifest.json").read_text())["parts"]
    assert {part["name"].split("/")[0] for part in parts} == {"ill=no", "ill=yes"}
    for part in parts:
        assert hashlib.sha256((made / part["name"]).read_bytes()).hexdigest() == part["sha256"]
    ours, theirs = (ParquetTable(path) for path in (made, place / "apart_disk.parquet"))
    ours, theirs = (
        pa.Table.from_batches(batch for _, batch in table.batches(many().column_names)).sort_by("row")
        for table in (ours, theirs)
    )
    kept = ["town", "ill", "grossing", "row"]
    assert ours.select(kept).equals(theirs.select(kept))
    for part in APART["blocks"]:  # records that are alike may change places
        ours_part, theirs_part = (t.select(["town", *part]).to_pandas() for t in (ours, theirs))
        ours_part, theirs_part = (
            t.sort_values([*t.columns], ignore_index=True) for t in (ours_part, theirs_part)
        )
        assert ours_part.equals(theirs_part)
    rows = np.concatenate([pq.read_table(made / part["name"], partitioning=None)["row"] for part in parts])
    assert abs(np.corrcoef(rows, np.arange(len(rows)))[0, 1]) < 0.5


def test_steps_beside_grouping_on_a_cluster_are_those_of_disk(spark, place):
    """Tails, levels and decimals are found in every partition, and units get the same numbers."""
    was = panel_with_shops().slice(0, 240)
    pq.write_table(was, place / "steps.parquet")
    plan = stepped(place / "key")
    rows = spark.read.parquet(str(place / "steps.parquet")).repartition(3)
    outcome = shoal.spark.write(shoal.spark.protect(rows, block_records=40, **plan), place / "steps_out")
    local = disk.run(Plan(**plan), place / "steps.parquet", place / "steps_disk.parquet", block_records=40)
    assert outcome.blocks == local.blocks > 3
    assert outcome.information_loss == pytest.approx(local.information_loss, rel=0.2)  # ties of capped wages
    assert dict(outcome.recoding_loss) == pytest.approx(dict(local.recoding_loss))
    assert {*local.notes} - {*outcome.notes} <= {n for n in local.notes if "lie in groups that" in n}
    ours, theirs = (pq.read_table(place / n).sort_by("row") for n in ("steps_out", "steps_disk.parquet"))
    assert ours.column_names == theirs.column_names
    for name in ("house", "shop", "pay", "flat"):
        assert ours[name].to_pylist() == theirs[name].to_pylist()
    assert step_faults(was, ours, Plan(**plan), ["wage", "rent"]) == []
    assert ours.to_pandas().groupby(["wage", "rent"])["house"].nunique().min() == outcome.smallest_group >= 3


def test_what_later_rows_and_repeating_identifiers_tell_is_noted_on_a_cluster(spark, place):
    pq.write_table(late(), place / "late.parquet")
    rows = spark.read.parquet(str(place / "late.parquet"))
    for keep, reason in (["log"], "'tag' looks like an identifier"), (["tag"], "'log' gives back 'wage'"):
        with pytest.raises(InputError, match=reason):
            shoal.spark.protect(rows, 5, columns=["wage"], keep=keep)
    table = panel()
    pq.write_table(table, place / "panel.parquet")
    plan = {"k": 4, "columns": ["rent"], "roles": {"house": "identifier"}, "method": "mdav"}
    plan |= {"keep": ["row", "wage", "flat"]}
    said = [note for note in run(Plan(**plan), place / "panel.parquet").notes if "'house' repeats" in note]
    assert "groups hold fewer than k=4 of its values" in said[0]
    made = shoal.spark.protect(spark.read.parquet(str(place / "panel.parquet")), **plan)
    assert said[0] in shoal.spark.write(made, place / "repeats").notes


def test_the_same_plan_gives_the_same_groups_on_disk_and_again_on_spark(release, place):
    released, _ = release
    manifest = json.loads((place / "out.private.json").read_text())
    frozen = shoal.spark.BlockPlan.from_json(manifest["block_plan"])
    plan = Plan.of(5, columns=QUASI, keep=KEPT, method="mdav")
    disk.run(plan, place / "in", place / "local.parquet", blocks=frozen)
    local = pq.read_table(place / "local.parquet").sort_by("id")
    written = pq.read_table(place / "out").sort_by("id")
    again = released.select("id", *QUASI).toArrow().sort_by("id")
    for name in QUASI:
        assert written[name].equals(local[name])
        assert again[name].cast(local[name].type).equals(local[name])


def spoils():
    """Ways to spoil a block; named inside, so that Spark sends them to its workers as they are."""

    def lose(key, table):
        return table.slice(1) if key[0].as_py() == 1 else table

    def alter(key, table):
        at = table.schema.get_field_index("income")
        cells = table.column(at).to_numpy().copy()
        cells[-1] += 1
        return table.set_column(at, table.schema.field(at), pa.array(cells))

    def touch(key, table):
        names = ["nobody", *table["name"].to_pylist()[1:]]
        return table.set_column(table.schema.get_field_index("name"), "name", pa.array(names))

    def double(key, table):
        """The second record instead of the first, but for what they publish: as many records as before."""
        at = table.schema.get_field_index("id")
        ids = [table["id"][1].as_py(), *table["id"].to_pylist()[1:]]
        return table.set_column(at, table.schema.field(at), pa.array(ids))

    def fail(key, table):
        raise RuntimeError("this worker has had enough")

    return {spoil.__name__: spoil for spoil in (lose, alter, touch, double, fail)}


def frozen_plan(place):
    text = json.loads((place / "out.private.json").read_text())["block_plan"]
    return shoal.spark.BlockPlan.from_json(text)


@pytest.fixture(scope="module")
def spoiled(release, df, place):
    """A release whose blocks are spoiled when they are made, in the way that a file names."""
    flag, plain, ways = place / "spoil", engine.release_block, spoils()

    def spoiling(*given):
        task = plain(*given)

        def run(key, table):
            return ways[flag.read_text()](key, task(key, table))

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "release_block", spoiling)
        fields = {"columns": QUASI, "keep": KEPT, "method": "mdav", "block_plan": frozen_plan(place)}
        made = shoal.spark.protect(df, 5, **fields)

    def write(way, target):
        flag.write_text(way)
        try:
            shoal.spark.write(made, target)
        finally:
            flag.unlink()

    return write


def test_a_task_that_fails_for_good_publishes_nothing(spoiled, place):
    before = visible(place)
    with pytest.raises(MachineError, match="Spark could not finish, nothing is published") as told:
        spoiled("fail", place / "bad")
    assert "this worker has had enough" in str(told.value)
    assert "\n" not in str(told.value)
    assert visible(place) == before


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("lose", "6000 records went in, 5999 came out"),
        ("alter", "the rarest by 1"),
        ("touch", "the rows of id, name, list are not what they were"),
        ("double", "the rows of id, name, list are not what they were"),
    ],
)
def test_a_missing_record_and_a_short_group_publish_nothing(way, sentence, spoiled, place):
    before = visible(place)
    with pytest.raises(CheckFailed, match=sentence):
        spoiled(way, place / "bad")
    assert visible(place) == before


def test_a_full_disk_publishes_nothing(release, small_disk):  # noqa: F811
    (small_disk / "filler").write_bytes(bytes(280_000))
    with pytest.raises(MachineError, match=r"nothing is published.*No space left on device"):
        shoal.spark.write(release[0], small_disk / "out")
    assert visible(small_disk) == ["filler"]


def test_the_same_rows_divided_otherwise_give_the_same_bytes(release, df, place):
    """Which rows a sample has hangs on what they hold; of alike ones it has their share."""
    fields = {"columns": QUASI, "keep": KEPT, "method": "mdav", "block_records": 1500}
    again = shoal.spark.protect(df.repartition(5, "age"), 5, **fields)
    with pytest.raises(InputError, match="exists already"):
        shoal.spark.write(again, place / "out")
    first, there = json.loads((place / "out" / "_manifest.json").read_text()), visible(place)
    shoal.spark.write(again, place / "out", replace=True)
    second = json.loads((place / "out" / "_manifest.json").read_text())
    assert [part["sha256"] for part in second["parts"]] == [part["sha256"] for part in first["parts"]]
    assert len(first["parts"]) > 1
    assert visible(place) == there
    rows = df.selectExpr("id", "income", "list").union(df.selectExpr("0", "0", "array()").limit(3000))
    drawn = [engine._some(rows.repartition(parts, "income"), 900, 9000, 7) for parts in (1, 4)]
    assert drawn[0].equals(drawn[1])
    assert not drawn[0].equals(engine._some(rows, 900, 9000, 8))
    assert len(drawn[0]) == pytest.approx(900, abs=90)  # four times the deviation
    assert drawn[0]["id"].to_pylist().count(0) in (300, 301)  # and record 0 itself, which has another income


def test_data_that_change_are_noticed(release, df, place):
    """The plan counted other records than the grouping sees."""
    before = visible(place)
    released = shoal.spark.protect(
        df.where("id >= 50"), 5, columns=QUASI, keep=KEPT, method="mdav", block_plan=frozen_plan(place)
    )
    with pytest.raises(CheckFailed, match="the data change from one reading to the next"):
        shoal.spark.write(released, place / "bad")
    assert visible(place) == before


def test_what_cannot_be_grouped_is_said_at_once(df, release):
    for call, sentence in (
        (lambda: shoal.spark.protect(df.selectExpr("double('inf') a"), 5), "'a' has the value inf"),
        (lambda: shoal.spark.protect(df, 5, columns=["incom"]), "did you mean 'income'"),
        (lambda: shoal.spark.protect(df.selectExpr("1 `a.b`"), 5), "'a.b' has a dot or a backtick"),
        (lambda: shoal.spark.protect(df, 5, columns=QUASI), "column 'id' looks like an identifier"),
        (lambda: shoal.spark.protect(df, 5, columns=["list"]), "column 'list' is array|'list' is list"),
        (lambda: shoal.spark.write(release[0], "x", partition_by="income"), "'income' is protected or"),
        (lambda: shoal.spark.protect(df, 7000, columns=QUASI, keep=KEPT), "but the table has 6000: lower k"),
        (lambda: shoal.spark.write(df, "x"), "only what shoal.spark.protect gave back"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


def test_the_command_line_on_spark(tmp_path, original):
    if not shutil.which("java"):
        pytest.skip("SPARK IS NOT TESTED: there is no Java on this machine")
    folder_of(original.slice(0, 500), tmp_path / "in", (100,))
    words = "protect in -k 3 -c income -m mdav -o out --json --keep id,name --engine spark --master local[2]"
    words += " --report r.json --contributors 3 --price --bound --bound-time 1"
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *words.split()], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    facts, told = json.loads(done.stdout), json.loads((tmp_path / "r.json").read_text())
    assert facts["records"] == 500
    assert 0 < facts["bound"] <= facts["information_loss"]
    assert facts["bound"] == told["bound"]["information_loss"]
    assert told["provenance"]["replay"].endswith("--contributors=3 --engine spark")
    prices = {run["requirements"]: run["information_loss"] for run in facts["price"]["runs"]}
    assert prices["contributors=3"] == facts["information_loss"]
    assert check(pq.read_table(tmp_path / "out"), 3, ["income"])[0].passed


# --- without a cluster ------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_without_java_the_reason_is_said(home, tmp_path, monkeypatch):
    folder_of(people(200), tmp_path / "in", (100,))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    with pytest.raises(MachineError, match="Spark needs Java 17 or newer"):
        engine.run(Plan(3), tmp_path / "in", tmp_path / "out")
    assert visible(tmp_path) == ["in"]


@pytest.mark.parametrize("master", ["127.0.0.1:{}", "nowhere.invalid:7077", "x:y"])
def test_a_master_that_does_not_answer(master, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engines.spark.session._refuse_without_java", lambda: None)
    folder_of(people(200), tmp_path / "in", (100,))
    with socket.socket() as silent:  # its port is taken, but nobody listens there
        silent.bind(("127.0.0.1", 0))
        address = "spark://" + master.format(silent.getsockname()[1])
        with pytest.raises(MachineError, match="the Spark master does not answer"):
            engine.run(Plan(3), tmp_path / "in", tmp_path / "out", master=address)
    assert visible(tmp_path) == ["in"]


@pytest.mark.parametrize("spoil", [spoil_missing, spoil_short, spoil_type])
def test_bad_files_are_told_before_spark_starts(spoil, tmp_path):
    spoil(folder_of(people(), tmp_path / "in"))
    with pytest.raises(InputError, match=r"parquet'"):
        engine.run(Plan(3), tmp_path / "in", tmp_path / "out", master="local[1]")
    assert visible(tmp_path) == ["in"]


LOOK = """
import json, os, sys
from pathlib import Path
from pyspark import StorageLevel
from shoal.engines.spark.session import SECRECY, session

base, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
sys.path.append(sys.argv[3])
from tests.spark_port import TO_DRIVER, answers, to_blocks

with session("local[2]", settings) as spark:
    rows = spark.sparkContext.parallelize([f"the original row {i}" for i in range(5000)], 4)
    kept = rows.map(lambda row: (row[-1], row)).groupByKey().persist(StorageLevel.DISK_ONLY)
    kept.count()
    contents = b"".join(path.read_bytes() for path in base.rglob("*") if path.is_file())
    facts = {
        "modes": [path.stat().st_mode & 0o777 for path in base.iterdir()],
        "bytes": len(contents),
        "rows": contents.count(b"the original row"),
        "answers": [
            answers(spark.conf.get("spark.driver.port"), TO_DRIVER),
            answers(settings["spark.driver.blockManager.port"], to_blocks(f"rdd_{kept.id()}_0")),
        ],
    }
print(json.dumps(facts))
"""


@pytest.mark.parametrize("given", ["the variable", "the setting without secrecy"])
def test_what_spark_keeps_of_the_rows_is_for_nobody_else(spark, tmp_path, given):
    """Another user finds a closed folder; whoever opens it, ciphers. Modules lying around are not run.

    The ports of driver and blocks answer nobody. Without what we set, they would, and the rows be seen.
    """
    base, here = tmp_path / "base", tmp_path / "here"
    base.mkdir()
    here.mkdir()
    for name in ("json", "pickle", "shoal"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'hacked')!r}, 'w')")
    settings = {"spark.shuffle.compress": "false", "spark.driver.blockManager.port": str(free_port())}
    where = {"SPARK_LOCAL_DIRS": str(base)}
    if given != "the variable":
        settings |= {"spark.local.dir": str(base), **dict.fromkeys(SECRECY, "false")}
        where = {}
    words = [sys.executable, "-P", "-c", LOOK, str(base), json.dumps(settings), os.getcwd()]
    done = subprocess.run(words, capture_output=True, text=True, cwd=here, env={**os.environ, **where})
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["modes"] == [0o700]
    assert facts["bytes"] > 100_000
    assert (facts["rows"] > 0) == (given != "the variable")
    driver, blocks = facts["answers"]
    assert driver == (given != "the variable")
    assert not blocks or given != "the variable"
    assert list(base.iterdir()) == []
    assert not (tmp_path / "hacked").exists()
