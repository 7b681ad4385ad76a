"""Large tables: anneal in blocks, and cut other blocks across the borders of the first as the table cools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels.neighbours.lists import inside, nearest
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.kernels.search.anneal import cross
from shoal.kernels.search.whole_groups import group_up, halve, members
from shoal.optimise.search import Clock, combine, cool, renumber, weigh

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


class Groups(NamedTuple):
    """A partition as lists: the records group by group, and what there is to say of each group."""

    rows: NDArray[np.int64]
    sizes: NDArray[np.int64]
    means: NDArray[np.float64]
    sse: NDArray[np.float64]

    def labels(self) -> NDArray[np.int64]:
        """The group of each record."""
        labels = np.empty(len(self.rows), np.int64)
        labels[self.rows] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return labels


def split(X: NDArray[np.float64], size: int, multiple: int = 1) -> list[NDArray[np.int64]]:
    """Halve the rows along the column of widest variance until `size` or fewer are together.

    Every block but one has a number of rows that is a multiple of `multiple`. Blocks side by side in the list
    lie side by side in the table.
    """
    X = np.ascontiguousarray(X).view()
    X.flags.writeable = False  # of one type, whoever asks: the kernel is compiled once

    def cut(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if len(rows) <= max(size, 2 * multiple - 1):
            return [rows]
        half = halve(X, rows, multiple)
        return [rows[:half], rows[half:]]

    done, count = [np.arange(len(X))], 0
    while len(done) > count:
        count = len(done)
        done = [half for halves in map_threads(cut, done) for half in halves]
    return done


class Table:
    """The records with what all passes share: neighbour lists over the whole table, what each record pays.

    P holds them centred, with columns of zeros up to a multiple of four, and in an order in which those near
    to each other lie near in memory.
    """

    def __init__(self, P: NDArray[np.float64], columns: int, k: int, tuning: Tuning):
        self.P, self.columns, self.k, self.tuning = P, columns, k, tuning
        self.place = np.zeros(len(P), np.int32)
        X = np.ascontiguousarray(P[:, :columns])
        self.near, squares = nearest(X, min(k + tuning.near, tuning.most), None, tuning.slack)
        self.cost = squares[:, : k - 1].mean(1) * (k - 1) / (2 * k)

    def blocks(self, groups: Groups, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """The groups in blocks of about as many records as asked for, cut along random directions."""
        turn = np.linalg.qr(rng.normal(size=(self.columns, self.columns)))[0]
        count = self.tuning.size * len(groups.sizes) // len(self.P)
        return split(groups.means[:, : self.columns] @ turn, max(20, count))

    def anneal(
        self,
        groups: Groups,
        parts: list[NDArray[np.int64]],
        rng: np.random.Generator,
        proposals: float,
        hot: float,
        cold: float,
        clock: Clock,
        share: Callable[[float], None] | None = None,
    ) -> Groups:
        """Every block once; `proposals` for each record. The last temperature of all ends in a descent."""
        seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]
        begin = np.cumsum(groups.sizes) - groups.sizes
        ahead, descend = self.tuning.ahead, cold == self.tuning.heats[-1]
        rows = map_threads(lambda part: members(groups.rows, begin, groups.sizes, part, self.place), parts)

        def one(number: int) -> Groups:
            own, part = rows[number], parts[number]
            if len(own) < 2 * self.k or clock.left() <= 0:
                return Groups(own, groups.sizes[part], groups.means[part], groups.sse[part])
            near = inside(self.near, own, self.place)
            problem = weigh(self.P[own], self.k, near, self.cost[own])
            before = np.repeat(np.arange(len(part)), groups.sizes[part])
            how = int(proposals * len(own)), hot, clock, cold
            after = cool(problem, before, seeds[number], *how, steps=STEPS, descend=descend, ahead=ahead)
            if descend:
                after = combine(problem, before, after)
            return Groups(*group_up(self.P, own, after, int(after.max()) + 1))

        return _joined(map_threads(one, range(len(parts)), progress=share))


def _joined(parts: list[Groups]) -> Groups:
    return Groups(*map(np.concatenate, zip(*parts)))


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
    if labels is not None and clock.left() <= 0:
        return labels
    (n, d), mean = X.shape, X.mean(0)
    cuts = split(X, max(tuning.size, 20 * k), k)
    order, ends = np.concatenate(cuts), np.cumsum([len(rows) for rows in cuts])
    P = np.zeros((n, -(-d // 4) * 4))

    def begin(number: int) -> Groups:
        """Put one block's records where they belong; their groups by MDAV."""
        rows = np.arange(ends[number] - len(cuts[number]), ends[number])
        block = P[rows, :d] = X[cuts[number]] - mean
        first = np.zeros(len(rows), np.int64)
        if labels is None and len(rows) >= 2 * k:
            first = mdav(block, k)
        return Groups(*group_up(P, rows, first, int(first.max()) + 1))

    parts = map_threads(begin, range(len(cuts)))
    start = _joined(parts)
    if labels is not None:
        start = Groups(*group_up(P, np.arange(n), labels[order], int(labels.max()) + 1))
    outcome = np.empty(n, np.int64)
    outcome[order] = start.labels()
    if clock.left() > 0:
        table = Table(P, d, k, tuning)
        blocks = np.split(np.arange(len(start.sizes)), np.cumsum([len(part.sizes) for part in parts])[:-1])
        if labels is not None:
            blocks = table.blocks(start, rng)
        better = _passes(table, start, blocks, rng, effort, clock, report)
        outcome[order] = renumber(cross(start.labels(), start.sse, better.labels(), better.sse))
    return outcome


def _passes(
    table: Table,
    groups: Groups,
    parts: list[NDArray[np.int64]],
    rng: np.random.Generator,
    effort: float,
    clock: Clock,
    report: Callable[[float], None],
) -> Groups:
    """All passes, the first with these parts as its blocks."""
    tuning, n = table.tuning, len(table.P)
    every = max(effort * tuning.proposals, tuning.least * (len(tuning.heats) - 1))
    pace = 0.0  # seconds that a proposal for each record takes; of no matter without a time limit
    if clock.limit is not None:
        for many in (0.01, tuning.trial):  # the first compiles, if need be
            began = clock.spent()
            trial = table.anneal(groups, parts[:1], np.random.default_rng(0), many, 1.0, 0.1, clock)
        pace = (clock.spent() - began) / many * n / len(trial.rows) / thread_count()
        every = min(every, tuning.haste * clock.left() / pace)
    passes = min(len(tuning.heats) - 1, max(1, int(every / tuning.least)))
    heats = tuning.heats[-passes - 1 :]
    number = 0
    while clock.left() > 0 and (number < passes or clock.limit is not None):
        if number > 0:
            parts = table.blocks(groups, rng)
        hot, cold, many = tuning.again, heats[-1], every / 3
        if number < passes:
            hot, cold = heats[number], heats[number + 1]
            many = every / passes * (tuning.brief if cold >= 0.5 else 1.0)
        if clock.limit is not None:
            many = min(many, tuning.haste * clock.left() / pace / max(1, passes - number))

        def share(done: float, number: int = number) -> None:
            report(min(1.0, (number + done) / passes))

        began = clock.spent()
        groups = table.anneal(groups, parts, rng, many, hot, cold, clock, share)
        pace = (clock.spent() - began) / many
        number += 1
    return groups
