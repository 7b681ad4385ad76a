"""What the server knows: browsers' sessions, their tables, the runs on each, and who computes them."""

import asyncio
import contextlib
import itertools
import re
import secrets
import time
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shoal.app import saved
from shoal.app.crew import Stopped, Worker
from shoal.app.draft import Draft
from shoal.app.saved import Saved
from shoal.app.work import DATABASES, Run, Work
from shoal.errors import InputError, MachineError, ShoalError
from shoal.grouping.registry import methods
from shoal.io.contents import sha256
from shoal.io.formats import fixed
from shoal.plan import Plan

FORESEEN = 20.0  # seconds in which a table says why a run would fail; above, the run itself says it
LAYOUT = ".layout.csv"  # how the layout beside a file of fixed widths ends


@dataclass(eq=False)
class Session:
    """One browser."""

    reader: Worker  # one for each browser: a file that takes long keeps nobody else waiting
    #: What the browser has besides the cookie.
    key: str = field(default_factory=secrets.token_urlsafe, repr=False)
    tabs: dict[str, Any] = field(default_factory=dict)  # by the clients that were given the page
    works: list[Work] = field(default_factory=list)
    changes: int = 0  # grows with every change, so that tabs know when to look again
    saved_as: str = field(default_factory=saved.new_name)  # the name of its file, once it is saved
    layout: str = ""  # of files of fixed widths, as it was pasted or dropped
    waiting: list[Saved] = field(default_factory=list)  # tables of a reopened session that are not here yet

    def change(self) -> None:
        """Something has changed in a table or a run."""
        self.changes += 1
        self.tell()

    def tell(self) -> None:
        """Let every tab keep the newest plans at once, before the server can be gone."""
        for tab in self.tabs.values():
            tab.keep()


