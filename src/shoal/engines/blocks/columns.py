"""The columns that blocks need, read batch by batch, and written back in the type they are stored in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engines.blocks.facts import Tally
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column, Measured, Whole, categories
from shoal.frame.frame import Frame
from shoal.frame.types import as_weights, read_column
from shoal.plan.rules import Rule
from shoal.stages.publish import GroupValues
from shoal.stages.require import Part
from shoal.stages.strata import combined
from shoal.words import CATEGORIES

#: Columns that recoding changes stand, as they were, beside the others under this name and their own.
WAS = "__shoal_was_"
#: And protected strata, where small ones were merged, or one part of columns is replaced after another.
MERGED = "__shoal_stratum_"
#: How far recoding moves the values of a column of numbers.
MOVED = "__shoal_moved_"


@dataclass(frozen=True)
class StoredColumn:
    """A column: its name, its type, the Arrow type that it is stored in, and codes for gaps.

    A category is read only after its different cells were `listed` in a pass over the whole table; `levels`
    are the ordered ones that the user gave.
    """

    name: str
    type: str
    stored: Any
    codes: tuple[Any, ...] = ()
    levels: tuple[Any, ...] = ()
    listed: Any = None
    counts: tuple[int, ...] = ()  # how often each listed cell occurs
    whole: Whole | None = field(default=None, compare=False)  # what groups are compared with
    prefix: str = ""  # WAS: the column before it was recoded; MERGED: the stratum that it was merged with
    before: "StoredColumn | None" = None  # of a recoded column: what it was
    measured: Measured | None = field(default=None, compare=False)  # of a recoded column
    decimals: int | None = None  # to round what is published to

    @property
    def at(self) -> str:
        """What the column is called in batches."""
        return self.prefix + self.name

    @property
    def categorical(self) -> bool:
        return self.type in (*CATEGORIES, "text")

    def listing(self, cells: Mapping[Any, int]) -> "StoredColumn":
        """The column with its different cells, and how often each occurs."""
        listed = pa.array(list(cells), self._plain)
        made = replace(self, listed=listed, counts=tuple(cells.values()))
        if not made._coded.categorical:
            raise InputError(
                f"column {self.name!r} spells numbers as text: convert it, or call it nominal (--type)"
            )
        return replace(made, type=made._coded.type)

    @property
    def _plain(self) -> Any:
        return self.stored.value_type if pa.types.is_dictionary(self.stored) else self.stored

    @cached_property
    def _coded(self) -> Column:
        """What each listed cell is: a level or a gap."""
        frame = Frame(pa.table({self.name: self.listed}), first_row=None)
        kind = None if self.type == "text" else self.type
        return read_column(frame, self.name, kind, self.levels, self.codes)

    def cells(self, cells: Any) -> Any:
        """Cells of a category as one Arrow array of plain values."""
        cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        return cells.cast(self._plain)

    def read(self, cells: Any, first_row: int | None = None) -> Column:
        """The cells of one batch; `first_row` is the place of its first row in the whole table, if known."""
        if self.categorical:
            places = pc.index_in(self.cells(cells), value_set=self.listed)
            if places.null_count:
                raise CheckFailed(f"column {self.name!r} has changed meanwhile: protect it again")
            return self._coded.at(places.to_numpy(zero_copy_only=False))
        frame = Frame(pa.table({self.name: cells}), first_row=first_row)
        column = read_column(frame, self.name, self.type, codes=self.codes)
        return column if self.decimals is None else replace(column, decimals=self.decimals)

    def of(self, batch: Any, first_row: int | None = None) -> Column:
        """The cells of an Arrow batch or table."""
        return self.read(batch.column(self.at), first_row)

    def gaps(self, cells: Any, first_row: int | None = None) -> NDArray[np.bool_]:
        """Which cells of one batch are gaps; a category need not be listed for it."""
        kind = "nominal" if self.categorical else self.type
        frame = Frame(pa.table({self.name: cells}), first_row=first_row)
        return ~read_column(frame, self.name, kind, codes=self.codes).there

    @cached_property
    def empty(self) -> Column:
        """The column without records: it tells in which numbers values are held."""
        if not self.categorical:
            return self.read(pa.array([], self.stored))
        kind = "nominal" if self.type == "text" else self.type
        nobody = np.zeros(0, np.int64)
        return self._coded.at(nobody) if self.listed is not None else Column(self.name, kind, nobody)

    def published(self, groups: GroupValues, labels: NDArray) -> Any:
        """What the groups of these records publish, as Arrow cells of the column's own type."""
        gaps = None if groups.gaps is None else groups.gaps[labels]
        made = self.empty.holding(groups.values[labels], gaps)
        cells = self.listed.take(pa.array(made.rows_of_levels())) if self.categorical else made.to_arrow()
        return cells.cast(self.stored)

    @property
    def level_count(self) -> int:
        return len(self._coded.first)  # type: ignore[arg-type]

    def level(self, code: int) -> Any:
        """What a level of a category is called."""
        return self.listed[int(self._coded.first[code])].as_py()  # type: ignore[index]

    def cells_of(self, levels: Ints) -> Any:
        """Cells of a category that have these levels, counted from 1; 0 is a gap."""
        rows = np.append(self._coded.first, self._coded.gap_row)  # type: ignore[arg-type]
        return self.listed.take(pa.array(rows[levels - 1]))

    def moments(self) -> "Tally":
        """What is known of a category."""
        coded, counts = self._coded, np.array(self.counts, np.int64)
        there = coded.there
        levels = np.bincount(coded.values[there], counts[there], minlength=1).astype(np.int64)
        return Tally(self.type, levels, int(counts[~there].sum()))

    def joined(self, was: "StoredColumn", new: Mapping[Any, Any]) -> tuple[Column, Ints]:
        """What became of each level that the column had, measured, and how often that level occurs."""
        old = was._coded
        rows = np.flatnonzero(old.there)
        cells = pa.array([new[level] for level in was.listed.take(pa.array(rows)).to_pylist()], self._plain)
        column, often = self.read(cells), np.array(was.counts, np.int64)[rows]
        often = often if column.gaps is None else np.where(column.gaps, 0, often)
        scale = was.moments().scale()
        points = scale.apply(old.values[rows]).reshape(len(rows), -1)
        count = np.maximum(np.bincount(column.values, often, self.level_count), 1)
        sums = [np.bincount(column.values, often * axis, self.level_count) for axis in points.T]
        measured = Measured(scale, np.stack(sums, axis=1) / count[:, None])
        return replace(column, before=old.at(rows), measured=measured), often


