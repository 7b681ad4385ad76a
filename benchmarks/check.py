"""How long the independent check takes: `python -m benchmarks.check [RECORDS]`, ten columns, Parquet.

The release is made here from a seed: groups of five that publish ten columns, beside its original and one
untouched column. Each run is a process of its own, as `shoal check` is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import _common

COLUMNS = [f"c{j}" for j in range(10)]


def make(folder: Path, records: int) -> None:
    """An original and its release, written in pieces so that making them takes little memory."""
    rng = np.random.default_rng(0)
    piece = 500_000
    with (
        pq.ParquetWriter(folder / "original.parquet", _schema()) as original,
        pq.ParquetWriter(folder / "release.parquet", _schema()) as release,
    ):
        for begin in range(0, records, piece):
            n = min(piece, records - begin)
            labels = rng.permutation(np.arange(n) // 5)
            labels = np.minimum(labels, max(n // 5 - 1, 0))
            number = pa.array(np.arange(begin, begin + n))
            before, after = {"number": number}, {"number": number}
            sizes = np.bincount(labels)
            for name in COLUMNS:
                values = rng.normal(size=n)
                before[name] = values
                after[name] = (np.bincount(labels, values) / sizes)[labels]
            original.write_table(pa.table(before))
            release.write_table(pa.table(after))


def _schema() -> pa.Schema:
    return pa.schema([("number", pa.int64()), *((name, pa.float64()) for name in COLUMNS)])


def main(records: int = 10_000_000) -> None:
    print(_common.header(), f"load {os.getloadavg()[0]:.1f}")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, records)
        names = [word for column in COLUMNS for word in ("-c", column)]
        words = [sys.executable, "-m", "shoal", "check", str(folder / "release.parquet"), "-k", "5", *names]
        for title, more in (
            ("alone", []),
            ("with --original", ["--original", str(folder / "original.parquet")]),
        ):
            began = time.perf_counter()
            run = subprocess.Popen([*words, *more], stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(run.pid, 0)
            rows.append(
                {
                    "check": title,
                    "records": records,
                    "exit": os.waitstatus_to_exitcode(status),
                    "seconds": round(time.perf_counter() - began, 1),
                    "processor seconds": round(used.ru_utime + used.ru_stime, 1),
                    "peak GB": round(used.ru_maxrss * 1024 / 1e9, 2),
                }
            )
    print(_common.table(rows))
    print(_common.save("check", rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
