"""Spark Connect: releases in a folder that both sides see; and workers that lack shoal, in one sentence."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.spark.shared import SharedFolder
from shoal.errors import InputError, MachineError
from shoal.verify.files import check
from tests.engines.test_disk import QUASI, people


class Server:
    """As much of a session as a shared folder asks for; it writes below `root`."""

    def __init__(self, root="/"):
        self.root = Path(root)
        self.write = self

    def range(self, count):
        return self

    def parquet(self, path):
        place = self.root / path.lstrip("/")
        place.mkdir(parents=True)
        pq.write_table(pa.table({"id": [0]}), place / "part-0.parquet")


def made(folder):
    Server().parquet(folder.made)
    return folder


def test_a_release_appears_whole_in_the_shared_folder(tmp_path):
    folder = made(SharedFolder(Server(), str(tmp_path / "out"), False))
    assert not (tmp_path / "out").exists()
    folder.publish('{"k": 5}')
    note = folder.write_private({"seed": 1})
    folder.clean()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_manifest.json", "part-0.parquet"]
    assert str(tmp_path / "out.private.json") in note
    with pytest.raises(InputError, match="exists and is not empty: name another, or let it be replaced"):
        SharedFolder(Server(), str(tmp_path / "out"), False)
    again = made(SharedFolder(Server(), str(tmp_path / "out"), True))
    again.publish('{"k": 6}')
    again.clean()
    assert json.loads((tmp_path / "out/_manifest.json").read_text()) == {"k": 6}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private.json"]


def test_a_folder_that_is_not_shared_is_refused_before_the_work(tmp_path):
    (tmp_path / "far").mkdir()
    with pytest.raises(MachineError, match="is not seen here: name a folder that both share"):
        SharedFolder(Server(tmp_path / "far"), str(tmp_path / "out"), False)
    assert [path.name for path in tmp_path.iterdir()] == ["far"]
    with pytest.raises(InputError, match="that this machine sees too, not at 'hdfs://x/out'"):
        SharedFolder(Server(), "hdfs://x/out", False)
    with pytest.raises(InputError, match="does not exist: make it first"):
        SharedFolder(Server(), str(tmp_path / "no" / "out"), False)


def failing():
    from pyspark.errors import PySparkException

    raise PySparkException(
        "Job aborted\nTraceback (most recent call last):\n"
        "ModuleNotFoundError: No module named 'shoal'\n\nDriver stacktrace:"
    )


def test_workers_that_lack_shoal_get_one_sentence():
    pytest.importorskip("pyspark", reason="SPARK IS NOT TESTED: pyspark is not installed")
    from shoal.engines.spark.session import speaking

    with (
        pytest.raises(
            MachineError, match=f"workers' Python lacks shoal; install shoal-sdc {shoal.__version__} there"
        ),
        speaking("Spark could not look at the data"),
    ):
        failing()


SCRIPT = """
import sys
from pyspark.sql import SparkSession
import shoal.spark
from tests.engines.test_disk import KEPT, QUASI

folder = sys.argv[1]
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
try:
    assert "connect" in type(spark).__module__
    df = spark.read.parquet(f"{folder}/in.parquet")
    release = shoal.spark.protect(df, 5, columns=QUASI, keep=KEPT, method="mdav", block_records=400)
    print(shoal.spark.write(release, f"{folder}/out", report=f"{folder}/r.json").blocks)
finally:
    spark.stop()
"""


def test_a_release_over_spark_connect(tmp_path):
    """In a process of its own, for a process has either a classic session or one of Connect."""
    pytest.importorskip(
        "grpc", reason="SPARK CONNECT IS NOT TESTED: grpc (pyspark[connect]) is not installed"
    )
    if not shutil.which("java"):
        pytest.skip("SPARK CONNECT IS NOT TESTED: there is no Java on this machine")
    original = people(800).drop_columns(["odd"])
    pq.write_table(original, tmp_path / "in.parquet")
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # the server takes a free port, so that another's 15002 does not matter
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) > 1
    released = pq.read_table(tmp_path / "out").sort_by("id")
    assert check(released, 5, QUASI)[0].passed
    assert released["name"].to_pylist() == original["name"].to_pylist()
    there = ["in.parquet", "out", "out.private.json", "r.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    lost = json.loads((tmp_path / "r.json").read_text())["utility"]
    measured = shoal.utility(original, released, QUASI)
    for name in ("variances", "correlations", "hellinger"):
        assert lost[name]["overall"] == pytest.approx(measured[name].overall, rel=1e-9)
