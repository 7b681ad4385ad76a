"""What one open tab shows: a table of its browser's session, a step, a run, settings of its own."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import shoal
from shoal.app.draft import Draft
from shoal.app.markup import sentence
from shoal.app.office import Office, Session
from shoal.app.work import Run, Work
from shoal.errors import InputError, ShoalError, too_few

Plan = tuple[str, str, str]  # its name, the name of its file, the file
STEPS = {"data": "Data", "settings": "Settings", "run": "Run", "look": "Look", "take": "Take away"}


@dataclass
class Wait:
    """Something that a person waits for."""

    words: str
    began: float
    stop: Callable[[], Any] | None = None  # how it is cancelled, if it can be
    fraction: float | None = None


class Tab:
    """The state behind one tab. Another tab of the same browser sees the same tables and runs."""

    def __init__(self, office: Office, session: Session, upload_limit: int):
        self.office, self.session, self.upload_limit = office, session, upload_limit
        self.work: Work | None = None
        self.draft = Draft({}, {})
        self.step = "data"
        self.shown: Run | None = None  # the run that is looked at
        self.beside: Run | None = None  # and the one beside it
        self.column = 0  # whose distribution is shown
        self.edited = 0  # whose fields are shown in step 2
        self.advice: dict[int, Any] = {}  # table -> which k was suggested, and why
        self.wait: Wait | None = None
        self.warned = False  # whether what is shown above the step is about the settings
        self.here = False
        self.refresh: Callable[[], None] = lambda: None
        self.keep: Callable[[], None] = lambda: None  # hands the browser the newest plans
        self.announce: Callable[[str, bool], None] = lambda sentence, bad: None
        self.changed: Callable[[], None] | None = None  # called when the session has changed
        self.tick: Callable[[], None] | None = None  # called again and again while the step is shown
        if session.works:
            self._enter(session.works[-1])

    @property
    def table(self) -> Work:
        """The table of this tab. All steps but the first are closed while there is none."""
        if self.work is None:
            raise InputError("there is no table yet: begin with step 1")
        return self.work

    def finished_run(self) -> Run:
        """The run that is looked at, or the last one."""
        if self.shown is None or self.shown not in self.table.finished:
            self.shown = self.table.finished[-1]
        return self.shown

    def _enter(self, work: Work) -> None:
        self.work, self.draft = work, work.draft.copy()
        self.shown = work.finished[-1] if work.finished else None
        self.beside = None
        self.column = self.edited = 0

    def come(self, here: bool) -> None:
        """The browser is there, for the first time or again; or it has closed the tab, or lost the way."""
        self.here = here

    def open_work(self, number: int, step: str | None = None) -> None:
        """Show another table of this session."""
        work = next((work for work in self.session.works if work.number == number), None)
        if work is not None and (work is not self.work or step):
            if work is not self.work:
                self._enter(work)
            self.go(step if step or self.open(self.step) else "data")

    def open(self, step: str) -> bool:
        """Whether there is something to show in a step."""
        if step == "data":
            return True
        if self.work is None:
            return False
        return step in ("settings", "run") or bool(self.work.finished)

    def closed(self) -> str:
        """Which steps have nothing to show yet, and why."""
        if self.work is None:
            return "Steps 2 to 5 open with a table."
        return "" if self.work.finished else "Steps 4 and 5 open when a run has finished."

    def wrong(self) -> str:
        """Why no run can be started, or nothing."""
        try:
            k = self.draft.plan().k
            if k > self.table.records:
                raise too_few(k, self.table.records)
        except ShoalError as error:
            return sentence(error)
        return ""

    def check(self) -> None:
        """Say what is wrong with the settings as soon as it is."""
        wrong = self.wrong()
        if wrong or self.warned:
            self.announce(wrong, True)
        self.warned = bool(wrong)

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Show what goes wrong within; what follows there is then left out."""
        try:
            yield
        except ShoalError as error:
            self.say(error, bad=True)

    @contextmanager
    def working(self, words: str, stop: Callable[[], Any] | None = None) -> Iterator[None]:
        """Show that something is under way, and for how long, until it is done."""
        self.announce("", False)
        self.wait = Wait(words, time.monotonic(), stop)
        try:
            yield
        finally:
            self.wait = None

    def progress(self, event: str, value: Any) -> None:
        """How far it is."""
        if self.wait is not None and event == "progress":
            self.wait.fraction = value

    def go(self, step: str | None) -> None:
        """Show a step."""
        self.step = step or self.step
        self.announce("", False)
        self.warned = False
        self.changed = None
        tabs = [tab for tab in self.session.tabs.values() if tab.here and tab.work is self.work]
        if self.work is not None and len(tabs) > 1 and self.step != "data":
            self.announce(
                "This table is open in another tab too. Runs appear in both; settings are each tab's own.",
                False,
            )
        self.refresh()

    def say(self, words: Any, bad: bool = False) -> None:
        """Show one sentence, with its full stop."""
        self.announce(sentence(words), bad)

    def save_draft(self) -> None:
        """Remember the settings for when the page is loaded again, and let the browser keep them."""
        if self.work is not None:
            self.work.draft, self.work.touched = self.draft.copy(), True
            self.session.tell()

    def plans(self) -> dict[str, Plan]:
        """Every plan of this browser, newest first: each run's, and each form's that a person has changed."""
        plans: dict[str, Plan] = {}
        for work in reversed(self.session.works):
            table = f"{work.name}, " if len(self.session.works) > 1 else ""
            if work.touched:
                draft = self.draft if work is self.work else work.draft
                with suppress(ShoalError):  # the form is not complete: it makes no plan
                    text = draft.plan().toml()
                    if all(text != run.text for run in work.runs):
                        plans[f"{work.number}"] = f"{table}Settings", f"{work.stem}.plan.toml", text
            for run in reversed(work.runs):
                file = f"{work.stem}.run-{run.number}.toml"
                plans[f"{work.number}.{run.number}"] = f"{table}{run.named}", file, run.text
        return plans

    def follow(self, text: str) -> None:
        """Fill in the form as a plan says, which somebody opened."""
        with self.saying():
            self.draft = self.draft.following(shoal.Plan.parse(text))
            self.save_draft()
            self.go("settings")
            self.say("The form says what the plan says")

    def back_to(self, run: Run) -> None:
        """Go back to a run: look at it, with its settings in the form again."""
        self.shown = run
        if self.beside is run:
            self.beside = None
        self.draft = run.draft.copy()
        self.save_draft()
