"""Tables that lie elsewhere, or in another form: the engine sees Parquet files of this machine."""

import contextlib
import functools
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.errors import InputError
from shoal.frame.series import stream_of
from shoal.io import parquet, stores
from shoal.io.databases.address import is_remote, shown
from shoal.io.databases.sql import is_url
from shoal.io.files import FORMATS
from shoal.io.formats.long_text import LongText
from shoal.io.large import TEXTS
from shoal.io.private import private_folder
from shoal.outcome import Outcome


def _ending(path: Any, endings: Iterable[str]) -> bool:
    """Whether this is a file's name, not a folder, with one of these endings."""
    return str(path).lower().endswith(tuple(endings)) and not Path(path).is_dir()


def nearby(run: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Let an engine read from a store and write to one: a copy of the input lies here while it works.

    What only the owner may know never goes to a store: it is written into the current folder.
    """

    @functools.wraps(run)
    def call(plan: Any, source: Any, target: Any, *, replace: bool = False, **options: Any) -> Outcome:
        for named in (source, target):
            if not is_remote(named) and is_url(named):
                raise InputError(
                    f"{shown(named)!r} is a table of a database: add --engine memory, or export it"
                )
        if _ending(target, [ending for ending in FORMATS if ending != ".parquet"]):
            raise InputError(
                f"large tables are written as Parquet, not as {shown(str(target))!r}: name a folder, or a "
                ".parquet file"
            )
        with contextlib.ExitStack() as needed:
            stream, beside = stream_of(source), None
            text = stream or _ending(source, TEXTS)
            if is_remote(target):
                options["private_to"] = parquet.private_path(PurePosixPath(target.partition("?")[0]).name)
                target, replace = needed.enter_context(stores.sending(target, replace, source)), False
            elif text or is_remote(source):
                elsewhere = stream or is_remote(source)
                parquet.refuse_target(Path("-") if elsewhere else Path(source), Path(target), replace)
                parquet.refuse_missing_folder(Path(target).parent)
                beside = str(Path(target).parent)
            source = source if stream else needed.enter_context(stores.brought(source, beside))
            if stream or _ending(source, TEXTS):
                folder = needed.enter_context(private_folder("shoal-text", beside))
                made = folder / "table.parquet"
                if stream:
                    parquet.write_batches(made, *stream)
                else:
                    LongText(Path(source)).to_parquet(made)
                needed.enter_context(stores.speaking_of(made, "the stream" if stream else str(source)))
                source = made
            return run(plan, source, target, replace=replace, **options)

    return call
