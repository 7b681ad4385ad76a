"""What every benchmark prints and writes."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"
#: The folder of the papers' tables; docs/results.md tells how to get them.
DATA = Path(
    os.environ.get("SHOAL_BENCHMARK_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
).resolve()


def header() -> str:
    """Machine and versions, for the first line of every outcome."""
    import numba
    import numpy

    cpu = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((x.split(":")[1].strip() for x in info.read_text().splitlines() if "model name" in x), cpu)
    return (
        f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"numpy {numpy.__version__}, numba {numba.__version__}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of like keys as a Markdown table."""
    keys = list(rows[0])
    cells = [[str(row.get(key, "")) for key in keys] for row in rows]
    lines = [keys, ["---"] * len(keys), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def save(name: str, outcome: Any) -> Path:
    """Write the outcome, with command, day, machine and versions, as JSON."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    command = shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]])
    facts = {"command": command, "date": str(datetime.date.today()), "machine": header(), "outcome": outcome}
    path.write_text(json.dumps(facts, indent=1))
    return path
