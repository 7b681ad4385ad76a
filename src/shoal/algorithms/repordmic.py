"""RepOrdMic: put the records into a sequence group by group, cut it optimally, and so again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shoal.algorithms._split import start_labels
from shoal.algorithms.orders import LEAST_GAIN, RULES, neighbour_lists
from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.grouping.registry import method
from shoal.kernels.neighbours.kd_tree import build_tree
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.kmeans import kmeans
from shoal.kernels.sequence.cut import cut
from shoal.kernels.sequence.paths import LARGE, farthest_from_centroid, group_path

DEFAULT_STARTS = 20
#: From so many records on, those near to each other are put near in memory: of 100,000, a seventh less time.
#: Of records that are equally near, another one may then come first.
SCATTERED = 20_000


class Outcome(NamedTuple):
    """Where one start led: the partition, and the SSE after each round."""

    labels: Ints
    sse: Floats


def repeated_ordering(
    X: Floats,
    k: int,
    starts: Sequence[ArrayLike],
    insertion: str = "nearest",
    progress: Callable[[float], None] | None = None,
    scattered: int = SCATTERED,
) -> list[Outcome]:
    """What each start (labels of any clustering of the rows) leads to, computed on all cores.

    From the second round on the SSE never rises: each group then stands together in the sequence, so the
    former partition is one of those that the cut chooses from.
    """
    if insertion not in ("nearest", "cheapest"):
        raise InputError(f"insertion must be 'nearest' or 'cheapest', but is {insertion!r}")
    place = build_tree(X).order if len(X) >= scattered else np.arange(len(X))
    X = np.ascontiguousarray(X[place])
    X.flags.writeable = False  # as methods get it: one compiled version
    near = neighbour_lists(X)
    first = farthest_from_centroid(X)

    def run(start: ArrayLike) -> Outcome:
        labels = np.unique(start, return_inverse=True)[1][place]
        sse, gained = [np.inf], np.inf
        while gained >= LEAST_GAIN:
            order = group_path(X, labels, near, first, RULES[insertion], LARGE)
            better = np.empty_like(order)
            better[order] = cut(X[order], k)
            sse.append(Partition(better).sse(X))
            gained = sse[-2] - sse[-1]
            labels = better if gained >= 0 else labels  # less by rounding only: keep the former
        found = np.empty_like(labels)
        found[place] = labels
        return Outcome(found, np.array(sse[1:]))

    return map_threads(run, starts, progress=progress)


def kmeans_starts(X: Floats, starts: int, rng: np.random.Generator) -> list[Ints]:
    """Clusterings into 1, 2, .. `starts` clusters: one run of k-means each (they serve every k)."""
    draws = [rng.random(clusters) for clusters in range(1, min(starts, len(X)) + 1)]
    return map_threads(lambda uniform: kmeans(X, uniform), draws)


@method(title="RepOrdMic", paper="Mortazavi 2020", sizes="k..2k-1", cost="starts * rounds * (n^2/k + k n)")
def repordmic(
    X, k, *, starts: int = DEFAULT_STARTS, insertion: str = "nearest", start=None, rng, progress=None
):
    """Order the records group by group and cut the sequence optimally, repeatedly; best of several starts.

    Begins from k-means clusterings into 1, 2, .. `starts` clusters (the paper took 200), or from `start`:
    labels, or the key of another method. `insertion`: the next record to come into a group's path is the
    one "nearest" to it (the paper's prose), or the "cheapest" to insert (its pseudo-code). Either way it
    is inserted where it lengthens the path least, and never beyond the two ends. A round that gains
    less than 1e-7 is the last. Ours: equal records and edges go to the earliest, and k-means is our own.
    """
    if start is not None:  # unlike in other methods, groups of any size will do
        given: list[ArrayLike] = [start_labels(X, k, start, any_size=True)]
    elif starts >= 1 and starts == int(starts):
        given = list(kmeans_starts(X, int(starts), rng))
    else:
        raise InputError(f"starts must be a whole number of at least 1, but is {starts!r}")
    outcomes = repeated_ordering(X, k, given, insertion, progress=progress)
    return min(outcomes, key=lambda outcome: outcome.sse[-1]).labels
