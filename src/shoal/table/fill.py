"""Where a record with gaps lies, for grouping only: among the records that it resembles in what it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.table.column import Column

#: Records of a cell that are looked at for each gap, and how many of them are its neighbours.
DONORS, NEIGHBOURS = 1000, 5
_CHUNK = 1000


def fill(
    points: NDArray[np.float64],
    columns: Sequence[Column],
    spans: Sequence[slice],
    cells: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """The points with each gap moved to the mean of the five most similar records of its cell that have a value.

    Similar is by the squared distance over the columns that both have, times columns / shared columns. In a
    cell of more than 1000 records, every so many-th is looked at. A column that nobody in the cell has
    stays at 0 for all; a record that shares no column with any other lies at the cell's mean.
    """
    gappy = [j for j, column in enumerate(columns) if column.gaps is not None]
    if not gappy or len(columns) == 1:
        return points
    has = np.ones((len(points), len(columns)), bool)
    for j in gappy:
        has[:, j] = ~columns[j].gaps
    filled = points.copy()
    cells = np.zeros(len(points), np.int64) if cells is None else cells
    order = np.argsort(cells, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(cells))[:-1]):
        if len(np.unique(has[rows], axis=0)) > 1:
            filled[rows] = _fill_cell(points[rows], has[rows], spans)
    return filled


def _fill_cell(
    points: NDArray[np.float64], has: NDArray[np.bool_], spans: Sequence[slice]
) -> NDArray[np.float64]:
    filled = points.copy()
    some = has.any(axis=0) & ~has.all(axis=0)
    widths = [span.stop - span.start for span in spans]
    for j in np.flatnonzero(some):
        owners, takers = np.flatnonzero(has[:, j]), np.flatnonzero(~has[:, j])
        owners = owners[:: -(-len(owners) // DONORS)]
        masked = np.where(np.repeat(has[owners], widths, axis=1), points[owners], 0.0)
        for begin in range(0, len(takers), _CHUNK):
            part = takers[begin : begin + _CHUNK]
            own = np.repeat(has[part], widths, axis=1)
            apart = partial_distances(np.where(own, points[part], 0.0), has[part], masked, has[owners], widths)
            near = np.argsort(np.round(apart, 9), axis=1, kind="stable")  # ties in the order of the records
            near = near[:, :NEIGHBOURS]
            nobody = ~np.isfinite(np.take_along_axis(apart, near, axis=1))
            values = np.where(nobody[:, :, None], np.nan, points[owners][near][:, :, spans[j]])
            alone = nobody.all(axis=1)
            values[alone, 0] = points[owners, spans[j]].mean(axis=0)
            filled[part, spans[j]] = np.nanmean(values, axis=1)
    return filled


def partial_distances(
    X: NDArray[np.float64],
    has_X: NDArray[np.bool_],
    Y: NDArray[np.float64],
    has_Y: NDArray[np.bool_],
    widths: Sequence[int],
) -> NDArray[np.float64]:
    """Squared distances over the columns that both have, times columns / shared columns; else infinite.

    `has` tells, for each record and column, whether there is a value; points are 0 where there is none.
    """
    mask_X = np.repeat(has_X, widths, axis=1).astype(np.float64)
    mask_Y = np.repeat(has_Y, widths, axis=1).astype(np.float64)
    squares = np.square(X) @ mask_Y.T + mask_X @ np.square(Y).T - 2 * (X @ Y.T)
    shared = has_X.astype(np.float64) @ has_Y.astype(np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shared > 0, np.maximum(squares, 0.0) * has_X.shape[1] / shared, np.inf)
