"""How often each published combination of values occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.verify.fingerprint import Fingerprints


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


def count(table: Any, columns: Sequence[str], k: int, strata: Sequence[Any] = ()) -> Finding:
    """Count the combinations of these columns in an Arrow table, within each stratum."""
    import pyarrow as pa

    keys = {str(j): _plain(key) for j, key in enumerate([*(table[name] for name in columns), *strata])}
    counted = pa.table(keys).group_by(list(keys)).aggregate([([], "count_all")])
    return _finding(k, columns, len(table), counted["count_all"].to_numpy())


class Counter:
    """Counts the combinations of some columns over batches that come one after another."""

    def __init__(self, columns: Sequence[str], k: int):
        self.columns, self.k = tuple(columns), k
        self._fingerprints = Fingerprints()
        self._rows: list[NDArray[np.uint64]] = []

    def add(self, batch: Any) -> None:
        """One more batch or table of Arrow."""
        self._rows.append(self._fingerprints.of([batch.column(name) for name in self.columns]))

    def finding(self) -> Finding:
        """What was counted. Memory holds eight bytes for each row."""
        rows = np.sort(np.concatenate(self._rows)) if self._rows else np.empty(0, np.uint64)
        self._rows = [rows]
        begins = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]]) if len(rows) else np.empty(0, np.int64)
        return _finding(self.k, self.columns, len(rows), np.diff(np.r_[begins, len(rows)]))


def _finding(k: int, columns: Sequence[str], records: int, sizes: NDArray) -> Finding:
    return Finding(
        k=k,
        columns=tuple(columns),
        records=records,
        groups=len(sizes),
        smallest_group=int(sizes.min(initial=records)),
        short_groups=int((sizes < k).sum()),
    )


def _plain(column: Any) -> Any:
    """A column that Arrow can count by: dictionaries as their values."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) or not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type)
