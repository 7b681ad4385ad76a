"""How often each published combination of values occurs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.large import LargeTable
from shoal.frame.levels import written_out
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
    counted: str = "records"  # or "units": whom k counts
    faults: tuple[str, ...] = ()  # what else is wrong, or cannot be counted

    @property
    def passed(self) -> bool:
        return self.short_groups == 0 and not self.faults

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.columns))
        if self.passed:
            records = f"{self.records} records"
            among = f"of {records}" if self.counted == "records" else f"units, in {records}"
            return (
                f"yes: each of the {self.groups} combinations of {shown} is shared by at least "
                f"{self.smallest_group} {among} (k={self.k})"
            )
        short = (
            f"{self.short_groups} of {self.groups} combinations of {shown} are shared by fewer than "
            f"k={self.k} {self.counted}, the rarest by {self.smallest_group}"
        )
        return f"no: {'; '.join([short] * (self.short_groups > 0) + list(self.faults))}"


def count(
    table: pa.Table, columns: Sequence[str], k: int, strata: Sequence[Any] = (), units: Sequence[Any] = ()
) -> Finding:
    """Count the combinations of these columns in an Arrow table, within each stratum.

    With `units`, columns that tell whose record each is, distinct units are counted instead of records.
    Rows of a large table are counted by their fingerprints.
    """
    if isinstance(table, LargeTable):
        rows = Fingerprints().of(chain((table[name] for name in columns), strata))
        sizes = _sizes(rows, Fingerprints().of(units) if units else None)
        return _finding(k, columns, len(table), sizes, bool(units))
    keys = [*(table[name] for name in columns), *strata, *units]
    names = list(map(str, range(len(keys))))
    counted = pa.table(list(map(written_out, pa.table(keys, names).columns)), names)
    if units:
        counted = counted.group_by(names).aggregate([])
    counted = counted.group_by(names[: len(columns) + len(strata)]).aggregate([([], "count_all")])
    return _finding(k, columns, len(table), counted["count_all"].to_numpy(), bool(units))


class Counter:
    """Counts the combinations of some columns, within strata, over batches that come one after another."""

    def __init__(self, columns: Sequence[str], k: int, within: Sequence[str] = ()):
        self.columns, self.k, self._within = tuple(columns), k, tuple(within)
        self._fingerprints = Fingerprints()
        self._rows: list[NDArray[np.uint64]] = []
        self._units: list[Ints] = []

    def add(self, batch: pa.RecordBatch | pa.Table, units: Ints | None = None) -> None:
        """One more batch or table of Arrow; `units` tell whose record each is."""
        named = (*self.columns, *self._within)
        self._rows.append(self._fingerprints.of(batch.column(name) for name in named))
        if units is not None:
            self._units.append(units)

    def sizes(self) -> Ints:
        """How often each combination occurs. Memory holds eight bytes for each row, or sixteen."""
        self._rows = [rows := np.concatenate([np.empty(0, np.uint64), *self._rows])]
        return _sizes(rows, np.concatenate(self._units) if self._units else None)

    def finding(self) -> Finding:
        """What was counted."""
        records = sum(map(len, self._rows))
        return _finding(self.k, self.columns, records, self.sizes(), bool(self._units))


def _sizes(rows: NDArray[np.uint64], units: NDArray | None) -> Ints:
    """How often each number occurs among the rows; with `units`, for how many different ones."""
    if units is not None:
        order = np.lexsort((units, rows))
        rows, units = rows[order], units[order]
        new = (rows[1:] != rows[:-1]) | (units[1:] != units[:-1])
        rows = rows[np.r_[True, new]] if len(rows) else rows
    else:
        rows.sort()
    new = np.r_[True, rows[1:] != rows[:-1]][: len(rows)]
    return np.diff(np.r_[np.flatnonzero(new), len(rows)])


def _finding(k: int, columns: Sequence[str], records: int, sizes: NDArray, by_unit: bool) -> Finding:
    rarest, short = int(sizes.min(initial=records)), int((sizes < k).sum())
    faults = () if records else ("there are no records",)
    counted = "units" if by_unit else "records"
    return Finding(k, tuple(columns), records, len(sizes), rarest, short, counted, faults)
