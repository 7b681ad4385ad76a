"""Choose by what the table is."""

from shoal.algorithms.mdav import mdav
from shoal.algorithms.univariate import univariate
from shoal.method import method


@method(title="Automatic choice", paper="shoal", sizes="k..2k-1", cost="n^2/k", mixed=True)
def auto(X, k):
    """The exact optimum for one column; MDAV for several."""
    return univariate(X, k) if X.shape[1] == 1 else mdav(X, k)
