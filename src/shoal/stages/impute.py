"""Where a record with gaps lies, for grouping only: among the records that it resembles in what it has."""

from collections.abc import Sequence

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.frame.column import Column
from shoal.grouping.partition import rows_of

#: Records of a stratum that are looked at for each gap, and how many of them are its neighbours.
DONORS, NEIGHBOURS = 1000, 5
_CHUNK = 1000


def impute(points: Floats, columns: Sequence[Column], spans: Sequence[slice], strata: Ints | None) -> Floats:
    """The points, with each gap at the mean of the five most similar records of its stratum with a value.

    Similar is by the squared distance over the columns that both have, times columns / shared columns. In a
    stratum of more than 1000 records, every so many-th is looked at. A column that nobody in the stratum has
    stays at 0 for all; a record that shares no column with any other lies at the stratum's mean. `strata` are
    any sets of records that groups never cross, gap patterns too.
    """
    has = np.stack([column.there for column in columns], axis=1)
    if has.all() or len(columns) == 1:
        return points
    filled = points.copy()
    strata = np.zeros(len(points), np.int64) if strata is None else strata
    for rows in rows_of(strata):
        for j, span in enumerate(spans):
            if 0 < has[rows, j].sum() < len(rows):
                filled[rows, span] = _filled(points[rows], has[rows], j, spans)
    return filled


def _filled(points: Floats, has: Bools, j: int, spans: Sequence[slice]) -> Floats:
    """The coordinates of column j in one stratum."""
    widths = [span.stop - span.start for span in spans]
    owners, takers = np.flatnonzero(has[:, j]), np.flatnonzero(~has[:, j])
    owners = owners[:: -(-len(owners) // DONORS)]
    theirs, middle = points[owners, spans[j]], points[owners, spans[j]].mean(axis=0)
    imputed = points[:, spans[j]].copy()
    for begin in range(0, len(takers), _CHUNK):
        part = takers[begin : begin + _CHUNK]
        apart = partial_distances(points[part], has[part], points[owners], has[owners], widths)
        near = np.argsort(np.round(apart, 9), axis=1, kind="stable")[:, :NEIGHBOURS]  # ties by row
        counts = np.isfinite(np.take_along_axis(apart, near, axis=1))
        sums = (theirs[near] * counts[:, :, None]).sum(axis=1)
        shared = counts.sum(axis=1)[:, None]
        imputed[part] = np.where(shared > 0, sums / np.maximum(shared, 1), middle)
    return imputed


def partial_distances(X: Floats, has_X: Bools, Y: Floats, has_Y: Bools, widths: Sequence[int]) -> Floats:
    """Squared distances over the columns that both have, times columns / shared columns; else infinite.

    `has` tells, for each record and column, whether there is a value.
    """
    mask_X = np.repeat(has_X, widths, axis=1).astype(np.float64)
    mask_Y = np.repeat(has_Y, widths, axis=1).astype(np.float64)
    X, Y = X * mask_X, Y * mask_Y
    squares = np.square(X) @ mask_Y.T + mask_X @ np.square(Y).T - 2 * (X @ Y.T)
    shared = has_X.astype(np.float64) @ has_Y.astype(np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shared > 0, np.maximum(squares, 0.0) * has_X.shape[1] / shared, np.inf)
