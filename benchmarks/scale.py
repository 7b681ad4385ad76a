"""Seconds, peak memory and loss from 200,000 records up, in memory, on disk and on Spark.

    python -m benchmarks.scale --rows 200000,1000000 --engine memory,disk,spark
    python -m benchmarks.scale --rows 1000000 --workers 1,2,4
    python -m benchmarks.scale --runs 1000000:memory:auto 10000000:disk:optimise:0.02

The table is like SIM (200 clusters, spread 0.1, ten columns), written batch by batch. Each run is a process
of its own; its peak memory is the largest sum over that process and all its children, Spark's Java machines
and Python workers among them, seen five times a second. "of all cores" is processor time, which a busy
machine changes less than the seconds on the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import header, save, table

COLUMNS, CLUSTERS, SPREAD, BATCH = 10, 200, 0.1, 500_000


def generate(path: Path, rows: int, seed: int = 0) -> None:
    """The table as Parquet, one batch in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    centres = rng.uniform(-1, 1, (CLUSTERS, COLUMNS))
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, BATCH):
            count = min(BATCH, rows - begin)
            X = rng.normal(centres[rng.integers(CLUSTERS, size=count)], SPREAD)
            writer.write_table(pa.table(list(X.T), schema=schema), row_group_size=100_000)


def tree_usage(root: int, seconds: dict[int, float]) -> int:
    """Resident bytes of a process and all that descend from it; `seconds` learn what each has computed."""
    parents, sizes, used = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            process = int(entry.name)
            parents[process], sizes[process] = int(words[1]), int(words[21])
            used[process] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        seconds[process] = used.get(process, seconds.get(process, 0.0))
        waiting += [child for child, parent in parents.items() if parent == process]
    return total * os.sysconf("SC_PAGE_SIZE")


def measure(
    engine: str, source: Path, k: int, master: str, method: str, effort: float | None
) -> dict[str, Any]:
    """One run of `shoal protect` in a process of its own."""
    with tempfile.TemporaryDirectory(dir=source.parent) as place:
        command = [sys.executable, "-m", "shoal", "protect", str(source), "-k", str(k), "-m", method]
        command += ["--engine", engine, "--json", "-o", f"{place}/out"]
        command[-1] += ".parquet" if engine == "memory" else ""
        command += ["--master", master] if engine == "spark" else []
        command += [] if effort is None else ["--set", f"effort={effort}"]
        log = Path(place) / "log"
        began, peak, computed = time.perf_counter(), 0, dict[int, float]()
        with log.open("w") as errors, (Path(place) / "json").open("w") as answers:
            process = subprocess.Popen(command, stdout=answers, stderr=errors)
            ended = status = 0
            while not ended:
                peak = max(peak, tree_usage(process.pid, computed))
                time.sleep(0.2)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(
                f"{' '.join(command)}\nended with {process.returncode}:\n{log.read_text()[-2000:]}"
            )
        outcome = json.loads((Path(place) / "json").read_text())
        digest = rows_digest(Path(command[command.index("-o") + 1])) if engine == "spark" else ""
    return {
        "records": outcome["records"],
        "engine": engine,
        "method": method if effort is None else f"{method}, effort {effort}",
        "blocks": outcome.get("blocks", 1),
        "seconds": round(seconds, 1),
        "of all cores": round(
            sum(computed.values()) if engine == "spark" else usage.ru_utime + usage.ru_stime, 1
        ),
        "peak GiB": round(peak / 2**30, 2),
        "loss %": round(outcome["information_loss"], 4),
        "smallest group": outcome["smallest_group"],
        "master": master if engine == "spark" else "",
        "rows": digest,
    }


def rows_digest(folder: Path) -> str:
    """A few letters that stand for all rows of a release in their order."""
    import pyarrow.parquet as pq

    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.parquet")):
        digest.update(np.column_stack([column.to_numpy() for column in pq.read_table(path).columns]).data)
    return digest.hexdigest()[:8]


class Run(NamedTuple):
    """What is measured in one process."""

    rows: int
    engine: str
    method: str
    effort: float | None
    master: str


def asked(text: str, master: str) -> Run:
    """One run as the command line names it."""
    rows, engine, method, *effort = text.split(":")
    return Run(int(rows), engine, method, float(effort[0]) if effort else None, master)


def crossed(options: argparse.Namespace) -> list[Run]:
    """Every number of records with every engine, or with every number of Spark's workers."""
    places = [(engine, options.master) for engine in options.engine.split(",")]
    if options.workers:
        places = [("spark", f"local-cluster[{workers},1,2048]") for workers in options.workers.split(",")]
    return [
        Run(rows, engine, options.method, options.effort, master)
        for rows in map(int, options.rows.split(","))
        for engine, master in places
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="200000", help="numbers of records, separated by commas")
    parser.add_argument("--engine", default="memory,disk", help="memory, disk, spark, separated by commas")
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    parser.add_argument("--workers", default=None, help="numbers of them, each in a cluster of its own")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--effort", type=float, default=None, help="of the method optimise")
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--folder", default=None, help="where the tables are put meanwhile")
    parser.add_argument(
        "--runs",
        nargs="+",
        metavar="ROWS:ENGINE:METHOD[:EFFORT]",
        help="instead of rows, engine, method, effort",
    )
    options = parser.parse_args()
    runs = [asked(text, options.master) for text in options.runs] if options.runs else crossed(options)
    print(header(), flush=True)
    found: list[dict[str, Any]] = []
    folder = Path(tempfile.mkdtemp(prefix="shoal-scale-", dir=options.folder))
    try:
        written = 0
        for run in runs:
            source = folder / "table.parquet"
            if run.rows != written:
                generate(source, run.rows)
                written = run.rows
            found.append(measure(run.engine, source, options.k, run.master, run.method, run.effort))
            first = next(row for row in found if row["records"] == run.rows)
            found[-1][f"loss against {first['engine']}"] = (
                f"{100 * (found[-1]['loss %'] / first['loss %'] - 1):+.2f} %"
            )
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    print(table(found))
    print(f"written to {save('scale', found)}")


if __name__ == "__main__":
    main()
