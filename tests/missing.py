"""Programs that some tests need and this machine lacks."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.app_server import chromium


def haven() -> bool:
    """Whether R has its package for files of SPSS and Stata."""
    places = ("/usr/lib/R", "/usr/local/lib/R")
    return bool(shutil.which("Rscript")) and any(Path(p).glob("*/haven/DESCRIPTION") for p in places)


def program(name: str) -> str | None:
    """Where a program is, beside this Python or on the path."""
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def missing() -> list[str]:
    """A sentence for each: what is not tested, and which Debian package brings it."""
    postgresql = shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    needed = {
        "the web page in a real browser (apt-get install chromium)": chromium(),
        "the Spark engine (apt-get install openjdk-17-jre-headless)": shutil.which("java"),
        "files as R's haven reads them (apt-get install r-base-core r-cran-haven)": haven(),
        "PostgreSQL (apt-get install postgresql)": postgresql,
        "gs:// (pip install gcp-storage-emulator)": program("gcp-storage-emulator"),
        "abfs:// (npm install -g azurite)": program("azurite-blob"),
        "results of ADBC (pip install adbc-driver-sqlite)": find_spec("adbc_driver_sqlite"),
        "tables of Ibis (pip install ibis-framework[duckdb])": find_spec("ibis"),
    }
    return [f"NOT TESTED: {what}" for what, there in needed.items() if not there]
