"""Spark on two cores of this machine, for one file of tests at a time."""

import os
import shutil

import pytest

from shoal.engines.spark.session import session


@pytest.fixture(scope="module")
def spark():
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("SPARK IS NOT TESTED: there is no Java on this machine")
    pytest.importorskip("pyspark", reason="SPARK IS NOT TESTED: pyspark is not installed")
    with session("local[2,2]", {"spark.sql.shuffle.partitions": "2"}) as running:  # tasks are tried twice
        yield running
