"""A file appears whole or not at all, whatever happens to the process that writes it."""

import contextlib
import glob
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import InputError, MachineError, never_overwritten

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: what a killed process left stays until deleted by hand
    fcntl = None  # type: ignore[assignment]

#: A part is opened as what it is: no link is followed, and a pipe that was planted does not make us wait.
AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
OLD = "old"  # how an old folder is called in a part, until the new one has its name


@contextlib.contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[Path]:
    """A new file beside `path` to write to; it takes the place of `path` only if all went well.

    A file keeps the permissions of the one that it replaces; a new one has those that are usual, or none for
    others if it is `private`.

    The part is locked while its writer lives: what a killed process left behind is unlocked, and swept away
    by the next that writes to the same path.
    """
    refuse_place(path)
    with writing(path):
        sweep(path)
        usual = 0o600 if private else _usual(path)
        part, lock = new_part(path)
        try:
            yield by_handle(part, lock)
            os.fsync(lock)
            if not os.path.samestat(part.lstat(), os.fstat(lock)):
                raise OSError("somebody else has changed the unfinished file")
            os.fchmod(lock, usual)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            os.close(lock)
    with contextlib.suppress(OSError):  # where the system can
        sync(path.parent)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with a disk."""
    try:
        yield
    except OSError as error:
        raise MachineError(f"{str(path)!r} cannot be written: {first_sentence(error)}") from None


def refuse_missing_folder(folder: Path) -> None:
    """Refuse to write into a folder that is not there."""
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist: make it first, or write elsewhere")


def refuse_place(path: Path) -> None:
    """Refuse a path at which no file can be written."""
    refuse_missing_folder(path.parent)
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file to write to")
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is a pipe or a device: name a file to write to")


def refuse_input(target: Path, source: Path) -> None:
    """Refuse to write over the file that is read."""
    if target.exists() and source.exists() and target.samefile(source):
        raise never_overwritten(repr(str(target)))


def sweep(path: Path) -> None:
    """Delete the parts that killed writers of this path left; those of living ones are locked.

    What another user put there under such a name, or what is neither file nor folder, is not touched.

    An old release that was to be replaced just then, and lies in the part, gets its name back.
    """
    if fcntl is None:  # pragma: no cover - Windows
        return
    for name in glob.glob(
        f".{glob.escape(path.name)}.????????.part", root_dir=path.parent, include_hidden=True
    ):
        part = path.parent / name
        with contextlib.suppress(OSError):  # another sweeper was quicker, or it is not ours to delete
            lock = os.open(part, os.O_RDONLY | AS_IT_IS)
            try:
                if not _ours(os.fstat(lock)):
                    continue
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not part.is_dir():
                    part.unlink()
                    continue
                if (part / OLD).exists() and not path.exists():
                    os.rename(OLD, path, src_dir_fd=lock)
                shutil.rmtree(part)
            finally:
                os.close(lock)


def _ours(facts: os.stat_result) -> bool:
    """Whether a part was made by this user, and is a file, or a folder for nobody else.

    A file that was finished when its writer was killed has the permissions of the output already.
    """
    private = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
    return (private or stat.S_ISREG(facts.st_mode)) and facts.st_uid == os.geteuid()


def _usual(path: Path) -> int:
    """The permissions of the file that is replaced; else those of a new one, which is made and deleted."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    trial, lock = new_part(path, mode=0o666)
    try:
        return stat.S_IMODE(os.fstat(lock).st_mode)
    finally:
        trial.unlink(missing_ok=True)
        os.close(lock)


def new_part(path: Path, folder: bool = False, mode: int = 0o600) -> tuple[Path, int]:
    """An empty file or folder beside `path`, and the handle that holds its lock.

    Only its owner can open it from its first moment on: who opened it before others were shut out could
    read all that is written later.
    """
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            if folder:
                part.mkdir(mode=0o700)
            with contextlib.suppress(FileNotFoundError):  # a folder that was swept before it was opened
                how = os.O_RDONLY if folder else os.O_RDWR | os.O_CREAT | os.O_EXCL
                lock = os.open(part, how | AS_IT_IS, mode)
                if _locked(lock) and part.exists():
                    return part, lock
                os.close(lock)  # a sweeper has it, or had it, in the moment before it was locked
        except KeyboardInterrupt:  # nobody else knows of it yet
            with contextlib.suppress(OSError):
                part.rmdir() if folder else part.unlink()
            raise


def by_handle(part: Path, lock: int) -> Path:
    """A way to an open part that no link leads away, whoever else may write into its folder.

    Where the system has no such way, the part's own name.
    """
    way = Path(f"/proc/self/fd/{lock}")
    return way if way.exists() else part


def remove_folder(part: Path, lock: int) -> None:
    """Delete all that a folder holds, by its handle; then its name, unless another folder has it now."""
    shutil.rmtree(f"{by_handle(part, lock)}/.", ignore_errors=True)  # a link itself is not followed
    with contextlib.suppress(OSError):
        part.rmdir()
    os.close(lock)


def _locked(handle: int) -> bool:
    """Lock a new part; False if a sweeper was quicker, and deletes it."""
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def exchange(made: Path, target: Path) -> None:
    """Give a folder the name of another, and the other its own, in one step where the system can.

    Where it cannot, the old folder moves away first, to where `sweep` finds it.
    """
    if _swap(made, target):
        return
    old = made.with_name(OLD)
    target.rename(old)
    try:
        made.rename(target)
    except OSError:
        old.rename(target)
        raise


def _swap(one: Path, other: Path) -> bool:
    """Linux's own exchange of two names; False where there is none."""
    import ctypes

    if sys.platform != "linux":  # pragma: no cover - other systems
        return False
    here, swap = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <fcntl.h> and <stdio.h>
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0


def sync(path: Path) -> None:
    """Make what a file holds, or the new names in a folder, last through a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def first_sentence(error: Exception) -> str:
    """What an error says, without the rest of its talk."""
    said = error.strerror if isinstance(error, OSError) else None
    if error.args and isinstance(error.args[0], dict):  # of PostgreSQL
        said = error.args[0].get("M")
    said = said or str(error)
    said = re.sub(r"^.* Detail: \[errno \d+\] ", "", said, flags=re.DOTALL)  # Arrow tells how it came to know
    return said.splitlines()[0].rstrip(".") if said else type(error).__name__
