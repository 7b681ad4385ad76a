"""Large tables: anneal in blocks, and cut other blocks across the borders of the first as the table cools."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms._pool import group_means
from shoal.algorithms.mdav import mdav
from shoal.kernels.neighbours.lists import inside, nearest
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.optimise.search import Clock, combine, cool, padded, renumber, weigh

#: Temperatures of one pass: together those of a run elsewhere.
STEPS = 9


@dataclass(frozen=True)
class Tuning:
    """How a large table is worked on."""

    #: Records of a block: few enough for most of what a run touches to stay in a core's own cache, and enough
    #: for few of them to lie at a border (2,000 loses 3 % more, 6,000 no less).
    size: int = 4000
    #: The table cools once, from pass to pass, and each pass has blocks of its own: the borders of one lie
    #: inside the blocks of the next. Clusters in many columns gain between 0.5 and 0.12 (evenly from 3 to
    #: 0.03 they lose 1.5 % more), few columns and long tails at the two ends (4 % and 2 %).
    heats: tuple[float, ...] = (10, 1, 0.5, 0.43, 0.37, 0.31, 0.26, 0.22, 0.19, 0.16, 0.14, 0.12, 0.05)
    #: The passes above 0.5 have this share of the proposals that others have.
    brief: float = 0.6
    #: Proposals for each record at effort 1, in all, and the fewest of a pass: of fewer, what surrounds them
    #: takes most of the time.
    proposals: int = 1400
    least: int = 8
    #: With time left, further passes begin at this temperature.
    again: float = 0.3
    #: Proposals that are drawn before their moves are tried: three quarters of the time.
    ahead: int = 256
    #: A record's neighbour list has so many more than k records, and at most so many.
    near: int = 4
    most: int = 64
    #: And it holds nearly the nearest (93 of 100): inside a cluster, that takes 0.4 of the time of exact
    #: lists.
    slack: float = 4.0
    #: Proposals for each record in the trial that finds the pace, and the share of the time that is planned
    #: with: the rest is for passes that turn out slower than the trial.
    trial: int = 20
    haste: float = 0.9


USUAL = Tuning()


def split(X: NDArray[np.float64], size: int, multiple: int = 1) -> list[NDArray[np.int64]]:
    """Halve the rows along the column of widest variance until `size` or fewer are together.

    Every block but one has a number of rows that is a multiple of `multiple`.
    """
    waiting, done = [np.arange(len(X))], []
    while waiting:
        done += [np.sort(rows) for rows in waiting if len(rows) <= max(size, 2 * multiple - 1)]
        larger = [rows for rows in waiting if len(rows) > max(size, 2 * multiple - 1)]
        waiting = [half for halves in map_threads(partial(_halve, X, multiple), larger) for half in halves]
    return done


def _halve(X: NDArray[np.float64], multiple: int, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    block = X[rows]
    column = block[:, np.argmax(block.var(0))]
    half = max(1, len(rows) // 2 // multiple) * multiple
    order = np.argpartition(column, half - 1)
    return [rows[order[:half]], rows[order[half:]]]


def _start(X: NDArray, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of one block's records, by MDAV."""
    X = np.ascontiguousarray(X)
    return mdav(X, k) if len(X) >= 2 * k else np.zeros(len(X), np.int64)


