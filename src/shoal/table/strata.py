"""Cells that groups never cross: strata as the user names them, and patterns of gaps within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.table.column import Column
from shoal.table.encode import encode
from shoal.table.frame import Frame
from shoal.table.types import read_column

#: Patterns of gaps that are weighed against one another; rarer ones join the nearest of these at once.
MOST_PATTERNS = 200


class Strata(NamedTuple):
    """The stratum of each record, 0, 1, ..; and what each is called."""

    ids: NDArray[np.int64]
    titles: list[str]
    notes: tuple[str, ...] = ()


def read_strata(frame: Frame, names: Sequence[Any]) -> Strata:
    """One stratum for each combination of values in these columns; a gap is a value of its own."""
    ids = np.zeros(len(frame), np.int64)
    parts = []
    for name in names:
        column = read_column(frame, name, "nominal")
        codes = column.values + 1
        if column.gaps is not None:
            codes[column.gaps] = 0
        parts.append(codes)
        ids = np.unique(ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    _, first = np.unique(ids, return_index=True)
    cells = [frame.arrow(name).take(first).to_pylist() for name in names]
    titles = [
        " / ".join("no " + str(n) if v is None else str(v) for n, v in zip(names, t)) for t in zip(*cells)
    ]
    return Strata(ids, titles)


def merge_small(strata: Strata, k: int, columns: Sequence[Column], merge: bool) -> Strata:
    """No stratum is short of k: an error names the first that is, or each joins the most similar one.

    Similar means: nearest by the mean of the standardised columns.
    """
    sizes = np.bincount(strata.ids)
    if sizes.min(initial=k) >= k:
        return strata
    if not merge:
        short = [f"{strata.titles[s]!r} has {sizes[s]}" for s in np.flatnonzero(sizes < k)]
        more = f" (and {len(short) - 3} more are short)" if len(short) > 3 else ""
        raise InputError(
            f"k={k} needs at least {k} records, but stratum {', '.join(short[:3])}{more}: "
            "merge strata (merge_small_strata, --merge-small-strata) or lower k"
        )
    points = encode(columns).matrix
    ids, notes = strata.ids.copy(), []
    sums = np.stack([np.bincount(ids, coordinate, len(sizes)) for coordinate in points.T], axis=1)
    while np.min(sizes, where=sizes > 0, initial=k) < k:
        small = int(np.argmin(np.where(sizes > 0, sizes, np.iinfo(np.int64).max)))
        means = sums / np.maximum(sizes, 1)[:, None]
        distance = np.square(means - means[small]).sum(axis=1)
        distance[(sizes == 0) | (np.arange(len(sizes)) == small)] = np.inf
        into = int(np.argmin(distance))
        one, other = strata.titles[small], strata.titles[into]
        notes.append(f"stratum {one!r} ({sizes[small]} records) was merged with {other!r}")
        ids[ids == small] = into
        for facts in (sizes, sums):
            facts[into] += facts[small]
            facts[small] = 0
    kept, ids = np.unique(ids, return_inverse=True)
    return Strata(ids, [strata.titles[s] for s in kept], tuple(notes))


def pattern_cells(
    columns: Sequence[Column], ids: NDArray[np.int64] | None, k: int
) -> NDArray[np.int64] | None:
    """Strata divided by which columns have gaps, where that leaves at least k records in each cell.

    Within a stratum the rarest pattern that is short of k joins the most similar pattern (fewest
    columns apart, then the commoner), until none is short. None stands for one cell of all records.
    """
    holes = [column.gaps for column in columns if column.gaps is not None]
    if not holes:
        return ids
    strata = np.zeros(len(holes[0]), np.int64) if ids is None else ids
    patterns, pattern = np.unique(np.stack(holes, axis=1), axis=0, return_inverse=True)
    cells, cell = np.unique(strata * len(patterns) + pattern.ravel(), return_inverse=True)
    stratum_of, pattern_of = np.divmod(cells, len(patterns))
    sizes, joined = np.bincount(cell), np.arange(len(cells))
    for stratum in np.unique(stratum_of):
        own = np.flatnonzero(stratum_of == stratum)
        joined[own] = own[_join(patterns[pattern_of[own]], sizes[own], k)]
    found = np.unique(joined[cell], return_inverse=True)[1]
    return found if found.any() else None


def _join(patterns: NDArray[np.bool_], sizes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """For each pattern, which one it joins (or itself) so that none is short of k."""
    order = np.argsort(-sizes, kind="stable")
    heads, into = order[:MOST_PATTERNS], np.arange(len(sizes))
    counts = sizes.astype(np.int64)
    for rare in order[MOST_PATTERNS:]:
        into[rare] = heads[np.argmin((patterns[heads] != patterns[rare]).sum(axis=1))]
        counts[into[rare]] += counts[rare]
    apart = (patterns[heads][:, None] != patterns[heads]).sum(axis=2).astype(float)
    np.fill_diagonal(apart, np.inf)
    counts = counts[heads]
    while counts.min(where=counts > 0, initial=k) < k:
        small = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.int64).max)))
        near = int(np.lexsort((-counts, apart[small]))[0])
        into[into == heads[small]] = heads[near]
        counts[near], counts[small] = counts[near] + counts[small], 0
        apart[near] = apart[:, near] = np.minimum(apart[near], apart[small])
        apart[small] = apart[:, small] = np.inf
        apart[near, near] = np.inf
    return into