@dataclass(frozen=True)
class Needed:
    """The columns that the grouping of a block needs: those to protect, and what else the plan names.

    `kept` are those that are recoded only: no block needs them.
    """

    chosen: tuple[StoredColumn, ...]
    strata: tuple[StoredColumn, ...] = ()
    weight: StoredColumn | None = None
    watched: tuple[tuple[Rule, StoredColumn], ...] = ()
    kept: tuple[StoredColumn, ...] = ()

    @property
    def was(self) -> list[StoredColumn]:
        """Those to protect that are recoded, as they were."""
        return [column.before for column in self.chosen if column.before is not None]

    @property
    def columns(self) -> list[StoredColumn]:
        """All of them, those to protect first."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.chosen, *self.strata, *weight, *(column for _, column in self.watched), *self.was]

    def part(self, names: Sequence[str]) -> "Needed":
        """What is needed where these columns are grouped apart from the others that are protected."""
        others = {column.name for column in self.chosen}.difference(names)
        chosen = {column.name: column for column in self.chosen}
        return replace(
            self,
            chosen=tuple(chosen[name] for name in names),
            watched=tuple((rule, column) for rule, column in self.watched if column.name not in others),
        )

    def beside(self, names: Collection[str]) -> "Needed":
        """The same with these strata read from where they stand beside the protected columns."""
        return replace(
            self, strata=tuple(replace(c, prefix=MERGED) if c.name in names else c for c in self.strata)
        )

    @property
    def moves(self) -> list[tuple[StoredColumn, StoredColumn]]:
        """The columns that are recoded only, each with what it was."""
        return [(column, column.before) for column in self.kept if column.before is not None]

    @property
    def names(self) -> list[str]:
        """The names to read; a column that is needed twice is read once."""
        return list(dict.fromkeys(column.at for column in self.columns))

    def complete(self, cells: Any, first_row: int | None = None) -> NDArray[np.bool_]:
        """Which records of an Arrow batch have no gap in a column to protect."""
        return ~np.any([column.gaps(cells.column(column.name), first_row) for column in self.chosen], axis=0)

    def read(self, cells: Any, first_row: int | None = None) -> list[Column]:
        """All columns of an Arrow batch or table."""
        return [column.of(cells, first_row) for column in self.columns]

    def title(self, combination: int) -> str:
        """What a stratum is called, by the number of its combination of levels (`combination_of`)."""
        codes = zip(self.strata, self.levels_in(combination))
        return " / ".join(f"no {c.name}" if code == 0 else str(c.level(code - 1)) for c, code in codes)

    def levels_in(self, combination: Any) -> list[Any]:
        """Of each stratum column the level in combinations of them, from 1; 0 is a gap."""
        found = []
        for column in reversed(self.strata):
            combination, code = divmod(combination, 1 + column.level_count)
            found.append(code)
        return found[::-1]

    def divided(
        self, columns: Sequence[Column], units: Ints | None, scales: Sequence[Any] | None = None
    ) -> Part:
        """These columns, which `read` gave, by what they are for; one of several blocks has the `scales`."""
        rest = iter(columns)
        chosen = [next(rest) for _ in self.chosen]
        strata = [next(rest) for _ in self.strata]
        weight = None if self.weight is None else as_weights(next(rest))
        watched = []
        for (rule, stored), own in zip(self.watched, rest):
            if scales and stored.whole:
                own = replace(own, whole=stored.whole)
            elif own.categorical:  # only the levels of these records count
                own = categories(own.name, own.type, own.values, own.gaps)
            watched.append((rule, own))
        for j, column in enumerate(self.chosen):
            if column.before is not None:
                measured = column.measured if scales else None
                chosen[j] = replace(chosen[j], before=next(rest), measured=measured)
        return Part(chosen, combined(strata) if strata else None, weight, units, watched, scales)
