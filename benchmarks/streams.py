"""How much memory the check and the measures of a large file take: python -m benchmarks.streams.

The table has eight columns to protect, a text and a whole number; the release is made of runs of five records
of a sorted order, shuffled as a release of its plan is. `--format` says what both files are; a text has
numbers of six decimals. `protect` makes one of its own, of one column, with a report. Each command runs in a
process of its own.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from benchmarks._common import save
from shoal.frame.order import file_order
from shoal.plan import Plan


def make(rows: int, names: list[str], folder: Path, ending: str) -> None:
    """Write was.ENDING, safe.ENDING and plan.toml."""
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=rows) for name in names}
    columns |= {name: np.exp(columns[name]) for name in names[::2]}
    if ending != "parquet":
        columns = {name: column.round(6) for name, column in columns.items()}
    regions = pa.array([f"region {j}" for j in range(12)])
    kept = {"region": regions.take(pa.array(rng.integers(0, 12, rows))), "size": rng.integers(0, 5, rows)}
    original = pa.table({**columns, **kept})
    labels = np.empty(rows, np.int64)
    order = np.lexsort([columns["x1"], np.floor(columns["x0"] * 10)])
    labels[order] = np.minimum(np.arange(rows) // 5, rows // 5 - 1)
    sizes, plan = np.bincount(labels), Plan(5, columns=names)
    means = {name: (np.bincount(labels, columns[name]) / sizes)[labels] for name in names}
    write(original, folder / f"was.{ending}")
    released = pa.table({**means, **kept}).take(file_order(original, plan, names))
    write(released, folder / f"safe.{ending}")
    (folder / "plan.toml").write_text(plan.toml())


def write(table: pa.Table, path: Path) -> None:
    """Write a table; a text as shoal writes it."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        shoal.write(table, path)


def run(folder: Path, *words: str) -> dict[str, float]:
    """What one command of shoal took: processor seconds, and resident memory at its peak."""
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "shoal", *words])
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"shoal {' '.join(words)} failed")
    return {"processor_seconds": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[3_000_000, 10_000_000])
    parser.add_argument("--what", nargs="*", default=["check", "measure"], help="check, measure, protect")
    parser.add_argument("--columns", type=int, default=8, help="to protect, two or more; two others are kept")
    parser.add_argument("--format", default="parquet", choices=["parquet", "csv", "csv.gz", "csv.zst"])
    parser.add_argument(
        "--engine", default="disk", help="that protects; of spark, what Python takes at the driver"
    )
    asked = parser.parse_args()
    names = [f"x{j}" for j in range(asked.columns)]
    found = []
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if not os.fork():  # what made the files is no part of what is measured
                make(rows, names, folder, asked.format)
                os._exit(0)
            os.wait()
            files = (f"was.{asked.format}", f"safe.{asked.format}", "plan.toml")
            was, safe, plan = (str(folder / file) for file in files)
            out, report = (str(folder / name) for name in ("out", "report.html"))
            place = f"--engine={asked.engine}"
            commands = {
                "check": ["check", safe, "--original", was, "--plan", plan],
                "measure": ["measure", was, safe, "--plan", plan, "--report", report],
                # One column to protect: its groups are found in a moment, and what is measured is the report.
                "protect": ["protect", was, "-k5", "-cx0", place, "-o", out, "--report", report],
            }
            for what in asked.what:
                facts = run(folder, *commands[what])
                size, seconds = f"{rows:,} records x {len(names) + 2}", facts["processor_seconds"]
                print(
                    f"{what}, {asked.format}, {size}: {seconds:.1f} processor s, {facts['peak_mib']:.0f} MiB",
                    flush=True,
                )
                found.append(
                    {
                        "what": what,
                        "format": asked.format,
                        "records": rows,
                        "columns": len(names) + 2,
                        **facts,
                    }
                )
    save("streams", found)


if __name__ == "__main__":
    main()
