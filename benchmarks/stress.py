"""Kill `shoal protect` at random moments: `python -m benchmarks.stress [KILLS] [SEED]`.

After each SIGKILL the output must be what it was before (an older release, or nothing) or the complete new
one; the next run must sweep away what the killed one left. Half of the kills are spread over a whole run,
half over the time in which something unfinished lies beside the output. Runs are forked from a process that
has made such a release before: so they spend their time on work, and not on loading and compiling.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import _common

#: Runs its own words; then starts a child for each line of words that it reads, tells its number, and after
#: another line how it ended.
SERVER = """
import json, os, sys
import shoal.cli

def run():
    try:
        shoal.cli.main()
    except SystemExit as end:
        return end.code or 0
    return 0

if run():
    sys.exit("the first run failed")
while line := sys.stdin.readline():
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        sys.argv = ["shoal", *json.loads(line)]
        os._exit(run())
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
PROTECT = ("-k", "3", "-c", "turnover", "-c", "wages", "-m", "multi_dsort")
DISK = ("--engine", "disk", "--replace")
#: What is written -> input, output, whether an older release is there before, more words.
CASES: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "a new CSV file": ("in.csv", "out.csv", False, ()),
    "a CSV file, replaced": ("in.csv", "out.csv", True, ()),
    "a Parquet file, replaced": ("in.parquet", "out.parquet", True, ()),
    "disk engine, a file, replaced": ("in.parquet", "out.parquet", True, DISK),
    "disk engine, a folder, replaced": ("in.parquet", "out", True, DISK),
}


class Runs:
    """The process that forks runs, and what can be done with one."""

    def __init__(self, process: subprocess.Popen[str], words: list[str], hidden: str, folder: Path):
        self._process, self._words, self._hidden, self._folder = process, words, hidden, folder

    def _say(self, line: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def whole(self) -> tuple[float, float]:
        """An undisturbed run: when something unfinished appeared, and when it was done."""
        began = time.perf_counter()
        process = self._say(json.dumps(self._words))
        self._wait_for_part(process)
        seen = time.perf_counter() - began
        assert self._say("") == 0, "an undisturbed run failed"
        return seen, time.perf_counter() - began

    def kill(self, writing: bool, wait: float) -> bool:
        """Begin a run, wait (from when it writes), kill it; False if it was done by then."""
        process = self._say(json.dumps(self._words))
        if writing:
            self._wait_for_part(process)
        time.sleep(wait)
        os.kill(process, signal.SIGKILL)  # nobody has asked for it yet, so the number is still its own
        return self._say("") == -signal.SIGKILL

    def parts(self) -> set[Path]:
        return set(self._folder.glob(self._hidden))

    def _wait_for_part(self, process: int) -> None:
        before = self.parts()
        while self.parts() <= before and not _ended(process):
            time.sleep(0.0005)


def _ended(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@contextmanager
def runs(words: list[str], target: Path, first: list[str]) -> Iterator[Runs]:
    """Runs of the same words, forked from a process that has run the `first`."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *first],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "SHOAL_THREADS": "1"},  # no threads when it forks
    ) as process:
        yield Runs(process, words, f".{target.name}.*.part", target.parent)
        assert process.stdin is not None
        process.stdin.close()


def content(path: Path) -> Any:
    """All bytes of a file or a folder, of a manifest only what it says of the parts; None if none is."""
    if not path.is_dir():
        return path.read_bytes() if path.exists() else None
    found: dict[str, Any] = {part.name: part.read_bytes() for part in path.iterdir()}
    found["_manifest.json"] = json.loads(found["_manifest.json"])["parts"]
    return found


def put(old: Path | None, target: Path) -> None:
    """Put a copy of the older release, or nothing, where the output goes."""
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    if old is not None:
        (shutil.copytree if old.is_dir() else shutil.copyfile)(old, target)


def stress(what: str, kills: int, seed: int = 0, records: int = 4000) -> dict[str, int]:
    """Kill so many runs; how each ended, and what was left of it."""
    import shoal
    from shoal.datasets import survey

    rng = random.Random(f"{seed}/{what}")
    source, target, replaced, more = CASES[what]
    found = dict.fromkeys(("kills", "old", "new", "broken", "done before", "left something"), 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shoal.write(survey(records), folder / source)
        words = ["protect", str(folder / source), *PROTECT, *more, "-o"]
        place, older = folder / target, folder / f"older-{target}"
        with runs([*words, str(place)], place, [*words, str(older), "-k", "5"]) as run:
            stages = [run.whole() for _ in range(3)]
            writing, end = min(stage[0] for stage in stages), sorted(stage[1] for stage in stages)[1]
            new, old = content(place), content(older) if replaced else None
            assert new not in (old, None)
            while found["kills"] < kills:
                put(older if replaced else None, place)
                before, half = run.parts(), rng.random() < 0.5
                if not run.kill(half, rng.uniform(0, 1.1 * (end - writing) if half else end)):
                    found["done before"] += 1
                    assert content(place) == new
                    assert not run.parts(), "a run that ended well left a part or did not sweep"
                    continue
                found["kills"] += 1
                found["left something"] += bool(run.parts() - before)
                found[_judged(place, old, new)] += 1
            run.whole()
            assert content(place) == new
            known = {folder / source, place, older}
            known |= {Path(f"{path}.private.json") for path in (place, older)}  # for the owner of a folder
            found["left after the last run"] = len(set(folder.iterdir()) - known)
    return found


def _judged(place: Path, old: Any, new: Any) -> str:
    try:
        now = content(place)
    except (OSError, ValueError, KeyError):
        return "broken"
    return "new" if now == new else "old" if now == old else "broken"


def main(kills: int = 200, seed: int = 0) -> None:
    print(_common.header(), f"load {os.getloadavg()[0]:.1f}")
    began = time.perf_counter()
    rows = [{"what is written": what, **stress(what, kills // len(CASES), seed)} for what in CASES]
    print(_common.table(rows))
    print(f"{sum(row['kills'] for row in rows)} kills in {time.perf_counter() - began:.0f} s")
    print(_common.save("stress", rows))
    if any(row["broken"] or row["left after the last run"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
