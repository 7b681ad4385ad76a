"""The optimum as a method: see `shoal.optimum`."""

from shoal.algorithms.univariate import univariate
from shoal.grouping.partition import Partition
from shoal.grouping.registry import method
from shoal.optimise.search import SECONDS


@method(title="Exact", paper="shoal", sizes="k..2k-1", cost="2^n", mixed=True, proves=True, seconds=SECONDS)
def exact(X, k, *, time_limit=None, progress=None):
    """The partition of least loss, proven if the time allows; else the best found and what is proven.

    The release says which. Tables of some hundred records and small k take seconds, larger ones minutes;
    600 s are the limit, unless another is given. One column is solved at once.
    """
    from shoal.bounds.certificate import PROVEN
    from shoal.optimise.optimum import optimum_of

    if X.shape[1] == 1:
        best = univariate(X, k)
        return Partition(best.labels, least=best.sse(X) * (1 - PROVEN))
    found = optimum_of(X, k, time_limit or SECONDS, progress=progress)
    return Partition(found.labels, least=found.least.sse)
