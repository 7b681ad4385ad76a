"""A first `protect` with kernels compiled beforehand: `python -m benchmarks.container`.

No container engine is needed: the steps of packaging/Containerfile that matter are run here, with a folder of
kernels of their own. Prints seconds by the clock and of the processor, without and with compiled kernels.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import _common

ROOT = Path(__file__).resolve().parents[1]
MOST = 3.0  # seconds, for a first `protect` in a fresh container on an idle machine


def main() -> None:
    programs = Path(sys.executable).parent
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        firms = folder / "firms.csv"
        code = f"import shoal; from shoal.datasets import survey; shoal.write(survey(200), {str(firms)!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
        protect = [programs / "shoal", "protect", firms, "-k", "5", "-c", "wages", "-c", "turnover"]
        protect += ["-o", folder / "safe.csv"]
        cold = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cold"), "NUMBA_CPU_NAME": "generic"}
        warm = {**cold, "NUMBA_CACHE_DIR": str(folder / "warm")}
        rows.append({"kernels": "compiled at the first run", **timed(protect, cold)})
        subprocess.run(["sh", ROOT / "packaging" / "warm.sh", programs], check=True, env=warm)
        rows.append({"kernels": "compiled beforehand", **timed(protect, warm)})
    print(_common.table(rows))
    print(_common.save("container", rows))
    sys.exit(0 if rows[1]["processor s"] < MOST else 1)


def timed(command: list, environment: dict[str, str]) -> dict[str, float]:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"clock s": round(time.perf_counter() - began, 2), "processor s": round(used, 2)}


if __name__ == "__main__":
    main()
