"""Groups of records with and without a value, brought to rest by the distance over what both have."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.search.gaps import descend, means, rings

#: Visits of each record at the most, and by how small a part of the mean loss of a record it is moved.
PASSES, LEAST = 100, 1e-9


def settle(
    partition: Partition,
    points: NDArray[np.float64],
    columns: Sequence[Column],
    spans: Sequence[slice],
    cells: NDArray[np.int64] | None,
    k: int,
    time_limit: float | None = None,
) -> Partition:
    """The partition, with records moved where that lowers the SSE over the values that are there.

    Only in cells whose records differ in their gaps. `points` has a place for each gap, by which a record's
    nearest records are found; the SSE knows nothing of it.
    """
    has = _values_there(columns, spans)
    if has is None or k == 1:
        return partition
    end = None if time_limit is None else time.perf_counter() + time_limit
    cells = np.zeros(len(points), np.int64) if cells is None else cells
    order = np.lexsort((partition.labels, cells))  # members of a group side by side: twice as fast
    labels = partition.labels[order]
    begin = 0
    for size in np.bincount(cells):
        cell, begin = slice(begin, begin + size), begin + size
        rows = order[cell]
        if size >= 2 * k and (has[rows].any(axis=0) != has[rows].all(axis=0)).any():
            names, own = np.unique(labels[cell], return_inverse=True)
            labels[cell] = names[settle_cell(points[rows], has[rows], own, k, end)]
    settled = np.empty_like(labels)
    settled[order] = labels
    return Partition(settled)


def _values_there(columns: Sequence[Column], spans: Sequence[slice]) -> NDArray[np.bool_] | None:
    """Whether each record has a value, for each coordinate; None if all have all."""
    if all(column.gaps is None for column in columns):
        return None
    has = np.ones((len(columns[0].values), spans[-1].stop), bool)
    for column, span in zip(columns, spans):
        if column.gaps is not None:
            has[column.gaps, span] = False
    return has


def settle_cell(
    points: NDArray[np.float64],
    has: NDArray[np.bool_],
    labels: NDArray[np.int64],
    k: int,
    end: float | None = None,
) -> NDArray[np.int64]:
    """Better labels of the records of one cell, whose groups 0, 1, .. have at least k records each."""
    neighbours = candidates(points, k)
    n, d = points.shape
    P, there = np.zeros((n + 1, d)), np.zeros((n + 1, d), np.int8)  # the last one is nobody, and has nothing
    P[:n], there[:n] = points - points.mean(axis=0), has
    labels, groups = labels.astype(np.int64), int(labels.max()) + 1
    after, before = np.empty(n, np.int64), np.empty(n, np.int64)
    sizes = rings(labels, groups, after, before)
    C, counts = np.zeros((groups, d)), np.zeros((groups, d), np.int64)
    changed, seen = np.zeros(groups, np.int64), np.full(n, -1)
    moves = 0
    for _ in range(PASSES):
        if end is not None and time.perf_counter() > end:
            break
        means(P, there, labels, C, counts)
        least = LEAST * float(np.square(P[:n] - C[labels])[has].sum()) / n
        state = (sizes, labels, after, before, neighbours, k, least, changed, seen)
        moves, already = descend(P, there, C, counts, *state, moves), moves
        if moves == already:
            break
    return labels


def candidates(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """For each record those whose groups it may join."""
    return nearest(np.ascontiguousarray(points), 2 * k + 8)[0]
