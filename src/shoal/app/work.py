"""A table on the page, and the runs on it."""

import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shoal.app.draft import Draft
from shoal.errors import InputError
from shoal.plan import Plan

DATABASES = (".db", ".sqlite", ".sqlite3")
ENDED = ("done", "failed", "cancelled")


@dataclass(eq=False)
class Run:
    """One plan on one table: how far it is, and what came out."""

    number: int
    plan: Plan
    draft: Draft
    folder: Path
    stage: str = "waiting"
    fraction: float | None = None
    began: float | None = None
    ended: float | None = None
    grouping_began: float | None = None
    facts: dict[str, Any] | None = None
    bound: dict[str, Any] | None = None
    error: str | None = None
    expected: float | None = None  # seconds, by the last run like this one

    @property
    def results(self) -> dict[str, Any]:
        """The facts of a run that has some."""
        if self.facts is None:
            raise InputError(f"{self.title} has no release yet: wait for it")
        return self.facts

    @property
    def over(self) -> bool:
        return self.stage in ENDED

    @property
    def title(self) -> str:
        return f"Run {self.number}"

    @cached_property
    def text(self) -> str:
        """The plan as a file. Every tab keeps it."""
        return self.plan.toml()

    @property
    def settings(self) -> str:
        return f"k = {self.plan.k}, {self.plan.method}, {len(self.plan.columns or ())} columns"

    @property
    def named(self) -> str:
        return f"{self.title}: {self.settings}"

    @property
    def elapsed(self) -> float:
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began

    @property
    def left(self) -> float | None:
        """An estimate of the seconds that grouping still takes, once a tenth of it is done."""
        if self.stage != "grouping" or not self.fraction or self.fraction < 0.1 or not self.grouping_began:
            return None
        spent = time.monotonic() - self.grouping_began
        return spent * (1 - self.fraction) / self.fraction


@dataclass(eq=False)
class Work:
    """A table and everything done with it."""

    number: int
    name: str  # as its owner calls it: shown, and never used as a path
    path: Path
    part: str  # "", or the sheet or table of the file: #Sheet 2!3
    facts: dict[str, Any]
    draft: Draft
    runs: list[Run] = field(default_factory=list)
    touched: bool = False  # whether a person has changed the settings since the guess

    @property
    def records(self) -> int:
        return self.facts["records"]

    def run(self, number: int) -> Run | None:
        """The finished run of that number, if there is one."""
        return next((run for run in self.finished if run.number == number), None)

    @property
    def finished(self) -> list[Run]:
        return [run for run in self.runs if run.facts is not None]

    @property
    def source(self) -> str:
        """What is read: the path, or a table in it."""
        if self.path.suffix in DATABASES:
            return f"sqlite:///{quote(str(self.path))}#{quote(self.part[1:])}"
        return f"{self.path}{self.part}"

    @property
    def address(self) -> str:
        """How its owner names it to Python and on the command line."""
        if self.path.suffix not in DATABASES:
            return self.name
        file, _, table = self.name.rpartition("#")
        return f"sqlite:///{quote(file)}#{quote(table)}"

    @property
    def stem(self) -> str:
        """A harmless name for downloads."""
        plain = re.sub(r"\.[A-Za-z0-9]+(\.(gz|zst))?(?=#|$)", "", self.name)
        return re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")[:60] or "table"
