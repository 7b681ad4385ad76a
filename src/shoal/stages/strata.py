"""Strata: sets of records, named by the user, that groups never cross."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, require_few_codes
from shoal.stages.encode import encode


class Strata(NamedTuple):
    """The stratum of each record, 0, 1, ..; what each is called, and a row that shows what it publishes.

    `cells` has for each column its cells as numbers.
    """

    ids: Ints
    titles: list[str]
    first: Ints
    cells: dict[Any, Ints]
    notes: tuple[str, ...] = ()

    def published(self, protected: Collection[Any]) -> tuple[dict[Any, Column], tuple[str, ...]]:
        """The columns in which records publish their stratum's cell instead of their own, and notes.

        A stratum column that is protected itself publishes what its groups do.
        """
        rows = self.first[self.ids]
        other = {name: cells[rows] != cells for name, cells in self.cells.items() if name not in protected}
        names = [name for name in other if other[name].any()]
        changed = {name: Column(name, "nominal", self.ids, first=self.first) for name in names}
        records = int(np.logical_or.reduce(list(other.values())).sum()) if changed else 0
        return changed, (*self.notes, *merged_note(records, list(changed)))


def merged_note(records: int, names: Sequence[Any]) -> list[str]:
    """A note on records that publish the cells of another stratum in these columns."""
    if not names:
        return []
    said = ", ".join(map(str, names))
    return [f"{records:,} records publish the {said} of the stratum that theirs was merged with"]


def read_strata(
    frame: Frame, names: Sequence[Any], codes_of: Callable[[Any], Sequence[Any]] = lambda name: ()
) -> Strata:
    """One stratum for each combination of values in these columns; a gap (or its code) is a value too."""
    columns = [read_column(frame, name, "nominal") for name in names]
    cells = {name: from_one(column) for name, column in zip(names, columns)}
    for j, name in enumerate(names):
        if codes_of(name):
            columns[j] = require_few_codes(read_column(frame, name, "nominal", codes=codes_of(name)))
    ids = combined(columns)
    _, first = np.unique(ids, return_index=True)
    shown = [frame.arrow(name).take(first).to_pylist() for name in names]
    said = [[f"no {n}" if v is None else str(v) for v in column] for n, column in zip(names, shown)]
    return Strata(ids, [" / ".join(words) for words in zip(*said)], first, cells)


def combined(columns: Sequence[Column]) -> Ints:
    """One number 0, 1, .. for each combination of levels; a gap is a level too."""
    ids = np.zeros(len(columns[0].values), np.int64)
    for column in columns:
        levels = from_one(column)
        ids = np.unique(ids * (levels.max(initial=0) + 1) + levels, return_inverse=True)[1]
    return ids


def from_one(column: Column) -> Ints:
    """Levels 1, 2, ..; a gap is 0."""
    return np.where(column.there, column.values + 1, 0)


def refuse_short(k: int, short: Mapping[str, int], whom: str) -> None:
    """Say which strata have too few records or units."""
    said = [f"{title!r} has {count}" for title, count in short.items()]
    more = f" (and {len(said) - 3} more are short)" if len(said) > 3 else ""
    raise InputError(
        f"k={k} needs at least {k} {whom}, but stratum {', '.join(said[:3])}{more}: "
        "merge strata (merge_small_strata, --merge-small-strata) or lower k"
    )


def merge_small(
    strata: Strata, k: int, columns: Sequence[Column], merge: bool, units: Ints | None = None
) -> Strata:
    """No stratum is short of k: an error names the first that is, or each joins the most similar one.

    Similar means: nearest by the mean of the standardised columns. With `units`, k counts distinct units.
    """
    pairs = None if units is None else np.unique(np.stack([strata.ids, units]), axis=1)
    sizes = np.bincount(strata.ids)
    counts = sizes if pairs is None else np.bincount(pairs[0])
    if counts.min(initial=k) >= k:
        return strata
    if not merge:
        whom = "records" if units is None or len(np.unique(units)) == len(units) else "units"
        refuse_short(k, {strata.titles[s]: int(counts[s]) for s in np.flatnonzero(counts < k)}, whom)
    points = encode(columns).matrix
    sums = np.stack([np.bincount(strata.ids, axis, len(sizes)) for axis in points.T], axis=1)
    into, notes = join_small(k, strata.titles, sizes, sums.astype(np.float64), pairs)
    left, ids = np.unique(into[strata.ids], return_inverse=True)
    return Strata(ids, [strata.titles[s] for s in left], strata.first[left], strata.cells, tuple(notes))


def join_small(
    k: int, titles: Sequence[str], sizes: Ints, sums: Floats, pairs: Ints | None
) -> tuple[Ints, list[str]]:
    """For each stratum the one that it is merged with, or itself; by its records and sums of coordinates.

    `pairs` has each stratum with each of its units once, where k counts units.
    """
    into, notes = np.arange(len(sizes)), list[str]()
    sizes, sums = sizes.copy(), sums.copy()
    pairs = None if pairs is None else pairs.copy()
    counts = sizes if pairs is None else np.bincount(pairs[0])
    while np.min(counts, where=sizes > 0, initial=k) < k:
        small = int(np.argmin(np.where(sizes > 0, counts, np.iinfo(np.int64).max)))
        means = sums / np.maximum(sizes, 1)[:, None]
        distance = np.square(means - means[small]).sum(axis=1)
        distance[(sizes == 0) | (np.arange(len(sizes)) == small)] = np.inf
        target = int(np.argmin(distance))
        notes.append(f"stratum {titles[small]!r} ({sizes[small]} records) was merged with {titles[target]!r}")
        into[into == small] = target
        for facts in (sizes, sums):
            facts[target] += facts[small]
            facts[small] = 0
        if pairs is not None:
            pairs[0][pairs[0] == small] = target
            counts[target] = len(np.unique(pairs[1][pairs[0] == target]))
    return into, notes
