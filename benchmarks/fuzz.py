"""Hostile files for every reader: `python -m benchmarks.fuzz [CASES] [SEED]`.

Good files of every format are cut, flipped, doubled and filled with noise, and then read and protected as the
command line would. Right is a release or one sentence; a traceback, a crash, an endless run or a gigabyte of
memory is wrong. The work is done in a child process: if it dies, or computes for a minute without an end, its
last case is reported.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _common

ENDINGS = ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "xlsx", "sav", "dta", "rds", "xpt"]
ENDINGS += ["sas7bdat"]
PIECES = [b"\0", b'"', b'""', b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b";", b",", b"\t", b"=1+1"]
PIECES += [
    b"1e999",
    b"-",
    b"nan",
    b"\xc3",
    b"\xe9",
    b"'",
    b"\x1a",
    b"NA",
    b"99999999999999999999",
    b"\x80\x81",
]


def samples(folder: Path) -> dict[str, bytes]:
    """A small good file of each format; of those that shoal only reads, just their first bytes."""
    import shoal
    from shoal.datasets import survey

    found = {}
    for ending in ENDINGS:
        path = folder / f"good.{ending}"
        if ending == "xpt":
            import pyreadstat

            pyreadstat.write_xport(survey(20).to_pandas().iloc[:, 2:5], str(path))
        elif ending == "sas7bdat":
            path.write_bytes(
                bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(900)
            )
        else:
            shoal.write(survey(20), path)
        found[ending] = path.read_bytes() if ending != "rds" else gzip.decompress(path.read_bytes())
    return found


def mutate(good: bytes, rng: random.Random) -> bytes:
    """One hostile variant of a file."""
    data = bytearray(good)
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 2000))
    if kind == 1:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 2:
        begin = rng.randrange(len(data))
        return bytes(data[:begin] + data[begin + rng.randrange(1, 50) :])
    if kind == 3:
        begin, end = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
        return bytes(data[:end] + data[begin:])
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        place = rng.randrange(len(data))
        if kind < 6:
            data[place] = rng.choice(
                [0, 255, 127, 128, data[place] ^ (1 << rng.randrange(8)), rng.randrange(256)]
            )
        else:
            data[place:place] = rng.choice(PIECES)
    return bytes(data)


def case(samples: dict[str, bytes], seed: int, number: int) -> tuple[str, bytes]:
    """The ending and content of one case, always the same for its seed and number."""
    rng = random.Random(f"{seed}/{number}")
    ending = ENDINGS[number % len(ENDINGS)]
    return ending, mutate(samples[ending], rng)


def attempt(path: Path, out: Path) -> str:
    """Protect one file as the command line would: "released", "refused" or what went wrong."""
    from typer.testing import CliRunner

    from shoal.cli.commands import app

    words = [
        "protect",
        str(path),
        "-k",
        "2",
        "-c",
        "turnover,wages,profit",
        "-m",
        "multi_dsort",
        "-o",
        str(out),
    ]
    result = CliRunner().invoke(app, words)
    if "Traceback" in result.stderr or "should not happen" in result.stderr:
        return result.stderr.strip().splitlines()[-1]
    if result.exit_code == 0:
        return "released"
    if result.exit_code not in (1, 2) or result.stderr.count("\n") != 1:  # 3: the memory for a small file
        return f"exit {result.exit_code}: {result.stderr!r} {result.exception!r}"
    return "refused" if result.exit_code == 2 else f"refused with {result.exit_code}"


def child(folder: Path, seed: int, begin: int, end: int, progress: Any = sys.stdout) -> None:
    """Run cases one after another; tell each before it begins, for a parent that outlives a crash."""
    good = samples(folder)
    for number in range(begin, end):
        ending, content = case(good, seed, number)
        path = folder / f"bad.{ending}"
        path.write_bytes(content)
        print(json.dumps({"case": number, "ending": ending}), file=progress, flush=True)
        outcome = attempt(path, folder / "out.csv")
        print(json.dumps({"outcome": outcome}), file=progress, flush=True)


CHILD = """
import resource, sys
from pathlib import Path
import shoal.pipeline, pyreadstat, fastexcel, rdata
from benchmarks.fuzz import child
resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))
child(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
"""


def fuzz(cases: int, seed: int = 0, patience: float = 60.0) -> tuple[dict[str, dict[str, int]], list[str]]:
    """So many cases: how often each format ended how, and everything that went wrong."""
    counts: dict[str, dict[str, int]] = {ending: {} for ending in ENDINGS}
    wrong, begin = [], 0
    while begin < cases:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", CHILD, folder, str(seed), str(begin), str(cases)]
            said, died = _listen(words, patience)
        for told in said:
            if "case" in told:
                now, begin = told, told["case"] + 1
                continue
            kind = told["outcome"]
            counts[now["ending"]][kind[:14]] = counts[now["ending"]].get(kind[:14], 0) + 1
            if not kind.startswith(("released", "refused")):
                wrong.append(f"case {now['case']} ({now['ending']}): {kind}")
        if said and "case" in said[-1]:
            counts[now["ending"]]["died"] = counts[now["ending"]].get("died", 0) + 1
            wrong.append(f"case {now['case']} ({now['ending']}): the process ended: {died}")
        elif begin < cases:
            raise RuntimeError(died)
    return counts, wrong


def _listen(words: list[str], patience: float) -> tuple[list[dict[str, Any]], str]:
    """What a child says until it ends, or has computed for too long since its last word.

    Its own time counts, for the machine may be busy; the clock decides only on one that waits for ever.
    """
    said, buffer = [], b""
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    assert run.stdout is not None
    assert run.stderr is not None
    began, asked = _seconds(run.pid), time.monotonic()
    while True:
        if not select.select([run.stdout], [], [], 1.0)[0]:
            if _seconds(run.pid) - began > patience or time.monotonic() - asked > 20 * patience:
                run.kill()
                run.wait()
                return said, f"silent for {patience} s"
            continue
        more = os.read(run.stdout.fileno(), 65536)
        if not more:
            break
        *lines, buffer = (buffer + more).split(b"\n")
        said += [json.loads(line) for line in lines]
        began, asked = _seconds(run.pid), time.monotonic()
    errors = io.TextIOWrapper(run.stderr).read()
    return said, f"status {run.wait()} {errors[-300:]}"


def _seconds(process: int) -> float:
    """The processor time that a process has taken."""
    facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


def main(cases: int = 20_000, seed: int = 0) -> None:
    print(_common.header())
    counts, wrong = fuzz(cases, seed)
    kinds = sorted({kind for found in counts.values() for kind in found})
    rows = [{"format": e, **{kind: found.get(kind, 0) for kind in kinds}} for e, found in counts.items()]
    print(_common.table(rows))
    print(*wrong, sep="\n")
    print(_common.save("fuzz", {"cases": cases, "seed": seed, "counts": rows, "wrong": wrong}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
