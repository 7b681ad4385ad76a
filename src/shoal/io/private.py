"""Private folders: only their owner can look into them, and none stays behind for good."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: what a killed process left stays until deleted by hand
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def private_folder(prefix: str, base: str | None = None) -> Iterator[Path]:
    """A new folder (0700) in `base` or the temporary folder, deleted at the end.

    It is locked while this process lives: folders with the same prefix that killed processes left are
    unlocked, and deleted here first.
    """
    for name in os.listdir(base or tempfile.gettempdir()):
        left = Path(base or tempfile.gettempdir(), name)
        if name.startswith(prefix) and (lock := _locked(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    lock = None
    while lock is None:  # another process may take a folder for one that was left, before it is locked
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        lock = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """The handle that holds the lock of a folder; None if it is not ours, or somebody has it."""
    if fcntl is None:  # pragma: no cover - Windows
        return os.open(os.devnull, os.O_RDONLY)
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except BlockingIOError:
        pass
    os.close(handle)
    return None
