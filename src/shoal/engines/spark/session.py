"""A Spark session for the command line, and what goes wrong with Spark in one sentence."""

import atexit
import contextlib
import functools
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import CheckFailed, MachineError, needs_extra
from shoal.io.private import private_folder

#: Seconds to wait for a master to answer, before Spark itself would try for a minute.
PATIENCE = 5
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",  # joined blocks would wait for one another
    "spark.executorEnv.SHOAL_THREADS": "1",  # Spark fills the cores with tasks
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers import nothing from where they were started
}
#: Blocks and messages hold original rows: no port answers who lacks the secret, and both are ciphers.
SECRECY = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
}
_SECRET = "spark.authenticate.secret"


@contextlib.contextmanager
def session(master: str | None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session on that cluster (or on this machine's cores), stopped at the end; `settings` are Spark's.

    What this machine keeps of it lies in a private folder, in spark.local.dir if that is given.
    """
    _refuse_without_java()
    _refuse_unreachable(master or "")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with needs_extra("Spark needs", "spark"):
        from pyspark.sql import SparkSession
    builder = SparkSession.builder.appName("shoal").master(master or "local[*]")
    wanted = {**SETTINGS, **SECRECY, **(settings or {})}
    for name, value in wanted.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    home = str(Path(shoal.__file__).parents[1])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join(paths))
    if (master or "local").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    given = os.environ.get("SPARK_LOCAL_DIRS")  # which Spark prefers
    folders = given or wanted.get("spark.local.dir") or tempfile.gettempdir()
    folder = _folder_for_blocks(folders.split(",")[0])
    if given:
        os.environ["SPARK_LOCAL_DIRS"] = folder
    with speaking("Spark did not start"):
        _share_secret(master or "local")
        spark = builder.config("spark.local.dir", folder).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@functools.cache
def _folder_for_blocks(base: str) -> str:
    """A private folder for as long as this process lives, for Java keeps to the first that it was given."""
    os.makedirs(base, exist_ok=True)
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return str(kept.enter_context(private_folder("shoal-spark", base)))


def _share_secret(master: str) -> None:
    """Draw a secret for executors of our own, or find the one that a cluster has.

    For `local`, YARN and Kubernetes Spark draws it. A setting of the session would stand on Java's command
    line, where every user sees it: so Java is started first and told then.
    """
    from pyspark import SparkContext

    if master.startswith("local-cluster"):
        SparkContext.setSystemProperty(_SECRET, secrets.token_hex(32))
    elif master.startswith("spark://") and not SparkContext.getSystemProperty(_SECRET):
        raise MachineError(
            f"the cluster {master} has no secret that this machine knows, so anybody could read its blocks: "
            f"write spark.authenticate true and {_SECRET} into conf/spark-defaults.conf of its nodes and of "
            "this machine, or give a session of your own to shoal.spark.protect"
        )


def _refuse_without_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else None
    if not (java.is_file() if java else shutil.which("java")):
        where = f"JAVA_HOME is {home!r}, and no java is there" if home else "no java is on the PATH"
        raise MachineError(f"Spark needs Java 17 or newer, but {where}: install it, or set JAVA_HOME")


def _refuse_unreachable(master: str) -> None:
    if not master.startswith("spark://"):
        return
    failures = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host, int(port or 7077)), PATIENCE).close()
            return
        except (OSError, ValueError) as error:
            failures.append(f"{address}: {error}")
    raise MachineError(
        f"the Spark master does not answer ({'; '.join(failures)}): start it, or mend --master"
    )


@contextlib.contextmanager
def speaking(what: str) -> Iterator[None]:
    """Turn Spark's pages of traces into one sentence; a check that failed in a task stays a failed check."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        name, sentence = _cause(str(error))
        if name.startswith("shoal.errors."):
            raise (CheckFailed if name.endswith("CheckFailed") else MachineError)(sentence) from None
        if re.search("No module named '?shoal", sentence):
            raise MachineError(
                f"{what}: the workers' Python lacks shoal; install shoal-sdc {shoal.__version__} there, or "
                "ship an environment (spark.archives)"
            ) from None
        raise MachineError(f"{what}: {sentence or type(error).__name__}") from None


def _cause(text: str) -> tuple[str, str]:
    """The name and the sentence of what went wrong first: in Python if it was there, else in Java."""
    found = re.findall(r"^(?:Caused by: )?([\w.]+(?:Error|Exception|Failed)): *(\S.*)$", text, re.MULTILINE)
    java = ("org.", "java.", "scala.", "py4j.", "pyspark.")
    python = [pair for pair in found if not pair[0].startswith(java)]
    name, sentence = (python or found or [("", text.strip().partition("\n")[0])])[-1]
    return name, sentence.strip().rstrip(".")[:300]
