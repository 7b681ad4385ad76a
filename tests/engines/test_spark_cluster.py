"""Spark with executors in processes of their own, set as users set it: a task fails, a secret is shared."""

import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import shoal.spark
from shoal.engines.disk import engine as disk
from shoal.engines.spark import engine
from shoal.engines.spark.session import session
from shoal.errors import MachineError
from shoal.plan import Plan
from shoal.verify.files import check
from tests.engines.test_disk import KEPT, QUASI, folder_of, people
from tests.engines.test_spark import visible
from tests.ports import free_port
from tests.spark_port import TO_DRIVER, answers, to_blocks

#: As clusters are set: executors come and go, a task runs twice when it is slow, partitions are joined.
AS_USERS_RUN_IT = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "2",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "120s",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
}


@pytest.fixture(scope="module")
def spark():
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("SPARK IS NOT TESTED: there is no Java on this machine")
    pytest.importorskip("pyspark", reason="SPARK IS NOT TESTED: pyspark is not installed")
    settings = AS_USERS_RUN_IT | {
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.blockManager.port": str(free_port()),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # wait for both executors
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }
    with session("local-cluster[2,1,1024]", settings) as running:
        yield running


def test_the_ports_of_executors_of_our_own_answer_nobody(spark):
    """Driver, master, workers and executors share a secret, which stands on no command line."""
    context = spark.sparkContext
    assert context.getConf().get("spark.io.encryption.enabled") == "true"
    assert spark.range(10).repartition(2).count() == 10  # who has the secret is answered
    assert context._jsc.sc().getExecutorMemoryStatus().size() == 3  # two executors and the driver
    assert not answers(context.getConf().get("spark.driver.port"), TO_DRIVER)
    assert not answers(context.getConf().get("spark.driver.blockManager.port"), to_blocks("rdd_0_0"))
    secret = context._jvm.java.lang.System.getProperty("spark.authenticate.secret")
    assert len(secret) == 64
    seen = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            seen.append(path.read_bytes())
    assert any(b"java" in words for words in seen)
    assert not any(secret.encode() in words for words in seen)


def test_a_release_of_several_executors_one_of_which_fails_is_that_of_disk(spark, tmp_path, monkeypatch):
    """The failed task is tried again."""
    original, flag, plain = people(2000).drop_columns(["odd"]), str(tmp_path / "failed"), engine.release_block

    def failing_once(*given):
        task = plain(*given)

        def run(key, table):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return task(key, table)
            raise RuntimeError("this worker has had enough")

        return run

    monkeypatch.setattr(engine, "release_block", failing_once)
    folder_of(original, tmp_path / "in", (500, 1100))
    df = spark.read.parquet(*[str(tmp_path / "in" / f"{part}.parquet") for part in range(3)])
    plan = Plan(5, columns=QUASI, keep=KEPT, method="mdav")
    released = shoal.spark.protect(df, 5, columns=QUASI, keep=KEPT, method="mdav", block_records=500)
    outcome = shoal.spark.write(released, tmp_path / "out")
    assert os.path.exists(flag)
    assert outcome.blocks > 2
    written = pq.read_table(tmp_path / "out").sort_by("id")
    assert check(written, 5, QUASI)[0].passed
    disk.run(plan, tmp_path / "in", tmp_path / "local.parquet", blocks=released.plan)
    assert written.select(QUASI).equals(pq.read_table(tmp_path / "local.parquet").sort_by("id").select(QUASI))
    left = [name for name in visible(tmp_path) if "local" not in name and not name.endswith(".crc")]
    assert left == ["failed", "in", "out", "out.private.json"]


def test_a_cluster_that_shares_no_secret_is_refused(spark, tmp_path):
    """What listens there hears nothing but a connection."""
    folder_of(people(200), tmp_path / "in", (100,))
    before = spark.sparkContext._jvm.java.lang.System.clearProperty("spark.authenticate.secret")
    try:
        with socket.create_server(("127.0.0.1", 0)) as open_cluster:
            master = f"spark://127.0.0.1:{open_cluster.getsockname()[1]}"
            with pytest.raises(MachineError, match=r"has no secret.* spark.authenticate.secret into") as said:
                engine.run(Plan(3), tmp_path / "in", tmp_path / "out", master=master)
            assert "\n" not in str(said.value)
    finally:
        spark.sparkContext.setSystemProperty("spark.authenticate.secret", before)
    assert visible(tmp_path) == ["in"]
