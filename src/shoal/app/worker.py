"""The process that computes: one task after another, told and answered in lines of JSON.

The page lives in another process and stays alive whatever happens here; cancelling a run kills this one.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from shoal.app.facts import release_facts, table_facts
from shoal.datasets import survey
from shoal.errors import InputError, ShoalError
from shoal.io.files import write as write_table
from shoal.io.origin import Origin
from shoal.io.source import frame_of
from shoal.plan import Plan
from shoal.release import Release
from shoal.report.model import BOUND_NEAR, BOUND_RECORDS, BOUND_SECONDS, own_bound, proof

TELL_EVERY = 0.1  # seconds between two words on progress

Tell = Callable[[str, Any], None]
_table = lru_cache(1)(frame_of)  # looked at again and again; the page never changes its file


def inspect(tell: Tell, path: str) -> Any:
    """What a table holds."""
    return table_facts(frame_of(path))


def tables(tell: Tell, path: str) -> Any:
    """The tables of a database in a file of SQLite, or the sheets of a workbook."""
    import sqlite3
    from contextlib import closing

    if path.endswith(".xlsx"):
        from shoal.io.formats.excel import sheets

        return sheets(Path(path))
    try:
        with closing(sqlite3.connect(Path(path).as_uri() + "?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            names = [name for (name,) in rows if len(name.split()) == 1 and not name.startswith("sqlite_")]
    except sqlite3.Error as error:
        raise InputError(f"{path!r} cannot be read as SQLite: {error}") from None
    if not names:
        raise InputError(f"{path!r} has no tables")
    return names


def demo(tell: Tell, path: str) -> Any:
    """Make the demo survey, as `shoal demo` does."""
    write_table(survey(), path)
    return inspect(tell, path)


def run(tell: Tell, path: str, plan: str, folder: str, bound: bool, tell_every: float = TELL_EVERY) -> None:
    """Carry out a plan. The release is kept in the folder; facts are told as soon as they are known."""
    from shoal import pipeline
    from shoal.bounds import no_bound

    last = 0.0

    def progress(fraction: float) -> None:
        nonlocal last
        if time.monotonic() - last > tell_every:
            last = time.monotonic()
            tell("progress", fraction)

    wanted = Plan.read(plan)
    if bound and (why := no_bound(wanted)) is not None:
        tell("bound", {"why": why})
    tell("stage", "grouping")
    release = pipeline.run(wanted, path, progress, strict=True)
    tell("stage", "measuring")
    facts = release_facts(release)
    in_file = isinstance(release.origin, Origin) and release.origin.whole
    kept = replace(release, original=None) if in_file else release  # without what the file has
    with (Path(folder) / "release.pickle").open("wb") as file:
        pickle.dump((kept, release.measured.results), file)
    tell("look", facts)
    if (known := own_bound(release)) is not None:
        tell("bound", known)
    elif bound and why is None and len(release.labels) <= BOUND_RECORDS:
        tell("stage", "proving")
        tell("bound", _prove(folder, release))


def advise(tell: Tell, path: str, plan: str, risk: float) -> dict[str, Any]:
    """Which k, as `shoal suggest` finds it."""
    from shoal.suggestion import suggest_plans

    return suggest_plans([Plan.parse(plan)], path, risk, None, progress=partial(tell, "progress")).facts()


def foresee(tell: Tell, path: str, plans: list[str]) -> None:
    """Say what runs of these plans would refuse."""
    from shoal.engines import memory

    for plan in plans:
        memory.foresee(Plan.parse(plan), _table(path))


def _prove(folder: str, release: Release) -> dict[str, Any]:
    try:
        bound = release.bound(BOUND_SECONDS, BOUND_NEAR)
    except ShoalError as error:
        return {"why": str(error)}
    (Path(folder) / "bound.pickle").write_bytes(pickle.dumps(bound))
    return proof(bound, release.information_loss)


def write(tell: Tell, folder: str, target: str) -> None:
    """Write the release of a run to a file, read back and checked as everywhere."""
    _stored(folder).write(target)


def report(tell: Tell, folder: str, target: str, edition: str, runs: list[dict[str, Any]]) -> None:
    """Write the report of a run; the internal one compares it with the other runs on the same columns."""
    from shoal.comparison import Comparison, Run, by_loss

    release = _stored(folder)
    proof = Path(folder) / "bound.pickle"
    options: dict[str, Any] = {"bound": pickle.loads(proof.read_bytes()) if proof.exists() else None}
    if edition == "internal":
        names = tuple(map(str, release.columns))
        tried = tuple(by_loss(Run(**facts) for facts in runs))
        options["comparison"] = Comparison(len(release.labels), names, tried, (), {})
        options["bound_time"] = None
    release.report(target, edition, **options)


def _stored(folder: str) -> Release:
    with (Path(folder) / "release.pickle").open("rb") as file:
        release, results = pickle.load(file)  # our own, from our own folder
    if release.original is None:
        release = replace(release, original=frame_of(release.origin.address).native)
    release.measured.results.update(results)
    return release


def warm(tell: Tell) -> None:
    """Load, and on a new machine compile, what every run needs, while a person still looks at the data."""
    from shoal import pipeline

    release = pipeline.run(Plan(3), survey(60))
    release_facts(release)
    release.bound(0.1)


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task for task in (inspect, tables, demo, run, advise, foresee, write, report, warm)
}


def main() -> None:
    """Work until the page closes our input, which also happens if it dies."""
    _limit_memory(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints does not disturb the answers
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    while True:
        answer(orders.get(), answers)


def _limit_memory(size: int) -> None:
    """Let no file take all of the machine's memory: what is too much is an error here."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard < 0 else min(size, hard), hard))


def answer(line: str, answers: TextIO) -> None:
    """Carry out one order, and tell what happens meanwhile and how it ended."""
    order = json.loads(line)
    number = order.pop("number")

    def tell(event: str, value: Any = None) -> None:
        answers.write(json.dumps({"number": number, "event": event, "value": value}) + "\n")
        answers.flush()

    try:
        tell("done", TASKS[order.pop("task")](tell, **order))
    except ShoalError as error:
        tell("failed", str(error))
    except MemoryError:
        tell("failed", "the memory does not suffice: close other programs, or protect fewer columns")
    except Exception as error:  # a file may break a reader in ways nobody foresaw
        tell("failed", f"this did not work ({type(error).__name__}: {str(error).splitlines()[:1]})")


def _listen(orders: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
