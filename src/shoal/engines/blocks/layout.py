"""Which columns name the folders of a release: year=2020/part-00000.parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.io.hive import refuse_unnameable
from shoal.plan import Plan


def keys_of(
    plan: Plan,
    schema: Any,
    named: Sequence[str],
    protected: Sequence[str],
    target: Path,
    asked: str | Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """The columns asked for, or those that `named` the source's and are published as they are; and a note.

    The name of a folder is what all rows in it have: only a column that is published as it is can name one.
    """
    merged = plan.strata if plan.merge_small_strata else ()
    changed = {*protected, *plan.stepped, *merged}
    dropped = {*plan.named("identifier"), *plan.unit}
    if asked is None:
        if target.suffix == ".parquet":
            return [], []
        moved = ", ".join(repr(name) for name in named if name in changed)
        note = f"folders named cells of {moved}, changed here: now a column of the files"
        return [name for name in named if name not in changed | dropped], [note] if moved else []
    asked = [asked] if isinstance(asked, str) else list(asked)
    Frame(schema.empty_table()).find(asked)
    if asked and target.suffix == ".parquet":
        raise InputError(f"{str(target)!r} is one file, and has no folders to name: name a folder")
    for name in asked:
        if asked.count(name) > 1 or name in dropped:
            raise InputError(f"column {name!r} is named twice, or is not published: partition by another")
        if name in changed:
            raise InputError(
                f"column {name!r} is protected or changed, and folders would tell its cells as they were: "
                "partition by a column that is published as it is"
            )
    refuse_unnameable(schema, asked)
    return asked, []
