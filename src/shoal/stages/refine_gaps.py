"""Groups of records with different gaps, improved by the distance over the values that both have."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.search.gaps import Groups, descend, dissolve, means, rings
from shoal.kernels.search.required import NOTHING, Asked, Kernels, compiled

#: Visits of each record at the most. It is a guard: on the tables of benchmarks/gaps.py records come to rest
#: within a dozen visits.
PASSES = 100
#: A record is moved if the loss falls by this part of the mean loss of a record: less is rounding.
LEAST = 1e-9
#: Bytes for what is known of groups with a record of one kind in the place of one of another.
MOST_TOLD = 1 << 26


def refine_gaps(
    partition: Partition,
    points: Floats,
    columns: Sequence[Column],
    spans: Sequence[slice],
    strata: Ints | None,
    k: int,
    time_limit: float | None = None,
    passes: int = PASSES,
) -> Partition:
    """The partition, with records moved where that lowers the SSE over the values that are there.

    Only in strata (or gap patterns) whose records differ in their gaps. `points` has a place for each gap,
    by which a record's nearest records are found; the SSE knows nothing of it.
    """
    has = values_there(columns, spans)
    if has is None or k == 1:
        return partition
    end = None if time_limit is None else time.perf_counter() + time_limit
    strata = np.zeros(len(points), np.int64) if strata is None else strata
    order = np.lexsort((partition.labels, strata))  # members of a group side by side: twice as fast
    labels = partition.labels[order]
    begin = 0
    for size in np.bincount(strata):
        here, begin = slice(begin, begin + size), begin + size
        rows = order[here]
        if size >= 2 * k and (has[rows].any(axis=0) != has[rows].all(axis=0)).any():
            names, numbers = np.unique(labels[here], return_inverse=True)
            labels[here] = names[refine_stratum(points[rows], has[rows], numbers, k, end, passes)]
    refined = np.empty_like(labels)
    refined[order] = labels
    return Partition(refined)


def values_there(columns: Sequence[Column], spans: Sequence[slice]) -> Bools | None:
    """Whether each record has a value, for each coordinate; None if all have all."""
    if all(column.gaps is None for column in columns):
        return None
    widths = [span.stop - span.start for span in spans]
    return np.repeat(np.stack([column.there for column in columns], axis=1), widths, axis=1)


def refine_stratum(
    points: Floats, has: Bools, labels: Ints, k: int, end: float | None = None, passes: int = PASSES
) -> Ints:
    """Better labels of the records of one stratum, whose groups 0, 1, .. have at least k records each."""
    gs = in_groups(points, has, labels)
    settle(
        gs, candidates(points, k), k, 2 * k - 1, (compiled([]), NOTHING, np.empty(0, np.int64)), end, passes
    )
    return gs.labels


def in_groups(points: Floats, has: Bools, labels: Ints, kinds: int = 0) -> Groups:
    """The records as the search takes them; every group is taken for changed.

    `kinds` is how many kinds of records requirements tell apart.
    """
    n, d = points.shape
    P, there = np.zeros((n + 1, d)), np.zeros((n + 1, d), np.int8)  # one row more, for `no record`
    P[:n], there[:n] = points - points.mean(axis=0), has
    labels, groups = labels.astype(np.int64), int(labels.max()) + 1
    after, before = np.empty(n, np.int64), np.empty(n, np.int64)
    sizes = rings(labels, groups, after, before)
    C, counts = np.zeros((groups, d)), np.zeros((groups, d), np.int64)
    means(P, there, labels, C, counts)
    changed, fails, worth = np.zeros(groups, np.int64), np.zeros(groups, bool), np.zeros(groups)
    told = np.zeros((groups if groups * kinds**2 <= MOST_TOLD else 0, kinds, kinds), np.int8)
    return Groups(P, there, C, counts, sizes, labels, after, before, changed, fails, worth, told)


def settle(
    gs: Groups,
    neighbours: NDArray[np.int32],
    k: int,
    most: int,
    tables: tuple[Kernels, Asked, Ints],
    end: float | None = None,
    passes: int = PASSES,
    least: float = LEAST,
) -> None:
    """Move records until no move helps; where groups may have more than 2k-1, dissolve groups as well."""
    n, moves, since = len(gs.labels), 0, 0
    seen = np.full(n, -1)
    for done in range(passes):
        if end is not None and time.perf_counter() > end:
            break
        if done:
            means(gs.P, gs.has, gs.labels, gs.C, gs.counts)
        gain = least * float(np.square(gs.P[:n] - gs.C[gs.labels])[gs.has[:n] > 0].sum()) / n
        already = moves
        moves = descend(gs, neighbours, k, most, gain, seen, moves, *tables)
        if most >= 2 * k:
            since, moves = moves + 1, dissolve(gs, neighbours, gain, since, moves, *tables)
        if moves == already:
            break


def candidates(points: Floats, k: int, count: int | None = None) -> NDArray[np.int32]:
    """For each record those whose groups it may join: `count` of them, or 2k + 8."""
    return nearest(np.ascontiguousarray(points), count or 2 * k + 8)[0]
