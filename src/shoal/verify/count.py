"""The independent check of a release. Shares no code with the grouping: it only counts what is published."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CheckFailed, InputError, did_you_mean
from shoal.io.files import cells_of, read, read_parts, same_family
from shoal.verify.compare import Kept, compare, first_difference, outside


@dataclass(frozen=True)
class Finding:
    """How often the published combinations of values occur."""

    k: int
    columns: tuple[str, ...]
    records: int
    groups: int
    smallest_group: int
    short_groups: int

    @property
    def passed(self) -> bool:
        return self.short_groups == 0

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.columns))
        if self.passed:
            return (
                f"yes: each of the {self.groups} combinations of {shown} is shared by at least "
                f"{self.smallest_group} of {self.records} records (k={self.k})"
            )
        return (
            f"no: {self.short_groups} of {self.groups} combinations of {shown} are shared by fewer than "
            f"k={self.k} records, the rarest by {self.smallest_group}"
        )


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
    table = _table(release)
    blocks = _blocks(table, columns, per_column, blocks)
    within = [] if strata is None or isinstance(strata, np.ndarray) else list(strata)
    for name in [*within, *(name for block in blocks for name in block)]:
        if name not in table.column_names:
            raise InputError(f"there is no column {name!r}: {did_you_mean(name, table.column_names)}")
    keys = [table[name] for name in within] + ([strata] if isinstance(strata, np.ndarray) else [])
    return [_count(table, block, keys, k) for block in blocks]


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
) -> Kept:
    """Compare a released file or Arrow table with its original: rows, their order, the untouched columns.

    `dropped` columns must not be there; `without_gaps`: records with a gap in the `columns` were left out;
    `totals_kept`: whole numbers may lie a little outside their records' values.
    """
    table, before = _table(release), _table(original)
    blocks = _blocks(table, columns, per_column, blocks)
    protected = [name for block in blocks for name in block]
    exact = same_family(release, original)
    own, expected = (cells_of(release), cells_of(original)) if exact else (table, before)
    as_they_stand = cache(lambda: cells_of(release))
    if without_gaps:
        complete = _complete(before, protected)
        before, expected = before.filter(complete), expected.filter(complete)

    def same(name: str, one: Any, other: Any) -> int | None:
        row = first_difference(one, other, loose=not exact)
        if row is None or exact:
            return row
        written = as_they_stand()
        return row if written is None else first_difference(one, written[name], loose=True)

    kept = compare(expected, own, protected, dropped, same)
    if kept.faults:
        return kept
    faults = [fault for block in blocks for fault in outside(before, table, block, not totals_kept)]
    return replace(kept, faults=tuple(faults))


def _table(given: Any) -> Any:
    if not isinstance(given, (str, os.PathLike)):
        return given
    return read_parts(given) if os.path.isdir(given) else read(given)


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


def _count(table: Any, columns: Sequence[str], strata: Sequence[Any], k: int) -> Finding:
    import pyarrow as pa

    keys = {str(j): _plain(key) for j, key in enumerate([*(table[name] for name in columns), *strata])}
    counted = pa.table(keys).group_by(list(keys)).aggregate([([], "count_all")])
    sizes = counted["count_all"].to_numpy()
    return Finding(
        k=k,
        columns=tuple(columns),
        records=len(table),
        groups=len(sizes),
        smallest_group=int(sizes.min(initial=len(table))),
        short_groups=int((sizes < k).sum()),
    )


def _plain(column: Any) -> Any:
    """A column that Arrow can count by: dictionaries as their values."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) or not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type)


def require(findings: Iterable[Finding | Kept]) -> None:
    """Raise unless every finding passed."""
    for finding in findings:
        if not finding.passed:
            raise CheckFailed(f"nothing is released: the check says {finding}")


def check_columns(
    released: Mapping[Any, Any],
    labels: Mapping[Any, NDArray],
    k: int,
    strata: NDArray[np.int64] | None = None,
) -> None:
    """Raise unless each group has k records of one stratum and publishes one and the same value or gap.

    `released` holds arrays, or objects with `values` and `gaps` (true where nothing is published). Columns
    that were grouped together must share their labels: then every combination occurs k times.
    """
    from shoal.kernels.groups.counts import count_and_compare  # here, for `shoal check` needs no compiler

    for name, column in released.items():
        own = labels[name]
        values, gaps = getattr(column, "values", column), getattr(column, "gaps", None)
        if len(own) != len(values):
            raise CheckFailed(f"{len(values)} values but {len(own)} labels in {name!r}: nothing is released")
        sizes, alike = count_and_compare(own, np.ascontiguousarray(values))
        if sizes.min() < k:
            raise CheckFailed(f"a group of {sizes.min()} records is short of k={k}: nothing is released")
        if not alike or (gaps is not None and not _one_each(gaps, own, len(sizes))):
            raise CheckFailed(f"a group publishes different values in column {name!r}: nothing is released")
        if strata is not None and not _one_each(strata, own, len(sizes)):
            raise CheckFailed(f"a group crosses strata in column {name!r}: nothing is released")


def _one_each(values: NDArray, labels: NDArray, groups: int) -> bool:
    """Whether all records of a group have one and the same value."""
    representative = np.zeros(groups, values.dtype)
    representative[labels] = values
    return np.array_equal(representative[labels], values)
