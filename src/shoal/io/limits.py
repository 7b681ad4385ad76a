"""What a file may ask of the machine: a small file that unpacks into a huge one is refused."""

import os
from collections.abc import Iterable

from shoal.errors import InputError

MOST_COLUMNS = 20_000
LONGEST_LINE = 1 << 26  # bytes of one record of a text file
TEXT = 3  # bytes of memory that each byte of a text takes, while it is read a little more
#: Bytes that any packed file may unpack to, and beyond them so many times its own size.
_ALWAYS, _TIMES = 1 << 28, 200


def refuse_names(names: Iterable[str], where: str) -> None:
    """Refuse names that occur twice, and more columns than anybody has."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two columns of {where!r} are called {name!r}: rename one of them")
        seen.add(name)
    if len(seen) > MOST_COLUMNS:
        raise InputError(
            f"{where!r} has {len(seen):,} columns, and shoal takes {MOST_COLUMNS:,}: leave some out"
        )


def refuse_size(size: int, packed: int, where: str) -> None:
    """Refuse to unpack `packed` bytes into `size` bytes, if no real table is packed so tightly."""
    refuse_bomb(size, packed, where)
    refuse_memory(size, where)


def refuse_bomb(size: int, packed: int, where: str, always: int = _ALWAYS, times: int = _TIMES) -> None:
    """The same, whatever this machine's memory: a file may have `always` bytes and `times` its own size."""
    if size > always + times * packed:
        raise InputError(f"{where!r} unpacks to more than {times} times its size: it is no table")


def refuse_memory(size: int, where: str, remedy: str = "protect a part of it") -> None:
    """Refuse what would fill more than half of the memory."""
    if size > memory() // 2:
        raise InputError(
            f"{where!r} takes {size / 1e9:.1f} GB, more than half of the memory there is: "
            f"take a larger machine, or {remedy}"
        )


def refuse_text(size: int, where: str) -> None:
    """Refuse a text of so many bytes if its cells and numbers would fill more than half of the memory."""
    refuse_memory(TEXT * size, where, "protect it piece by piece (--engine disk, protect_files)")


def memory() -> int:
    """Bytes of memory that this machine has, or that this process may use (`ulimit -d`) if that is less."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows, where 8 GB are taken for granted
        return 8 * 2**30
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return whole if limit == resource.RLIM_INFINITY else min(whole, limit)