class Table:
    """The records with what all passes share: neighbour lists over the whole table, what each record pays."""

    def __init__(self, X: NDArray[np.float64], k: int, tuning: Tuning):
        self.X, self.k, self.tuning = X, k, tuning
        self.near, squares = nearest(X, min(k + tuning.near, tuning.most), None, tuning.slack)
        self.cost = squares[:, : k - 1].mean(1) * (k - 1) / (2 * k)

    def anneal(
        self,
        labels: NDArray[np.int64],
        parts: list[NDArray[np.int64]],
        rng: np.random.Generator,
        proposals: float,
        hot: float,
        cold: float,
        clock: Clock,
        share: Callable[[float], None] | None = None,
    ) -> NDArray[np.int64]:
        """Every block once; `proposals` for each record. The last temperature of all ends in a descent."""
        seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]
        block, place = np.full((2, len(labels)), -1, np.int32)
        for number, rows in enumerate(parts):
            block[rows], place[rows] = number, np.arange(len(rows))
        ahead, descend = self.tuning.ahead, cold == self.tuning.heats[-1]

        def one(rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
            before = renumber(labels[rows])
            if len(rows) < 2 * self.k or clock.left() <= 0:
                return before
            near = inside(self.near, rows, block, place, number)
            problem = weigh(padded(self.X[rows]), self.k, near, self.cost[rows])
            how = int(proposals * len(rows)), hot, clock, cold
            after = cool(problem, before, seeds[number], *how, steps=STEPS, descend=descend, ahead=ahead)
            return combine(problem, before, after) if descend else after

        return _in_blocks(len(labels), parts, one, share)

    def better(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """The better of both wherever they can be cut apart."""
        return combine(weigh(padded(self.X), self.k, self.near, self.cost), first, second)


def _blocks_of_groups(
    X: NDArray, labels: NDArray[np.int64], rng: np.random.Generator, size: int
) -> list[NDArray[np.int64]]:
    """Blocks of about `size` records in whole groups, cut along random directions."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    begin = np.cumsum(sizes) - sizes
    turn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    pieces = split(group_means(X, labels) @ turn, max(20, size * len(sizes) // len(X)))

    def members(piece: NDArray[np.int64]) -> NDArray[np.int64]:
        ends = np.cumsum(sizes[piece])
        return order[np.repeat(begin[piece] - ends + sizes[piece], sizes[piece]) + np.arange(ends[-1])]

    return map_threads(members, pieces)


def _in_blocks(
    n: int,
    parts: list[NDArray[np.int64]],
    one: Callable[[NDArray[np.int64], int], NDArray[np.int64]],
    share: Callable[[float], None] | None,
) -> NDArray[np.int64]:
    """Labels of all n records: one(rows, p) gives those of block p, from 0 on. Several blocks at a time."""
    labels = np.empty(n, np.int64)
    groups = 0
    answers = map_threads(lambda p: one(parts[p], p), range(len(parts)), progress=share)
    for rows, answer in zip(parts, answers):
        labels[rows] = answer + groups
        groups += int(answer.max()) + 1
    return labels


def improve(
    X: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64] | None,
    rng: np.random.Generator,
    effort: float,
    clock: Clock,
    report: Callable[[float], None],
    tuning: Tuning = USUAL,
) -> NDArray[np.int64]:
    """Anneal in blocks, several times over; from MDAV inside blocks if there are no labels yet.

    The first pass cuts the records where a column is widest. Each later pass cuts the groups so far,
    whole, by their centroids turned in a random direction. With a time limit a trial on one block finds the
    pace: passes are as long as it allows, and further ones go on until it ends. MDAV in blocks is made in any
    case, and the outcome is never worse than the start.
    """
    X = X - X.mean(0)
    parts = None
    if labels is None:
        parts = split(X, max(tuning.size, 20 * k), k)
        labels = _in_blocks(len(X), parts, lambda rows, _: _start(X[rows], k), None)
    if clock.left() <= 0:
        return labels
    table, start = Table(X, k, tuning), labels
    parts = parts or _blocks_of_groups(X, labels, rng, tuning.size)
    every = max(effort * tuning.proposals, tuning.least * (len(tuning.heats) - 1))
    pace = 0.0  # seconds that a proposal for each record takes; of no matter without a time limit
    if clock.limit is not None:
        for many in (0.01, tuning.trial):  # the first compiles, if need be
            began = clock.spent()
            table.anneal(labels, parts[:1], np.random.default_rng(0), many, 1.0, 0.1, clock)
        pace = (clock.spent() - began) / many * len(X) / len(parts[0]) / thread_count()
        every = min(every, tuning.haste * clock.left() / pace)
    passes = min(len(tuning.heats) - 1, max(1, int(every / tuning.least)))
    heats = tuning.heats[-passes - 1 :]
    number = 0
    while clock.left() > 0 and (number < passes or clock.limit is not None):
        if number > 0:
            parts = _blocks_of_groups(X, labels, rng, tuning.size)
        hot, cold, many = tuning.again, heats[-1], every / 3
        if number < passes:
            hot, cold = heats[number], heats[number + 1]
            many = every / passes * (tuning.brief if cold >= 0.5 else 1.0)
        if clock.limit is not None:
            many = min(many, tuning.haste * clock.left() / pace / max(1, passes - number))

        def share(done: float, number: int = number) -> None:
            report(min(1.0, (number + done) / passes))

        began = clock.spent()
        labels = table.anneal(labels, parts, rng, many, hot, cold, clock, share)
        pace = (clock.spent() - began) / many
        number += 1
    return table.better(start, labels)
