"""Put the records into a sequence, then cut it optimally: the family around MHM.

Every method takes `order=`, a permutation of the rows such as the functions of `shoal.algorithms.orders`
return: made once, it serves a whole range of k, and the method's own order is not computed.
"""

from shoal.algorithms import orders
from shoal.algorithms.fixed_size import cbfs, md
from shoal.algorithms.mdav import mdav
from shoal.grouping.registry import method

VLDB = "Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe 2006"
NIN = "Nin, Herranz and Torra 2008"


@method(title="NPN-MHM", paper=VLDB, sizes="k..2k-1", cost="n^2")
def npn_mhm(X, k, *, order=None):
    """Walk from the record farthest from the centroid always to the nearest next; cut the path optimally."""
    return orders.partition_along(X, k, orders.npn_order(X) if order is None else order)


@method(title="MDAV-MHM", paper=VLDB, sizes="k..2k-1", cost="n^2")
def mdav_mhm(X, k, *, order=None):
    """Chain MDAV's groups into one path and cut it optimally: never worse than MDAV.

    How the groups are chained is our reading (as in MD-MHM and CBFS-MHM): from the record farthest from
    the centroid to the nearest record within the group, then to the nearest record of any other group.
    """
    return _chained(X, k, order, mdav)


@method(title="MD-MHM", paper=VLDB, sizes="k..2k-1", cost="n^2/k, up to n^3/k")
def md_mhm(X, k, *, order=None):
    """Chain the groups of MD into one path, as in MDAV-MHM, and cut it optimally."""
    return _chained(X, k, order, md)


@method(title="CBFS-MHM", paper=VLDB, sizes="k..2k-1", cost="n^2")
def cbfs_mhm(X, k, *, order=None):
    """Chain the groups of CBFS into one path, as in MDAV-MHM, and cut it optimally."""
    return _chained(X, k, order, cbfs)


@method(title="PCA-MHM", paper=NIN, sizes="k..2k-1", cost="n log n + k n")
def pca_mhm(X, k, *, order=None):
    """Sort by the first principal component and cut the sequence optimally."""
    return orders.partition_along(X, k, orders.pca_order(X) if order is None else order)


@method(title="Z-score-MHM", paper=NIN, sizes="k..2k-1", cost="n log n + k n")
def zscore_mhm(X, k, *, order=None):
    """Sort by the sum of the standardised values and cut the sequence optimally."""
    return orders.partition_along(X, k, orders.zscore_order(X) if order is None else order)


@method(title="TSP-MHM (FDM)", paper="Mortazavi and Jalili 2014", sizes="k..2k-1", cost="n^2")
def tsp_mhm(X, k, *, order=None):
    """Visit the records along a short round tour and cut it optimally.

    The papers leave the tour to a solver; ours is nearest insertion, 2-opt, Or-opt and kicks.
    """
    return orders.partition_along(X, k, orders.tour_order(X) if order is None else order)


def _chained(X, k, order, groups):
    return orders.partition_along(X, k, orders.group_order(X, groups(X, k)) if order is None else order)
