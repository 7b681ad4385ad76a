"""Private folders and keys: only their owner can look into them."""

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import InputError, MachineError
from shoal.io.atomic import by_handle, first_sentence, new_part, remove_folder, sweep


@contextlib.contextmanager
def private_folder(
    name: str, base: str | os.PathLike[str] | None = None, handle: bool = False
) -> Iterator[Path]:
    """A new folder (0700) in `base` or the temporary folder, deleted at the end; by its `handle` if asked.

    Like any part it is locked while this process lives. Those that killed processes left are deleted first.
    """
    path = Path(base or tempfile.gettempdir(), name)
    sweep(path)
    lock = None
    try:  # Ctrl-C may come as soon as it exists
        folder, lock = new_part(path, folder=True)
        yield by_handle(folder, lock) if handle else folder
    finally:
        if lock is not None:
            remove_folder(folder, lock)


@contextlib.contextmanager
def storing() -> Iterator[None]:
    """Say in one sentence why columns cannot be stored in the temporary folder."""
    try:
        yield
    except OSError as error:
        folder, why = tempfile.gettempdir(), first_sentence(error)
        raise MachineError(
            f"columns cannot be stored in {folder!r}: {why}; name another folder (TMPDIR)"
        ) from None


def key_file(path: str | os.PathLike[str]) -> bytes:
    """The key in a file that only its owner can read; where there is none, a new one is made."""
    path = Path(path)
    try:
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
        with path.open() as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(100).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the key file {str(path)!r} cannot be used: {first_sentence(error)}") from None
    if mode & 0o077 and os.name == "posix":
        raise InputError(f"others can read the key file {str(path)!r}: chmod 600 it")
    if re.fullmatch("[0-9a-f]{64}", text) is None:
        raise InputError(f"{str(path)!r} is no key file of shoal (64 hexadecimal digits): name a new file")
    return bytes.fromhex(text)
