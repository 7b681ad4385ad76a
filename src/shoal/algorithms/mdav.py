"""MDAV: groups around the record farthest from the centroid, and around the record farthest from that one."""

from shoal.algorithms import _few
from shoal.algorithms._pool import Pool
from shoal.grouping.registry import method
from shoal.kernels.runtime.jit import WORTH_COMPILING

PAPER = "Domingo-Ferrer and Torra 2005"


def _pairs(X, k, least, progress):
    """Two groups at a time while `least` or more records are free; the pool that is left then."""
    pool = Pool(X, progress)
    pool.peel(k, least, pairs=True)
    return pool


@method(title="MDAV", paper=PAPER, sizes="k..2k-1", cost="n^2/k")
def mdav(X, k, *, progress=None):
    """The classic form: pairs of groups while 2k remain; then k to 2k-1 form a group, fewer join theirs."""
    if len(X) <= WORTH_COMPILING:
        return _few.mdav(X, k)
    pool = _pairs(X, k, 2 * k, progress)
    if len(pool) >= k:
        pool.take_rest()
    return pool.finish()


@method(title="MDAV-1", paper="Lin, Wen, Hsieh and Chang 2010", sizes="k..2k-1", cost="n^2/k")
def mdav1(X, k, *, progress=None):
    """Pairs while 2k remain, then one group around the farthest; the fewer than k left join theirs."""
    pool = _pairs(X, k, 2 * k, progress)
    if len(pool) >= k:
        pool.take_around(pool.farthest_from_centroid(), k)
    return pool.finish()


@method(title="MDAV-generic", paper=PAPER, sizes="k..2k-1", cost="n^2/k", mixed=True)
def mdav_generic(X, k, *, progress=None):
    """Pairs of groups while 3k remain; then one around the farthest record and one of the rest."""
    pool = _pairs(X, k, 3 * k, progress)
    if len(pool) >= 2 * k:
        pool.take_around(pool.farthest_from_centroid(), k)
    pool.take_rest()
    return pool.finish()
