"""What a person waits for at the command line: `python -m benchmarks.waits [WORD..]`.

Each command runs in a process of its own; told are wall seconds and processor seconds, the least of some
runs. Name some rows (`cold`, `warm`, `suggest`, `report`, `demo`, `help`) to run only these. Compiled Python
is kept in a private folder, as it is in every installation.
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

COLUMNS = ("-c", "employees,turnover,wages")
#: Name: words, runs, whether kernels are compiled anew, goal in wall seconds on two idle cores.
WAITS = {
    "help": (("--help",), 3, False, 0.3),
    "warm": (("protect", "200.csv", *COLUMNS, "-k", "5", "-o", "o.csv"), 5, False, 1.2),
    "cold": (("protect", "200.csv", *COLUMNS, "-k", "5", "-o", "o.csv"), 1, True, 8),
    "report": (
        ("protect", "526.csv", *COLUMNS, "-k", "5", "-o", "o.csv", "--report", "r.html"),
        *(2, False, None),  # a bound that has less time, as it waits for the compiler, needs fewer kernels
    ),
    "suggest": (("suggest", "9275.csv", *COLUMNS, "--known", "", "--max-risk", "0.2"), 1, False, 30),
    "demo": (("demo",), 1, False, 60),
}


def main() -> None:
    from shoal.datasets import survey
    from shoal.io.files import write

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for records in (200, 526, 9275):
            write(survey(records, 1), folder / f"{records}.csv")
        rows = [one(row, folder) for row in sys.argv[1:] or WAITS]
    print(_common.header())
    print(_common.table(rows))
    print(_common.save("waits", rows))


def one(name: str, folder: Path) -> dict[str, object]:
    """The least seconds of a command; where kernels stay compiled, a first run makes them and is not told."""
    words, runs, anew, goal = WAITS[name]
    taken = [seconds(words, folder, folder / (f"cache{run}" if anew else "cache")) for run in range(runs + 1)]
    wall, cpu = (round(min(times), 2) for times in zip(*taken[1:]))
    return {"wait": name, "command": f"shoal {' '.join(words)}", "wall s": wall, "CPU s": cpu, "goal s": goal}


def seconds(words: tuple[str, ...], folder: Path, cache: Path) -> tuple[float, float]:
    told = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | told
    code = "import sys, shoal.cli; sys.argv[0] = 'shoal'; shoal.cli.main()"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):  # 1: `suggest` found none
        raise SystemExit(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
