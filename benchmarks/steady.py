"""Are the tests that wait for others steady? `python -m benchmarks.steady [TIMES]`, 20 times unless said.

Runs the tests of the page in its browser, of Spark and of faults (killed processes, full disks, servers
that stop) again and again, each test once a run and none repeated, and stops at the first run with a failure.
Each run is told with what pytest counted; the load of the machine says how much else was going on meanwhile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import _common

PARTS = {
    "browser": ("tests/app/test_browser.py", "tests/app/test_guard.py", "tests/app/test_worker.py"),
    "Spark": tuple(map(str, sorted(Path("tests/engines").glob("test_spark*.py")))),
    "faults": (
        *("tests/io/test_atomic.py", "tests/io/test_private.py", "tests/io/test_databases.py"),
        *("tests/io/test_stores.py", "tests/io/test_hostile_files.py", "tests/cli/test_console.py"),
    ),
}


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    rows: list[dict[str, object]] = []
    for number in range(1, times + 1):
        rows.append(one(number))
        _common.save("steady", rows)
        print(rows[-1], flush=True)
        if rows[-1]["exit"] != 0:
            sys.exit(f"run {number} failed; its output is in {_common.OUT / 'steady.txt'}")
    print(_common.header())
    print(_common.table(rows))


def one(number: int) -> dict[str, object]:
    """One run of all parts; the words of pytest are kept until the next one."""
    files = [file for part in PARTS.values() for file in part]
    how = ("-n", "6", "--dist", "loadfile", "--no-loadscope-reorder")
    command = [sys.executable, "-m", "pytest", *how, *files]
    began = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True)
    _common.OUT.mkdir(exist_ok=True)
    (_common.OUT / "steady.txt").write_text(run.stdout + run.stderr)
    counted = re.findall(r"(\d+) (passed|failed|error|skipped)", (run.stdout.splitlines() or [""])[-1])
    found = {word: int(count) for count, word in counted}
    return {
        "run": number,
        "exit": run.returncode,
        **{word: found.get(word, 0) for word in ("passed", "failed", "error", "skipped")},
        "wall s": round(time.perf_counter() - began),
        "load": round(os.getloadavg()[2], 1),
    }


if __name__ == "__main__":
    main()
