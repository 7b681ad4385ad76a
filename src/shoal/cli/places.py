"""Where a table comes from and goes to: files, databases by URL, stdin and stdout."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.cli.light import without_pandas
from shoal.errors import InputError
from shoal.io.databases.address import is_remote
from shoal.io.private import private_folder

#: What the first bytes of stdin say; anything else is CSV.
_SIGNS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst"}


@contextlib.contextmanager
def source_and_target(file: str, output: str | None, replacing: bool = False) -> Iterator[tuple[str, str]]:
    """What to read and what to write to; on a good end, what goes to stdout is sent there."""
    without_pandas()
    with private_folder("shoal-stdin") as folder:
        source = str(from_stdin(folder)) if file == "-" else file
        refuse_unnamed(file, output)
        wanted = in_its_layout(output or ("-" if file == "-" else beside(file)), file)
        target = wanted
        if wanted == "-":
            from shoal.io.databases.sql import is_url
            from shoal.io.files import file_ending

            plain = is_remote(source) or not is_url(source)
            target = str(folder / f"stdout{file_ending(Path(source)) if plain else '.csv'}")
        refuse_target(target, source, replacing)
        yield source, target
        if wanted == "-":
            with open(target, "rb") as content:
                shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def refuse_unnamed(file: str, output: str | None) -> None:
    """Refuse a table of a store whose output is not named."""
    if output is None and is_remote(file):
        raise InputError("where to? name the output with -o: nothing is written to a store unasked")


@contextlib.contextmanager
def source_of(file: str) -> Iterator[str]:
    """What to read: the file itself, or what comes through stdin."""
    without_pandas()
    from shoal.io.stores import brought

    with private_folder("shoal-stdin") as folder, brought(file) as source:
        yield str(from_stdin(folder)) if file == "-" else source


def from_stdin(folder: Path) -> Path:
    """All of stdin as a file whose ending says what it is."""
    head = sys.stdin.buffer.read(6)
    ending = next((ending for sign, ending in _SIGNS.items() if head.startswith(sign)), ".csv")
    path = folder / f"stdin{ending}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def beside(file: str) -> str:
    """NAME.protected.EXT beside the input, or the table NAME_protected; refused if it exists."""
    from shoal.io.databases.sql import address, is_url
    from shoal.io.files import file_ending, file_of

    if is_url(file):
        if address(file).is_query:
            raise InputError("where to? a query has no table of its own: name the output with -o")
        return f"{file}_protected"
    path = file_of(Path(file))
    ending = len(file_ending(path))
    return free(path.with_name(f"{path.name[:-ending]}.protected{path.name[-ending:]}"))


def in_its_layout(target: str, source: str) -> str:
    """A text of fixed widths without a layout of its own has that of the table which it comes from."""
    from shoal.io.formats import fixed

    wanted, given = fixed.place(Path(target)), fixed.place(Path(source))
    if not wanted or not given or "#" in Path(target).name or wanted[1].exists():
        return target
    return f"{target}#{given[1].name}" if wanted[0].parent == given[0].parent else target


def free(target: Path) -> str:
    """The name itself, which nobody asked for: it is refused if it is taken."""
    if target.exists():
        raise InputError(
            f"{str(target)!r} exists already: name the output with -o (a named file is replaced)"
        )
    return str(target)


def refuse_target(target: str, source: str, replacing: bool) -> None:
    """Say before the work what would fail after it."""
    from shoal.io.atomic import refuse_input, refuse_missing_folder
    from shoal.io.databases import sql
    from shoal.io.files import file_format, file_of

    if is_remote(target):
        from shoal.io.stores import Store

        file_format(Path(target))
        return Store(target).refuse_target(True, replacing, source)
    if sql.is_url(target):
        return sql.refuse_target(target, replacing)
    path = Path(target)
    kind = file_format(path)
    if file_of(path) != path and ".xlsx#" in path.name:
        raise InputError(f"{target!r} names a sheet to write to: name the file alone")
    if not kind.writable:
        raise InputError(f"{kind.name} files can be read but not written: name an output such as out.parquet")
    if not is_remote(source) and not sql.is_url(source):
        refuse_input(path, file_of(Path(source)))
    return refuse_missing_folder(path.parent)
