"""Orders: ways to put the records of a table into one sequence.

Each returns a permutation: the rows in order of visit. None depends on k except through the groups that
`group_order` is given, so one order serves a whole range of k (`order=` of the methods in `mhm`). X is
standardised; ties go to the lowest row, and nothing is left to chance.
"""

import numpy as np
from numpy.typing import ArrayLike

from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.sequence import paths
from shoal.kernels.sequence.cut import cut
from shoal.kernels.sequence.tour import improve_tour

#: How a group is gone through: always on to the nearest record, or by inserting records into a path.
RULES = {"walk": paths.WALK, "nearest": paths.NEAREST, "cheapest": paths.CHEAPEST}
#: Of SSE, for another round of a method that orders and cuts by turns.
LEAST_GAIN = 1e-7
#: Nearest neighbours in each record's list. The order does not depend on it, only the time.
NEIGHBOURS = 24
#: The tour's 2-opt and Or-opt look at that many nearest neighbours of each record ...
TOUR_NEIGHBOURS = 10
#: ... and its search goes on for that many kicks for each record, and so many at most: of 60,000 records one
#: takes 0.4 ms.
KICKS, MOST_KICKS = 5, 500_000
#: Records above which a tour begins with nearest point next: six times as fast as insertion, and no worse.
LARGE = 50_000

Order = Ints


def npn_order(X: Floats) -> Order:
    """Nearest point next: from the record farthest from the centroid always on to the nearest free one."""
    nobody = np.empty((len(X), 0), np.int64)  # with a single group no neighbour lists are needed
    return group_order(X, np.zeros(len(X), np.int64), near=nobody)


def pca_order(X: Floats) -> Order:
    """By the first principal component, signed so that the attribute of greatest weight counts positive."""
    centred = X - X.mean(0)
    weights = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    weights = weights * np.sign(weights[np.argmax(np.abs(weights))])
    return np.argsort(centred @ weights, kind="stable")


def zscore_order(X: Floats) -> Order:
    """By the sum of the standardised values."""
    return np.argsort(X.sum(1), kind="stable")


def tour_order(X: Floats, kicks: int | None = None) -> Order:
    """Along a short round tour, from the record farthest from the centroid.

    Nearest insertion (above 50,000 records nearest point next), then 2-opt and Or-opt of up to three records
    over neighbour lists, then `kicks` random disturbances (None: five for each record, at most half a
    million) each of which is undone unless it shortens the tour.
    Of the two edges at the first record the longer is left out: that fixes the direction.
    """
    n = len(X)
    near = neighbour_lists(X, TOUR_NEIGHBOURS)
    start = paths.farthest_from_centroid(X)
    if n > LARGE:
        path = npn_order(X)
    else:
        path = paths.group_path(X, np.zeros(n, np.int64), near, start, paths.NEAREST, paths.LARGE)
    tour = improve_tour(X, near, path, min(KICKS * n, MOST_KICKS) if kicks is None else kicks)
    tour = np.roll(tour, -int(np.flatnonzero(tour == start)[0]))
    forth, back = np.square(X[tour[[1, -1]]] - X[start]).sum(1)
    return tour if (forth, tour[1]) <= (back, tour[-1]) else np.roll(tour[::-1], 1)


def group_order(X: Floats, labels: ArrayLike, rule: str = "walk", near: Ints | None = None) -> Order:
    """Group by group: from the record farthest from the centroid through its group, then to the nearest
    record of any group not yet visited, through that one's group, and so on.

    `rule` says how a group is gone through. "walk": always to the nearest record left. "nearest" and
    "cheapest" (RepOrdMic's prose and pseudo-code): from the first record to the one farthest from it,
    with the others inserted in between where they lengthen the path least; the next to be inserted is
    the record nearest to the path, or the one that lengthens it least. `near` may be given where
    many calls share it: each record's nearest neighbours (`neighbour_lists`).
    """
    groups = np.unique(labels, return_inverse=True)[1]
    lists = neighbour_lists(X) if near is None else near
    return paths.group_path(X, groups, lists, paths.farthest_from_centroid(X), RULES[rule], paths.LARGE)


def neighbour_lists(X: Floats, many: int = NEIGHBOURS) -> Ints:
    """Each record's nearest other records, nearest first."""
    return nearest(X, many)[0].astype(np.int64)


def partition_along(X: Floats, k: int, order: ArrayLike) -> Ints:
    """The best partition into groups of k..2k-1 records that stand together in the order: labels."""
    rows = np.asarray(order)
    n = len(X)
    if rows.shape != (n,) or rows.dtype.kind not in "iu" or not np.array_equal(np.sort(rows), np.arange(n)):
        raise InputError(f"an order must name each of the rows 0 to {n - 1} exactly once")
    labels = np.empty(n, np.int64)
    labels[rows] = cut(X[rows], k)
    return labels
