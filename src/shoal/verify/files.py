"""The check of a release from files or tables alone: what `shoal check` and `shoal.check` do."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.io.contents import Contents
from shoal.io.databases.sql import is_url
from shoal.io.files import as_arrow, read, read_contents, read_parts, same_family
from shoal.verify.compare import Agreement, compare, first_difference, outside
from shoal.verify.count import Finding, count


def check(
    release: Any,
    k: int,
    columns: Sequence[str] | None = None,
    *,
    per_column: bool = False,
    blocks: Sequence[Sequence[str]] | None = None,
    strata: Sequence[str] | NDArray[np.int64] | None = None,
) -> list[Finding]:
    """Count, in a released file or Arrow table, how many records share each combination of the columns.

    A folder of Parquet parts is one table. One finding for all columns together, or one for each column or
    block where the promise is such. A gap is a value of its own. `strata` (columns, or an
    array of numbers) counts within each stratum.
    """
    table = _contents(release).table
    blocks = _blocks(table, columns, per_column, blocks)
    within = [] if strata is None or isinstance(strata, np.ndarray) else list(strata)
    for name in [*within, *(name for block in blocks for name in block)]:
        if name not in table.column_names:
            raise InputError(f"there is no column {name!r}: {did_you_mean(name, table.column_names)}")
    keys = [table[name] for name in within] + ([strata] if isinstance(strata, np.ndarray) else [])
    return [count(table, block, k, keys) for block in blocks]


def check_original(
    release: Any,
    original: Any,
    columns: Sequence[str] | None = None,
    *,
    per_column: bool = False,
    blocks: Sequence[Sequence[str]] | None = None,
    dropped: Collection[str] = (),
    without_gaps: bool = False,
    totals_kept: bool = False,
) -> Agreement:
    """Compare a released file or Arrow table with its original: rows, their order, the untouched columns.

    `dropped` columns must not be there; `without_gaps`: records with a gap in the `columns` were left out;
    `totals_kept`: whole numbers may lie a little outside their records' values.
    """
    (table, written), (before, cells) = _contents(release), _contents(original)
    blocks = _blocks(table, columns, per_column, blocks)
    protected = [name for block in blocks for name in block]
    exact = same_family(release, original)
    found, expected = (written, cells) if exact else (table, before)
    if without_gaps:
        complete = _complete(before, protected)
        before, expected = before.filter(complete), expected.filter(complete)

    def same(name: str, one: Any, other: Any) -> int | None:
        row = first_difference(one, other, loose=not exact)
        if row is None or exact:
            return row
        return row if written is None else first_difference(one, written[name], loose=True)

    agreement = compare(expected, found, protected, dropped, same)
    if agreement.faults:
        return agreement
    faults = [fault for block in blocks for fault in outside(before, table, block, not totals_kept)]
    return replace(agreement, faults=tuple(faults))


def _contents(given: Any) -> Contents:
    """A table of any kind, or what a file, a folder of parts or a table of a database holds."""
    if not isinstance(given, (str, os.PathLike)):
        return Contents(as_arrow(given))
    if os.path.isdir(given):
        return Contents(read_parts(given))
    return Contents(read(given)) if is_url(given) else read_contents(given)


def _complete(table: Any, columns: Sequence[str]) -> NDArray[np.bool_]:
    """The rows without a gap in these columns."""
    import pyarrow.compute as pc

    complete = np.ones(len(table), bool)
    for name in columns:
        complete &= ~pc.is_null(table[name], nan_is_null=True).to_numpy()
    return complete


def _blocks(
    table: Any, columns: Sequence[str] | None, per_column: bool, blocks: Sequence[Sequence[str]] | None
) -> Sequence[Sequence[str]]:
    """The columns that are checked together."""
    if blocks is None:
        names = [columns] if isinstance(columns, str) else list(columns or _numeric(table))
        blocks = [[name] for name in names] if per_column else [names]
    if not all(blocks) or not blocks:
        raise InputError("the file has no numeric column: name the columns to check")
    return blocks


def _numeric(table: Any) -> list[str]:
    import pyarrow.types as types

    return [f.name for f in table.schema if types.is_integer(f.type) or types.is_floating(f.type)]
