"""Tables that lie elsewhere, or in another form: the engine sees Parquet files of this machine."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.errors import InputError
from shoal.io import parquet, stores
from shoal.io.databases.address import is_remote, shown
from shoal.io.databases.sql import is_url
from shoal.outcome import Outcome


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
        with contextlib.ExitStack() as needed:
            beside = None
            if is_remote(target):
                options["private_to"] = parquet.private_path(PurePosixPath(target.partition("?")[0]).name)
                target, replace = needed.enter_context(stores.sending(target, replace, source)), False
            elif is_remote(source):
                parquet.refuse_target(Path("-"), Path(target), replace)
                parquet.refuse_missing_folder(Path(target).parent)
                beside = str(Path(target).parent)
            source = needed.enter_context(stores.brought(source, beside))
            return run(plan, source, target, replace=replace, **options)

    return call
