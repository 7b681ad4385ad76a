"""Choose by what the table is."""

from shoal.algorithms.mdav import mdav
from shoal.algorithms.univariate import univariate
from shoal.grouping.registry import method
from shoal.optimise import blocks
from shoal.optimise.improve import ABOVE_4, LARGE, Run, optimise, search
from shoal.optimise.search import COLD, Clock, pose

#: The runs of each generation as in `improve`; the most proposals of a run, in all and per record. Many
#: short runs that start hot lose less than few long ones in the same time, most of all on small tables.
START = (Run(10.0),) * 4
AGAIN = (Run(30.0), Run(3.0)), (Run(2.0, 0.25), Run(1.0, 0.25)), (Run(1.0, 0.25), Run(0.5))
GENERATIONS = (START, *AGAIN, *AGAIN)
PROPOSALS, PER_RECORD = 4_000_000, 400
#: In blocks, a table of so many records is worked on with effort 1; smaller ones afford more, and so lose
#: less in time that nobody minds.
LARGEST, GROWTH = 1_000_000, 0.2


@method(title="Automatic choice", paper="shoal", sizes="k..2k-1", cost="n", mixed=True)
def auto(X, k, *, rng, time_limit=None, progress=None):
    """The exact optimum for one column; a short search up to 10,000 records, a search in blocks above.

    With a time limit it is `optimise` for that time.
    """
    if X.shape[1] == 1:
        return univariate(X, k)
    if time_limit is not None:
        return optimise(X, k, rng=rng, time_limit=time_limit, progress=progress)
    clock = Clock(None)
    report = progress or (lambda fraction: None)
    if len(X) > LARGE:
        effort = max(1.0, (LARGEST / len(X)) ** GROWTH)
        return blocks.improve(X, k, None, rng, effort, clock, report)
    proposals = min(PROPOSALS, PER_RECORD * len(X))
    how = proposals, GENERATIONS, clock, lambda done: report(done / len(GENERATIONS))
    cold = COLD if k <= 5 else ABOVE_4.cold  # this and ahead=1: the same groups as before
    return search(pose(X, k), mdav(X, k), rng, *how, cold=cold, ahead=1)
