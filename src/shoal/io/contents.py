"""What one reading of a file gives: its table, and its cells as they stand there; and which file it was."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa


class Contents(NamedTuple):
    """The Arrow table in a file. `cells` has every cell as it stands there, where the table holds less.

    Files of one `family` can be compared as they stand. Folders name the cells of the `keys`.
    """

    table: pa.Table
    cells: Any = None  # an Arrow table, or nothing
    family: str = ""
    keys: tuple[str, ...] = ()


def sha256(path: Path) -> str:
    """A fingerprint of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path) -> tuple[int, ...]:
    """Identity, size and time of change of a file; nothing where there is none."""
    if not path.is_file():
        return ()
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
