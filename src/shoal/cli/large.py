"""Where `shoal protect` works: in memory, block by block on this machine's disk, or on a Spark cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import interruptible, watching
from shoal.cli.places import beside, free, refuse_unnamed
from shoal.errors import InputError, did_you_mean
from shoal.io.databases.address import is_remote, shown

if TYPE_CHECKING:
    from shoal.engines.blocks.placed import Placed
    from shoal.frame.frame import Frame
    from shoal.outcome import Outcome
    from shoal.plan import Plan
    from shoal.release import Release

Engine = Annotated[
    str,
    typer.Option("--engine", help="memory, disk, spark, or auto: disk for folders and over 3 million rows."),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The cluster of --engine spark, such as spark://host:7077."),
]
ENGINES = ("auto", "memory", "disk", "spark")
#: Rows of a Parquet file above which it is protected on disk unless --engine says otherwise.
IN_MEMORY = 3_000_000
#: The same for bytes of an object in a store, which is not opened to count its rows.
IN_MEMORY_BYTES = 200_000_000
#: Endings of text files, which the disk engine takes too.
TEXTS = tuple(f".{kind}{packing}" for kind in ("csv", "tsv") for packing in ("", ".gz", ".zst"))
#: Records of a large table that its guesses look at.
HEAD = 100_000


def engine_for(engine: str, file: str, master: str | None, most: int = IN_MEMORY) -> str:
    """The engine asked for, or the one that suits the table."""
    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}: {did_you_mean(engine, ENGINES)}")
    if master is not None and engine != "spark":
        raise InputError("--master names a Spark cluster: give --engine spark too")
    if is_remote(file):
        if engine != "auto":
            return engine
        from shoal.io.stores import Store

        store = Store(file)
        return "memory" if store.is_file and store.size() <= IN_MEMORY_BYTES else "disk"
    if engine == "auto":
        path = Path(file)
        if path.suffix == ".parquet":
            from shoal.io.parquet import promised

            large = promised(path) > most
        elif large := file.lower().endswith(TEXTS) and path.is_file():
            from shoal.io.limits import TEXT, memory

            most = memory() // (2 * TEXT)
            if large := path.stat().st_size > most // 200:  # else none of its readers is needed
                from shoal.io.formats.long_text import LongText

                large = LongText(path).longer_than(most)
        return "disk" if large or path.is_dir() else "memory"
    readable = (".parquet", *TEXTS) if engine == "disk" else ".parquet"
    if engine != "memory" and not (Path(file).is_dir() or file.lower().endswith(readable)):
        raise InputError(
            f"--engine {engine} reads a Parquet file or a folder of them, not {file!r}: convert it"
        )
    return engine


def protect_large(
    engine: str,
    plan: Plan,
    file: str,
    target: str,
    replace: bool,
    master: str | None,
    partition_by: list[str] | None = None,
    then: Callable[[Release], None] | None = None,
) -> Outcome:
    """Protect a table that need not fit into memory. `then` is called with what is finished."""
    asked: dict[str, Any] = {"replace": replace, "partition_by": partition_by}
    with contextlib.ExitStack() as shown_bar:
        progress = shown_bar.enter_context(watching())

        def finished(outcome: Outcome, placed: Placed) -> None:
            from shoal.pipeline import release_of

            shown_bar.close()
            if then is not None:
                then(release_of(plan, file, outcome, placed))

        asked |= {"then": finished if then else None}
        if engine == "spark":
            from shoal.engines.spark.engine import run as run_on_spark

            return run_on_spark(plan, file, target, master=master, **asked)
        from shoal.engines.disk.engine import run as run_on_disk

        return run_on_disk(plan, file, target, progress=progress, compute=interruptible, **asked)


def head_of(file: str, most: int = HEAD) -> Frame:
    """The first records of a table, from which roles and types are guessed."""
    import pyarrow as pa

    from shoal.frame.frame import Frame
    from shoal.io.formats.long_text import LongText
    from shoal.io.parquet import ParquetTable

    if is_remote(file) or not Path(file).exists():
        raise InputError(
            f"{shown(file)!r} is not on this machine, so nothing is guessed: name the columns with -c"
        )
    if file.lower().endswith(TEXTS):
        return Frame(LongText(Path(file)).head(most))
    parts = ParquetTable(file)
    batches: list[pa.RecordBatch] = []
    for _, batch in parts.batches(parts.schema.names):
        batches.append(batch)
        if sum(map(len, batches)) >= most:
            break
    return Frame(pa.Table.from_batches(batches, parts.schema).slice(0, most))


def seen_of(source: str) -> Frame:
    """What guesses look at: the table, or the first records of one that is protected on disk."""
    from shoal.io.source import frame_of

    return head_of(source) if engine_for("auto", source, None) == "disk" else frame_of(source)


def large_target(file: str, output: str | None) -> str:
    """The output named, else NAME.protected beside a folder, NAME.protected.parquet beside a file."""
    if output == "-":
        raise InputError(
            "a table of this size does not go to stdout: name a folder or a .parquet file with -o"
        )
    refuse_unnamed(file, output)
    if output is not None:
        return output
    if not Path(file).is_dir():
        made = Path(beside(file))
        return str(made) if made.suffix == ".parquet" else free(Path(f"{file}.protected.parquet"))
    return free(Path(f"{file.rstrip('/')}.protected"))


def no_large_bound(engine: str, file: str, plan: Plan) -> str | None:
    """Why there is no bound for such a table, as far as its files tell; None if one can be searched for."""
    from shoal.bounds import no_bound

    if engine == "memory":
        return no_bound(plan)
    if is_remote(file) or not (Path(file).is_dir() or file.endswith(".parquet")):
        return f"--engine {engine} bounds Parquet files of this machine; `shoal bound` takes texts too"
    from shoal.io.parquet import ParquetTable

    return no_bound(plan, len(table := ParquetTable(file)), table.has_gaps(plan.columns or ()))
