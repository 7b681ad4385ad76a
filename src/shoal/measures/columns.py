"""Columns before and after. In memory all are there; of large tables each is read when it is asked for."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools
from shoal.frame.large import PIECE
from shoal.io.private import storing


class Column(NamedTuple):
    """One column before and after: doubles (NaN is a gap), or numbers that stand for categories."""

    name: Any
    before: NDArray
    after: NDArray
    numeric: bool
    moment: bool = False  # microseconds since 1970
    ordered: bool = False  # of categories: whether their numbers follow their order
    gap: int = -1  # of categories: the number that stands for a gap
    levels: tuple[str, ...] = ()  # of categories: the text of each number
    largest: float = 0.0  # of numbers: without their sign, before and after

    @property
    def extreme(self) -> bool:
        """Whether squares of its numbers could overflow, or all vanish."""
        return self.numeric and self.largest != 0 and not 1e-100 < self.largest < 1e100

    def scaled(self) -> "Column":
        """Extreme magnitudes brought near 1, so that squares neither overflow nor vanish."""
        if not self.extreme:
            return self
        shift = -int(np.frexp(self.largest)[1])
        return self._replace(before=np.ldexp(self.before, shift), after=np.ldexp(self.after, shift))

    def itself(self) -> "Column":
        """The original beside itself."""
        return self._replace(after=self.before)

    @property
    def there(self) -> Bools:
        """Which records have a value in the original."""
        return ~np.isnan(self.before) if self.numeric else self.before != self.gap

    @property
    def complete(self) -> "Column":
        """The records that have a number before and after."""
        whole = ~(np.isnan(self.before) | np.isnan(self.after))
        return self if whole.all() else self._replace(before=self.before[whole], after=self.after[whole])

    def filled(self) -> tuple[NDArray, NDArray]:
        """Before and after, with gaps at the mean of the original's numbers."""
        present = self.before[~np.isnan(self.before)]
        mean = float((present / max(len(present), 1)).sum())  # divided first: the sum cannot overflow
        before, after = (np.where(np.isnan(v), mean, v) for v in (self.before, self.after))
        return before, after


class Columns(Sequence[Column]):
    """Columns that are asked for one by one: `heads` tell all but their cells, `read` gives rows of one."""

    def __init__(self, heads: Sequence[Column], read: Callable[[int, slice], Column]):
        self.heads, self._read = heads, read

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Columns":
        """Columns in memory."""

        def read(j: int, rows: slice) -> Column:
            return columns[j]._replace(before=columns[j].before[rows], after=columns[j].after[rows])

        return cls(columns, read)

    @classmethod
    def stored(cls, columns: Iterator[Column]) -> "Columns":
        """Columns that come one after another, and are stored on disk."""
        heads, sides, file = [], [], _Store()
        for column in columns:
            sides.append((file.add(column.before), file.add(column.after)))
            none = np.empty(0, column.before.dtype)  # no view of the cells, which would keep them in memory
            heads.append(column._replace(before=none, after=none))
            del column

        def read(j: int, rows: slice) -> Column:
            before, after = (side(rows) for side in sides[j])
            return heads[j]._replace(before=before, after=after)

        return cls(heads, read)

    def __len__(self) -> int:
        return len(self.heads)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return self.only(range(len(self))[j])
        return self._read(range(len(self))[j], slice(None))

    @property
    def names(self) -> list[Any]:
        return [column.name for column in self.heads]

    def only(self, chosen: Sequence[int]) -> "Columns":
        """Some of the columns."""
        return Columns([self.heads[j] for j in chosen], lambda j, rows: self._read(chosen[j], rows))

    @property
    def numbers(self) -> "Columns":
        return self.only([j for j, column in enumerate(self.heads) if column.numeric])

    def changed(self, change: Callable[[Column], Column]) -> "Columns":
        """The same, each changed when it is asked for: `change` looks at single cells alone."""
        return Columns(self.heads, lambda j, rows: change(self._read(j, rows)))

    def pieces(self, records: int, side: int) -> Iterator[NDArray]:
        """Rows of the columns as matrices, one after another; `side` 1 is before, 2 after."""
        for begin in range(0, records, PIECE):
            rows = slice(begin, min(begin + PIECE, records))
            yield np.stack([self._read(j, rows)[side] for j in range(len(self))], axis=1)


class _Store:
    """Arrays in one file without a name: it is gone when nobody reads it, or this process ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def add(self, array: NDArray) -> Callable[[slice], NDArray]:
        """Write it; gives what reads some of its rows."""
        begin, kind, records = self._file.seek(0, 2), array.dtype, len(array)
        with storing():
            self._file.write(np.ascontiguousarray(array).data)
            self._file.flush()

        def read(rows: slice) -> NDArray:
            first, last, _ = rows.indices(records)
            self._file.seek(begin + first * kind.itemsize)
            return np.fromfile(self._file, kind, last - first)

        return read
