"""Kill `shoal protect` at random moments: `python -m benchmarks.stress [KILLS] [SEED]`.

The output exists before. After each SIGKILL it must be the old file or the complete new one; the next run
must sweep away what the killed one left. Half of the kills are spread over the whole life of a process, half
over the moments in which it writes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _common

SCRIPT = """
import os, sys
from shoal.pipeline import microaggregate
import shoal
source, target, ending = sys.argv[1:4]
print("ready", flush=True)
release = microaggregate(source, 3, columns=["turnover", "wages"], method="multi_dsort")
print("writing", flush=True)
release.write(target)
print("written", flush=True)
"""


def stress(kills: int, seed: int = 0, ending: str = "csv", records: int = 20_000) -> dict[str, Any]:
    """Kill so many runs; how each ended. `part files` were left by the killed and swept by the next run."""
    import shoal
    from shoal.datasets import survey

    rng = random.Random(seed)
    found = {"kills": 0, "old file": 0, "new file": 0, "broken": 0, "finished before": 0, "part files": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = folder / f"in.{ending}", folder / f"out.{ending}"
        shoal.write(survey(records), source)
        words = [sys.executable, "-c", SCRIPT, str(source), str(target), ending]
        begin = _stages(words)
        new = shoal.read(target)
        old = b"the old file, which is as good as the new one\n"
        while found["kills"] < kills:
            target.write_bytes(old)
            parts = len(list(folder.glob(".*.part")))
            early = rng.random() < 0.5
            wait = rng.uniform(0, begin["written"] if early else 1.2 * (begin["written"] - begin["writing"]))
            killed = _kill(words, None if early else "writing", wait)
            if not killed:
                found["finished before"] += 1
                assert not list(folder.glob(".*.part")), "a run that ended well left a part or did not sweep"
                continue
            found["kills"] += 1
            found["old file" if target.read_bytes() == old else _new_or_broken(target, new)] += 1
            found["part files"] += len(list(folder.glob(".*.part"))) > parts
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        assert _new_or_broken(target, new) == "new file"
        left = [path.name for path in folder.iterdir() if path not in (source, target)]
        found["left after the next run"] = len(left)
    return found


def _new_or_broken(target: Path, new: Any) -> str:
    import shoal

    try:
        return "new file" if shoal.read(target).equals(new) else "broken"
    except shoal.errors.InputError:
        return "broken"


def _stages(words: list[str]) -> dict[str, float]:
    """When an undisturbed run begins to write, and when it is done."""
    began = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        return {line.strip(): time.perf_counter() - began for line in run.stdout}


def _kill(words: list[str], stage: str | None, wait: float) -> bool:
    """Start a run, wait for a stage and then so many seconds, and kill it; False if it was done by then."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        while stage and (line := run.stdout.readline()) and line.strip() != stage:
            pass
        time.sleep(wait)
        run.send_signal(signal.SIGKILL)
    return run.returncode == -signal.SIGKILL


def main(kills: int = 200, seed: int = 0) -> None:
    print(_common.header(), f"load {os.getloadavg()[0]:.1f}")
    endings = ["csv", "parquet", "xlsx", "dta"]
    rows = [
        {"format": e, **stress(kills // len(endings), seed, e, 4000 if e == "xlsx" else 20_000)}
        for e in endings
    ]
    print(_common.table(rows))
    print(_common.save("stress", rows))
    if any(row["broken"] or row["left after the next run"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
