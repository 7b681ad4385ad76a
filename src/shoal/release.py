"""Release: the protected table with all that is known of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import check
from shoal.errors import InputError
from shoal.plan import Plan
from shoal.table.files import as_arrow, file_format, replacing


@dataclass(frozen=True, eq=False)
class Release:
    """What `microaggregate` gives back.

    `labels` has one label for each record, or one column of labels for each protected column where the
    plan says `per_column`. `information_loss` is 100 * SSE / SST of the groups with their exact means;
    `rounding_loss` is what publishing whole numbers adds to it, in the same percent.
    """

    table: Any
    labels: NDArray[np.int64]
    information_loss: float
    rounding_loss: float
    plan: Plan
    columns: tuple[Any, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    source: Path | None = None

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """How many records each group has: group_sizes[labels[i]] is the size of record i's group.

        Where each column has its own groups, those of all columns one after another.
        """
        columns = self.labels.reshape(len(self.labels), -1).T
        return np.concatenate([np.bincount(column) for column in columns]).astype(np.int64)

    @property
    def promise(self) -> str:
        """In plain words, what k means here."""
        k, names = self.plan.k, ", ".join(map(str, self.columns))
        if self.plan.per_column:
            return (
                f"in each of {names} taken alone, every published value is shared by at least {k} records; "
                "taken together, a record's values may still be its own"
            )
        return f"every published combination of {names} is shared by at least {k} records"

    def summary(self) -> dict[str, Any]:
        """The outcome as plain values, as `--json` prints it."""
        sizes = self.group_sizes
        return {
            "records": len(self.labels),
            "columns": [str(name) for name in self.columns],
            "groups": len(sizes),
            "smallest_group": int(sizes.min()),
            "largest_group": int(sizes.max()),
            "information_loss": self.information_loss,
            "rounding_loss": self.rounding_loss,
            "method": self.plan.method,
            "k": self.plan.k,
            "seed": self.plan.seed,
            "per_column": self.plan.per_column,
            "promise": self.promise,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the protected table. It is read back and checked before it takes its name."""
        path = Path(path)
        if self.source is not None and path.exists() and path.samefile(self.source):
            raise InputError(f"{str(path)!r} is the input, which is never overwritten: name another output")
        kind = file_format(path)
        table = as_arrow(self.table)
        names = [str(name) for name in self.columns]
        with replacing(path) as part:
            kind.write(table, part)
            again = kind.read(part)
            check.require(check.check(again, self.plan.k, names, per_column=self.plan.per_column))