class Office:
    """All sessions, a queue of runs, and processes: for runs, for advice, for files, a reader a session.

    A table must be read in so many seconds.
    """

    def __init__(self, folder: Path, seconds: float = 300.0):
        self.folder, self.seconds = folder, seconds
        self.held = 0  # bytes of uploads
        self.sessions: dict[str, Session] = {}
        self._numbers = itertools.count(1)

    @contextlib.asynccontextmanager
    async def open(self, app: Any) -> AsyncIterator[None]:
        """Start with the server, end with it."""
        self.desk, self.runner, self.adviser = (Worker(self.folder) for _ in range(3))
        self.queue: asyncio.Queue[tuple[Session, Work, Run]] = asyncio.Queue()
        task = asyncio.create_task(self._carry_out())
        methods_known = asyncio.create_task(asyncio.to_thread(methods))  # imported before anybody asks
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, methods_known, return_exceptions=True)
            readers = [session.reader for session in self.sessions.values()]
            for worker in (self.desk, self.runner, self.adviser, *readers):
                await worker.stop()

    def new_session(self) -> str:
        name = secrets.token_urlsafe(24)
        self.sessions[name] = Session(Worker(self.folder))
        return name

    def place(self, ending: str) -> Path:
        """A new path in the private folder; nothing of it comes from outside but a known ending."""
        return self.folder / f"table-{next(self._numbers)}{ending}"

    def take_layout(self, session: Session, path: Path, name: str) -> None:
        """Keep the layout for the files of fixed widths that are dropped next."""
        try:
            fixed.layout_of(path)
        except ShoalError as error:
            raise _in_owners_words(error, path, name) from None
        session.layout = fixed.text_of(path)

    async def take_in(
        self, session: Session, path: Path, name: str, task: str = "inspect", row: int = 1
    ) -> Work:
        """Look at a file and put its tables on the session's desk; the first is given back.

        `row` has the names of columns in sheets of Excel. What is wrong is said with the owner's name for the
        file. A table that a reopened session waits for gets its settings back, and its runs are made again.
        """
        works, wrong = [], list[ShoalError]()
        try:
            _lay_out(session, path, name)
            known = await self._known(session, path)
            for part in await self._parts(session, path, row, known):
                try:
                    works.append(await self._look(session, path, name, part, task))
                except ShoalError as error:
                    if path.suffix != ".xlsx" or isinstance(error, MachineError):
                        raise
                    wrong.append(error)  # a sheet of notes, say; others may be tables
            if not works:
                raise wrong[0]
            for work in works:
                self._restore(session, work, known.get(work.part))
        except ShoalError as error:
            path.unlink(missing_ok=True)
            raise _in_owners_words(error, path, name) from None
        session.works += works
        session.change()
        return works[0]

    async def read_again(self, session: Session, work: Work, row: int) -> Work:
        """A sheet with the names of its columns in another row: in its place, or beside it if it has runs."""
        sheet, name = re.sub(r"!\d+$", "", work.part), work.name.removesuffix(work.part)
        part = f"{sheet or '#'}!{row}" if row > 1 else "" if sheet == "#" else sheet
        try:
            made = await self._look(session, work.path, name, part)
        except ShoalError as error:
            raise _in_owners_words(error, work.path, name) from None
        place = session.works.index(work)
        session.works[place : place + (not work.runs)] = [made]
        session.change()
        return made

    async def _look(self, session: Session, path: Path, name: str, part: str, task: str = "inspect") -> Work:
        """One table, and guesses about its columns."""
        work = Work(next(self._numbers), name + part, path, part, {}, Draft({}, {}))
        work.facts = await session.reader.do(task, seconds=self.seconds, path=work.source)
        if not work.records:
            raise InputError(f"{work.name!r} has no records: there is nothing to protect")
        work.draft = Draft.guessed(work.facts, demo=task == "demo")
        return work

    async def _known(self, session: Session, path: Path) -> dict[str, Saved]:
        """What a reopened session has of this file: each part that it knows."""
        if not session.waiting or not path.exists():
            return {}
        digest = await asyncio.to_thread(sha256, path)
        return {entry.part: entry for entry in session.waiting if entry.sha256 == digest}

    async def _parts(self, session: Session, path: Path, row: int, known: Collection[str]) -> list[str]:
        """The tables of a file: itself (""), tables of a database, sheets; or those that are known."""
        if path.suffix not in (*DATABASES, ".xlsx"):
            return [""]
        tables = await session.reader.do("tables", seconds=self.seconds, path=str(path))
        if path.suffix == ".xlsx" and len(tables) < 2:
            tables = [""]
        if chosen := [part for part in known if re.sub(r"!\d+$", "", part)[1:] in tables]:
            return chosen
        end = f"!{row}" if path.suffix == ".xlsx" and row > 1 else ""
        return [f"#{table}{end}" if table or end else "" for table in tables]

    def _restore(self, session: Session, work: Work, entry: Saved | None) -> None:
        """Give a table what a saved session says of it."""
        if entry is None:
            return
        session.waiting.remove(entry)
        guessed = work.draft
        guessed.prove = entry.prove
        if entry.settings is not None:
            work.draft, work.touched = guessed.following(Plan.parse(entry.settings)), True
        for text in entry.runs:
            self.submit(session, work, guessed.following(Plan.parse(text)))

    async def save(self, session: Session) -> Path:
        """Keep the session's settings and plans in a private file: one for each session, the newest."""
        tables = []
        for work in session.works:
            settings = None
            with contextlib.suppress(ShoalError):  # a form that is not complete makes no plan
                settings = work.draft.plan().toml() if work.touched else None
            digest = await asyncio.to_thread(sha256, work.path)
            runs = tuple(run.text for run in work.runs)
            name = work.name.removesuffix(work.part)
            tables.append(Saved(name, work.part, digest, settings, runs, work.draft.prove))
        return await asyncio.to_thread(saved.save, tables, session.saved_as)

    async def foresee(self, session: Session, work: Work, plans: list[str]) -> str:
        """Why a run of one of these plans would fail; nothing also where that cannot be told in time."""
        try:
            await session.reader.do("foresee", seconds=FORESEEN, path=work.source, plans=plans)
        except (InputError, MachineError, Stopped):
            return ""
        except ShoalError as error:
            return str(error).replace(str(work.path), work.name)
        return ""

    def submit(self, session: Session, work: Work, draft: Draft) -> Run:
        """Put a run into the queue."""
        folder = self.folder / f"run-{next(self._numbers)}"
        run = Run(len(work.runs) + 1, draft.plan(), draft.copy(), folder)
        folder.mkdir(mode=0o700)
        (folder / "plan.toml").write_text(run.text, encoding="utf-8")
        work.runs.append(run)
        session.change()
        self.queue.put_nowait((session, work, run))
        return run

    async def cancel(self, session: Session, run: Run) -> None:
        """Stop a run for good; a release that is already there stays."""
        if run.stage == "waiting":
            self._finish(session, run, "cancelled")
        elif not run.over:
            await self.runner.stop()  # whoever waits for the run hears that it was stopped

    async def _carry_out(self) -> None:
        """One run after another, those of all sessions in one line."""
        with contextlib.suppress(ShoalError):
            await self.runner.do("warm")
        while True:
            session, work, run = await self.queue.get()
            if run.over:
                continue
            run.stage, run.began = "reading", time.monotonic()
            for other in work.finished:
                if other.plan.method == run.plan.method and other.facts is not None:
                    run.expected = other.facts["outcome"]["seconds"]
            session.change()
            try:
                await self.runner.do(
                    "run",
                    partial(self._hear, session, run),
                    path=work.source,
                    plan=str(run.folder / "plan.toml"),
                    folder=str(run.folder),
                    bound=run.draft.prove,
                )
            except Stopped:
                self._finish(session, run, "cancelled" if run.facts is None else "done")
            except ShoalError as error:
                run.error = str(error).replace(str(work.path), work.name)
                self._finish(session, run, "failed")
            else:
                self._finish(session, run, "done")

    def _hear(self, session: Session, run: Run, event: str, value: Any) -> None:
        if run.over:
            return
        if event == "stage":
            run.stage, run.fraction = value, None
            if value == "grouping":
                run.grouping_began = time.monotonic()
        elif event == "progress":
            run.fraction = value
            return  # tabs look at progress by themselves
        elif event == "look":
            run.facts = value
        elif event == "bound":
            run.bound = value
        session.change()

    def _finish(self, session: Session, run: Run, stage: str) -> None:
        if not run.over:
            run.stage, run.ended = stage, time.monotonic()
            session.change()


def _lay_out(session: Session, path: Path, name: str) -> None:
    """Put the layout beside a file of fixed widths."""
    if path.suffix not in fixed.ENDINGS:
        return
    if not session.layout.strip():
        raise InputError(
            f"{name!r} has columns of fixed widths: drop its layout (such as people{LAYOUT}) first, or "
            "with it, or paste it below the place for files"
        )
    path.with_suffix(LAYOUT).write_text(session.layout, encoding="utf-8")


def _in_owners_words(error: ShoalError, path: Path, name: str) -> ShoalError:
    """The same error, with the names that the owner of a file has for it and its layout."""
    words = str(error).replace(str(path.with_suffix(LAYOUT)), "the layout")
    return type(error)(words.replace(str(path), name).replace(path.name, name))
