"""Sessions that outlive the server: settings and plans in a private file, and no record of a table.

A table is known again by its fingerprint: reopening asks for the file. Its runs are made again from their
plans, which gives the same releases.
"""

import json
import os
import re
import secrets
import stat
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MachineError, ShoalError
from shoal.io.atomic import AS_IT_IS, first_sentence, replacing
from shoal.plan import Plan

FORMAT = 1
LARGEST = 10_000_000  # bytes
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.json")


@dataclass(frozen=True)
class Saved:
    """One table of a session: how it is known again, what the form said, and the plan of each run."""

    name: str
    part: str  # "", or the sheet or table of the file
    sha256: str
    settings: str | None  # a plan
    runs: tuple[str, ...]  # plans
    prove: bool


def folder() -> Path:
    """Where this user's sessions are kept."""
    base = os.environ.get("XDG_STATE_HOME")
    return Path(base if base and os.path.isabs(base) else Path.home() / ".local/state", "shoal", "sessions")


def new_name() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.json"


def save(tables: list[Saved], name: str) -> Path:
    """Write a session, for its owner's eyes only (0600)."""
    place = folder()
    try:
        place.mkdir(0o700, parents=True, exist_ok=True)
        with replacing(place / name, private=True) as part:
            part.write_text(json.dumps({"shoal session": FORMAT, "tables": [*map(asdict, tables)]}))
    except OSError as error:
        raise MachineError(
            f"the session could not be kept in {str(place)!r}: {first_sentence(error)}"
        ) from None
    return place / name


def names() -> list[str]:
    """The saved sessions, newest first."""
    place = folder()
    there = os.listdir(place) if place.is_dir() else []
    return sorted((name for name in there if _NAME.fullmatch(name)), reverse=True)


def delete(name: str) -> None:
    if _NAME.fullmatch(name):
        (folder() / name).unlink(missing_ok=True)


def load(name: str) -> list[Saved]:
    """The tables of a saved session. Nothing in the file is believed: what is odd is refused."""
    if not _NAME.fullmatch(name):
        raise InputError("this is no saved session: choose one of the list")
    try:
        handle = os.open(folder() / name, os.O_RDONLY | AS_IT_IS)
        with open(handle, "rb") as file:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise InputError(f"the saved session {name} is no file: delete it")
            if os.name == "posix" and (facts.st_uid != os.getuid() or facts.st_mode & 0o077):
                raise InputError(
                    f"the saved session {name} is not private to you: delete it, or chmod 600 it"
                )
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"the saved session {name} cannot be read: {first_sentence(error)}") from None
    if len(text) > LARGEST:
        raise InputError(f"the saved session {name} is larger than the page ever writes: delete it")
    try:
        said = json.loads(text)
        if said["shoal session"] != FORMAT:
            raise ValueError
        return [_table(entry) for entry in said["tables"]]
    except (ValueError, KeyError, TypeError, RecursionError, ShoalError):
        words = "is damaged, or not of this version of shoal"
        raise InputError(f"the saved session {name} {words}: delete it") from None


def _table(entry: dict[str, Any]) -> Saved:
    """One table. Texts are texts, plans are plans, and nothing else is there."""
    table = Saved(**{**entry, "runs": tuple(entry["runs"])})
    texts = [table.name, table.part, *table.runs]
    if not all(isinstance(text, str) for text in texts) or not isinstance(table.prove, bool):
        raise ValueError
    if not re.fullmatch("[0-9a-f]{64}", table.sha256) or max(len(table.name), len(table.part)) > 500:
        raise ValueError
    for text in (*table.runs, *([] if table.settings is None else [table.settings])):
        Plan.parse(text)
    return table
