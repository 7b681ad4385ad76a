"""A file appears whole or not at all, whatever happens to the process that writes it."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import InputError, MachineError

try:
    import fcntl
except (
    ImportError
):  # pragma: no cover - Windows: parts of a process that was killed stay until deleted by hand
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new name beside `path` to write to; it takes the place of `path` only if all went well.

    The part is locked while its writer lives: what a killed process left behind is unlocked, and swept away
    by the next that writes to the same path.
    """
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: make it first, or write elsewhere")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file to write to")
    try:
        sweep(path)
        part, lock = _new_part(path)
        try:
            yield part
            with part.open("rb") as handle:
                os.fsync(handle.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            os.close(lock)
    except OSError as error:
        raise MachineError(f"{str(path)!r} cannot be written: {first_sentence(error)}") from None
    _sync_folder(path.parent)


def sweep(path: Path) -> None:
    """Delete the parts that killed writers of this path left; those of living ones are locked."""
    if fcntl is None:  # pragma: no cover
        return
    for name in glob.glob(
        f".{glob.escape(path.name)}.????????.part", root_dir=path.parent, include_hidden=True
    ):
        with contextlib.suppress(OSError):  # another sweeper was quicker, or it is not ours to delete
            lock = os.open(path.parent / name, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path.parent / name)
            finally:
                os.close(lock)


def _new_part(path: Path) -> tuple[Path, int]:
    """An empty file beside `path`, and the open file that holds its lock."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        lock = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:  # pragma: no cover
            return part, lock
        with contextlib.suppress(
            OSError
        ):  # swept in the moment before it was locked, or a file system without
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if part.exists():
            return part, lock
        os.close(lock)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def first_sentence(error: Exception) -> str:
    """What an error says, without the rest of its talk."""
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    said = re.sub(r"^.* Detail: \[errno \d+\] ", "", said, flags=re.DOTALL)  # Arrow tells how it came to know
    return said.splitlines()[0].rstrip(".") if said else type(error).__name__
