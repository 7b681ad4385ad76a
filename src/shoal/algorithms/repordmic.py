"""RepOrdMic: put the records into a sequence group by group, cut it optimally, and so again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shoal.algorithms._split import start_labels
from shoal.algorithms.orders import LEAST_GAIN, RULES, neighbour_lists
from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.grouping.registry import method
from shoal.kernels.neighbours.kd_tree import build_tree
from shoal.kernels.runtime.jit import kernel
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


@kernel
def _sse(X, labels):
    """SSE of contiguous groups, X in sequence order."""
    n, d = X.shape
    mean = np.empty(d)
    total = 0.0
    begin = 0
    for end in range(1, n + 1):
        if end < n and labels[end] == labels[begin]:
            continue
        mean[:] = 0.0
        for i in range(begin, end):
            for j in range(d):
                mean[j] += (X[i, j] - X[begin, j]) / (end - begin)
        for i in range(begin, end):
            for j in range(d):
                difference = X[i, j] - X[begin, j] - mean[j]
                total += difference * difference
        begin = end
    return total


@kernel
def _repeat(X, k, labels, near, start, rule, large):
    """Rounds of ordering and cutting while each gains at least LEAST_GAIN."""
    history = [np.inf]
    while True:
        order = group_path(X, labels, near, start, rule, large)
        sequence = X[order]
        groups = cut(sequence, k)
        history.append(_sse(sequence, groups))
        if len(history) > 2 and history[-1] > history[-2]:  # by rounding only: keep the better
            break
        labels = np.empty_like(groups)
        labels[order] = groups
        if history[-2] - history[-1] < LEAST_GAIN:
            break
    return labels, np.array(history[1:])


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

    def run(labels: ArrayLike) -> Outcome:
        groups = np.unique(labels, return_inverse=True)[1]
        made, sse = _repeat(X, k, groups[place], near, first, RULES[insertion], LARGE)
        groups[place] = made
        return Outcome(groups, sse)

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
