"""Private folders: only their owner can look into them, and none stays behind for good."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shoal.io.atomic import new_part, remove_folder, sweep


@contextlib.contextmanager
def private_folder(name: str, base: str | None = None) -> Iterator[Path]:
    """A new folder (0700) in `base` or the temporary folder, deleted at the end.

    Like any part it is locked while this process lives. Those that killed processes left are deleted first.
    """
    path = Path(base or tempfile.gettempdir(), name)
    sweep(path)
    folder, lock = new_part(path, folder=True)
    try:
        yield folder
    finally:
        remove_folder(folder, lock)
