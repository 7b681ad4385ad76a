"""Annealing of one partition, and what several partitions of one table have in common to start from."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels.neighbours.lists import nearest
from shoal.kernels.runtime.jit import packed
from shoal.kernels.search.anneal import PATIENCE, anneal, cross, refresh

#: The coldest temperature, in mean cost of a record, if a run does not name another.
COLD = 0.03
#: Temperatures of a run. More only cost calls: the logarithm falls by less than a tenth at each.
STEPS = 100
#: Proposals between two looks at the clock, at most: a time limit is kept to a fraction of a second.
CHUNK = 500_000
#: Temperatures between two sums of all means anew, against rounding, which adds up with every move.
FRESH = 10
#: Proposals drawn ahead of their moves: the processor need not wait (1.4 to 1.8 times as many a second).
AHEAD = 64


#: What the search for the optimum may take, in seconds, unless said.
SECONDS = 600.0


class Clock:
    """The time that is left, if it is limited at all."""

    def __init__(self, limit: float | None):
        self.start = time.perf_counter()
        self.limit = limit

    def spent(self) -> float:
        return time.perf_counter() - self.start

    def left(self) -> float:
        return np.inf if self.limit is None else self.limit - self.spent()


@dataclass(frozen=True)
class Problem:
    """What all runs on one table share, none of them changing it."""

    P: NDArray[np.float64]  # the records, centred and padded with zeros to a multiple of four columns
    k: int
    neighbours: NDArray[np.int32]
    draw: NDArray[np.int32]  # the records, each as often as it shall be tried
    heat: NDArray[np.float64]  # temperature of each record at temperature 1

    def sse(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """The SSE of each group; labels are 0..g-1."""
        state = self.state(labels)
        return refresh(*state[:4])

    def state(self, labels: NDArray[np.int64]) -> tuple[NDArray, ...]:
        """The arrays that the annealing kernel works on."""
        n = len(self.P)
        most = max(n // self.k, int(labels.max()) + 1)
        sizes = np.bincount(labels, minlength=most).astype(np.int32)
        members = np.zeros((most, 2 * self.k - 1), np.int32)
        order = np.argsort(labels, kind="stable").astype(np.int32)
        places = np.empty(n, np.int32)
        places[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members[labels[order], places[order]] = order
        labels = labels.astype(np.int32)
        return self.P, np.zeros((most, self.P.shape[1])), sizes, members, labels, places


def pose(X: NDArray[np.float64], k: int, *, threads: int | None = None) -> Problem:
    """Neighbour lists of 2k+8 records, and a temperature for each record.

    A record pays about the sum of its k-1 smallest squared distances over 2k in any good partition. The
    mean of that is temperature 1; a record's own temperature grows with the root of its share, so that
    outliers and the crowd around the middle come to rest at about the same time (measured: as good as one
    temperature for all, in three quarters of the time; growing in proportion is worse). Two thirds of the
    proposals go to records in the same proportion, a third to all alike: on EIA, where a twentieth of the
    records makes nearly all of the loss, this halves the distance to the best known partition.
    """
    P = padded(X)
    records = np.ascontiguousarray(P[:, : X.shape[1]])
    neighbours, squares = nearest(records, 2 * k + 8, threads)
    return weigh(P, k, neighbours, squares[:, : k - 1].sum(1) / (2 * k))


def padded(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The records, centred, with columns of zeros up to a multiple of four."""
    n, d = X.shape
    P = np.zeros((n, -(-d // 4) * 4))
    P[:, :d] = X - X.mean(0)
    return P


def weigh(P: NDArray, k: int, neighbours: NDArray[np.int32], cost: NDArray[np.float64]) -> Problem:
    """How often each record is tried, and how hot, by what it pays about."""
    n, total = len(P), cost.sum()
    if total == 0:
        return Problem(P, k, neighbours, np.arange(n, dtype=np.int32), cost)
    root = np.sqrt(np.maximum(cost, 1e-9 * total / n))
    times = 1 + np.floor(2 * n * root / root.sum() + 0.5).astype(np.int64)
    draw = np.repeat(np.arange(n, dtype=np.int32), times)
    return Problem(P, k, neighbours, draw, root * (1.35 * total / n * total / (root * cost).sum()))


def renumber(labels: NDArray) -> NDArray[np.int64]:
    """The same groups under the labels 0..g-1, in the order of the labels given."""
    if labels.min() < 0 or labels.max() > 8 * len(labels):
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return (np.cumsum(np.bincount(labels) > 0) - 1)[labels]


def tidy(X: NDArray[np.float64], labels: NDArray, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of the same groups, those above 2k-1 split by MDAV."""
    labels = renumber(labels)
    groups = int(labels.max()) + 1
    for g in np.flatnonzero(np.bincount(labels) >= 2 * k):
        inside = np.flatnonzero(labels == g)
        parts = mdav(np.ascontiguousarray(X[inside]), k)
        labels[inside] = np.where(parts == 0, g, groups - 1 + parts)
        groups += int(parts.max())
    return labels


def cool(
    problem: Problem,
    labels: NDArray[np.int64],
    seed: int,
    proposals: int,
    hot: float,
    clock: Clock,
    cold: float = COLD,
    *,
    steps: int | None = None,
    descend: bool = True,
    ahead: int = AHEAD,
) -> NDArray[np.int64]:
    """One run: from temperature `hot` down to `cold` in even steps of its logarithm, then a descent.

    A tenth of the proposals go to the descent. If time runs short, the rest of the run is skipped.
    """
    state = problem.state(labels)
    random = np.array([seed | 1], np.uint64)
    steps = max(steps or min(STEPS, 20 + proposals // 1000), -(-proposals // CHUNK))
    temperatures = hot * (cold / hot) ** np.linspace(0, 1, steps)
    if descend:
        temperatures[-max(1, steps // 10) :] = 0.0
    fixed = (problem.neighbours, problem.draw, problem.heat, PATIENCE, problem.k)
    move = packed(anneal, *state, *fixed, 0.0, 0, random, ahead)
    for step, temperature in enumerate(temperatures):
        if clock.left() <= 0:
            break
        if step % FRESH == 0:
            refresh(*state[:4])
        move(*state, *fixed, temperature, proposals // steps, random, ahead)
    return renumber(state[4])


def cool_region(
    problem: Problem, labels: NDArray[np.int64], share: float, dear: bool, seed: int, *run: Any, **more: Any
) -> NDArray[np.int64]:
    """`cool` only some groups, that hold about such a share of the records.

    Those are the groups that cost most for each record (dear), or the ones around a random record. They are
    annealed as a table by themselves: nothing outside changes.
    """
    state = problem.state(labels)
    sse, groups = refresh(*state[:4]), labels.max() + 1
    if dear:
        order = np.argsort(-sse[:groups] / state[2][:groups], kind="stable")
    else:
        centre = problem.P[problem.draw[seed % len(problem.draw)]]
        order = np.argsort(np.square(state[1][:groups] - centre).sum(1), kind="stable")
    enough = np.searchsorted(np.cumsum(state[2][order]), share * len(labels)) + 1
    inside = np.flatnonzero(np.isin(labels, order[:enough]))
    if len(inside) < 2 * problem.k:
        return labels
    part = pose(problem.P[inside], problem.k, threads=1)
    new = labels.copy()
    new[inside] = cool(part, renumber(labels[inside]), seed, *run, **more) + labels.max() + 1
    return renumber(new)


def combine(problem: Problem, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The better of both wherever they can be cut apart; never worse than the first."""
    return renumber(cross(first, problem.sse(first), second, problem.sse(second)))
