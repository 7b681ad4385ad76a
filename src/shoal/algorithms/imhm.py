"""IMHM: the optimal partition of a sequence, in turn with the best re-assignment to its centroids."""

import numpy as np

from shoal.algorithms.mdav import mdav
from shoal.algorithms.orders import (
    LEAST_GAIN,
    group_order,
    neighbour_lists,
    npn_order,
    partition_along,
    tour_order,
)
from shoal.arrays import Floats, Ints
from shoal.errors import InputError, did_you_mean
from shoal.grouping.partition import Partition
from shoal.grouping.registry import method
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.search.transport import transport

CHOICES = 32  # nearest groups that a record may be re-assigned to

ORDERS = {
    "mdav": lambda X, k: group_order(X, mdav(X, k)),
    "npn": lambda X, k: npn_order(X),
    "tour": lambda X, k: tour_order(X),
}


def reassign(X: Floats, k: int, labels: Ints, choices: int = CHOICES) -> Ints:
    """Records to the partition's centroids at the least sum of squared distances, groups of k..2k-1: labels.

    A transportation problem, solved exactly over each record's nearest `choices` groups and its own.
    """
    partition = Partition(labels)
    means = partition.means(X)
    near, costs = nearest(X, choices, among=means)
    absent = np.flatnonzero((near != partition.labels[:, None]).all(1))
    near[absent, -1] = partition.labels[absent]
    costs[absent, -1] = np.square(X[absent] - means[near[absent, -1]]).sum(1)
    return transport(near.astype(np.int64), costs, len(means), k, 2 * k - 1)


@method(title="IMHM", paper="Mortazavi, Jalili and Gohargazi 2013", sizes="k..2k-1", cost="rounds * n^2/k")
def imhm(X, k, *, order="mdav"):
    """Cut a sequence optimally, re-assign the records to the centroids, order them anew; repeat.

    Only the paper's abstract is public; this loop in its spirit is ours. `order` begins it: "mdav" (MDAV's
    groups, chained), "npn", "tour", or a permutation of the rows. The re-assignment keeps the number of
    groups and solves a transportation problem; the new order goes group by group as RepOrdMic's does (nearest
    insertion). Neither step can raise the SSE; a round that gains less than 1e-7 is the last.
    """
    if isinstance(order, str):
        if order not in ORDERS:
            raise InputError(f"unknown order {order!r}: {did_you_mean(order, ORDERS)}")
        order = ORDERS[order](X, k)
    near = neighbour_lists(X)
    labels = partition_along(X, k, order)
    sse, before = Partition(labels).sse(X), np.inf
    while before - sse >= LEAST_GAIN:
        better = partition_along(X, k, group_order(X, reassign(X, k, labels), "nearest", near))
        before, now = sse, Partition(better).sse(X)
        if now < sse:
            labels, sse = better, now
    return labels
