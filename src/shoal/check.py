"""The independent check of a release. Shares no code with the grouping: it only counts what is published."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CheckFailed, InputError, did_you_mean
from shoal.table.files import read


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
    release: Any, k: int, columns: Sequence[str] | None = None, *, per_column: bool = False
) -> list[Finding]:
    """Count, in a released file or Arrow table, how many records share each combination of the columns.

    One finding for all columns together, or one for each column where the promise is per column.
    """
    table = read(release) if isinstance(release, (str, os.PathLike)) else release
    names = [columns] if isinstance(columns, str) else list(columns or _numeric(table))
    for name in names:
        if name not in table.column_names:
            raise InputError(f"there is no column {name!r}: {did_you_mean(name, table.column_names)}")
    if not names:
        raise InputError("the file has no numeric column: name the columns to check")
    together = [[name] for name in names] if per_column else [names]
    return [_count(table, chosen, k) for chosen in together]


def _numeric(table: Any) -> list[str]:
    import pyarrow.types as types

    return [f.name for f in table.schema if types.is_integer(f.type) or types.is_floating(f.type)]


def _count(table: Any, columns: Sequence[str], k: int) -> Finding:
    counted = table.select(columns).group_by(list(columns)).aggregate([([], "count_all")])
    sizes = counted["count_all"].to_numpy()
    return Finding(
        k=k,
        columns=tuple(columns),
        records=len(table),
        groups=len(sizes),
        smallest_group=int(sizes.min(initial=len(table))),
        short_groups=int((sizes < k).sum()),
    )


def require(findings: Iterable[Finding]) -> None:
    """Raise unless every finding passed."""
    for finding in findings:
        if not finding.passed:
            raise CheckFailed(f"nothing is released: the check says {finding}")


def check_columns(released: Mapping[Any, NDArray], labels: Mapping[Any, NDArray], k: int) -> None:
    """Raise unless each group has k records and publishes one and the same value in each column."""
    from shoal.kernels.counts import count_and_compare  # here, for `shoal check` needs no compiler

    for name, values in released.items():
        own = labels[name]
        if len(own) != len(values):
            raise CheckFailed(f"{len(values)} values but {len(own)} labels in {name!r}: nothing is released")
        sizes, alike = count_and_compare(own, np.ascontiguousarray(values), int(own.max()) + 1)
        if own.min() < 0 or sizes.min() < k:
            raise CheckFailed(f"a group of {sizes.min()} records is short of k={k}: nothing is released")
        if not alike:
            raise CheckFailed(f"a group publishes different values in column {name!r}: nothing is released")
