"""Large tables: anneal in blocks, then cut other blocks across the borders of the first, and again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms._pool import group_means
from shoal.algorithms._split import members_of
from shoal.algorithms.mdav import mdav
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.optimise.search import Clock, Problem, combine, cool, pose, renumber


@dataclass(frozen=True)
class Tuning:
    """How a large table is worked on."""

    #: Records of a block: few enough for most of what a run touches to stay in a core's own cache, and enough
    #: for few of them to lie at a border (2,000 loses 2 % more, 8,000 gains 0.5 % in a third more time).
    size: int = 4000
    #: The hottest temperature of each pass, and its proposals for each record at effort 1. Short passes come
    #: first: they only have to bring records across borders.
    passes: tuple[tuple[float, int], ...] = ((10.0, 100), (2.0, 150), (0.7, 250), (0.4, 300), (0.3, 350))
    #: A record's neighbour list has so many more than k records: shorter than elsewhere, for the lists are
    #: made anew in every pass.
    near: int = 4
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


def _pose(X: NDArray, k: int, tuning: Tuning) -> Problem:
    return pose(np.ascontiguousarray(X), k, near=k + tuning.near, threads=1, slack=tuning.slack)


def _anneal(
    X: NDArray, k: int, labels: NDArray, seed: int, proposals: int, hot: float, clock: Clock, tuning: Tuning
) -> NDArray[np.int64]:
    """Better labels 0..g-1 of one block's records, if there is time."""
    labels = renumber(labels)
    if len(X) < 2 * k or clock.left() <= 0:
        return labels
    problem = _pose(X, k, tuning)
    return combine(problem, labels, cool(problem, labels, seed, proposals, hot, clock))


def _blocks_of_groups(
    X: NDArray, labels: NDArray[np.int64], rng: np.random.Generator, size: int
) -> list[NDArray[np.int64]]:
    """Blocks of about `size` records in whole groups, cut along random directions."""
    members = members_of(labels)
    turn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    pieces = split(group_means(X, labels) @ turn, max(20, size * len(members) // len(X)))
    return [np.concatenate([members[g] for g in piece]) for piece in pieces]


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


def _affordable(
    X: NDArray, k: int, labels: NDArray, part: NDArray, effort: float, clock: Clock, tuning: Tuning
) -> tuple[tuple[tuple[float, int], ...], float]:
    """The passes that the time left allows, the last ones of `tuning.passes`; and the effort.

    Found by a trial on one block. As many passes as there can be with a tenth of their proposals.
    """
    passes = tuning.passes
    if len(part) < 2 * k:
        return passes, effort
    start = renumber(labels[part])
    cool(_pose(X[part], k, tuning), start, 1, 100, 1.0, clock)  # compiles, if need be
    began = clock.spent()
    problem = _pose(X[part], k, tuning)
    posed = clock.spent()
    cool(problem, start, 1, tuning.trial * len(part), 1.0, clock)
    whole = len(X) / len(part) / thread_count()  # of the table, for each core
    lists, pace = (posed - began) * whole, (clock.spent() - posed) * whole / tuning.trial
    while True:
        proposals = (tuning.haste * clock.left() - lists * len(passes)) / pace
        least = 0.1 * sum(many for _, many in passes)
        if proposals >= least or len(passes) == 1:
            return passes, min(effort, 0.1 * max(proposals, least) / least)
        passes = passes[1:]


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
    whole, by their centroids turned in a random direction: the borders of one pass lie inside the blocks
    of the next. With a time limit the passes are as many and as long as it allows; further ones go on
    until it ends. MDAV in blocks is made in any case.
    """
    X = X - X.mean(0)
    if labels is None:
        parts = split(X, max(tuning.size, 20 * k), k)
        labels = _in_blocks(len(X), parts, lambda rows, _: _start(X[rows], k), None)
    elif clock.left() > 0:
        parts = _blocks_of_groups(X, labels, rng, tuning.size)
    passes = tuning.passes
    if clock.limit is not None and clock.left() > 0:
        passes, effort = _affordable(X, k, labels, parts[0], effort, clock, tuning)
    total, before, number = sum(many for _, many in passes), 0, 0
    while clock.left() > 0 and (number < len(passes) or clock.limit is not None):
        if number > 0:
            parts = _blocks_of_groups(X, labels, rng, tuning.size)
        hot, many = passes[min(number, len(passes) - 1)]

        def share(done: float, before: int = before, many: int = many) -> None:
            report((before + done * many) / total)

        labels = _pass(X, k, labels, parts, rng, int(many * effort), hot, clock, share, tuning)
        before += many
        number += 1
    return labels


def _pass(X, k, labels, parts, rng, proposals, hot, clock, share, tuning) -> NDArray[np.int64]:
    """Every block once; `proposals` for each record."""
    seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]
    return _in_blocks(
        len(X),
        parts,
        lambda rows, p: _anneal(
            X[rows], k, labels[rows], seeds[p], proposals * len(rows), hot, clock, tuning
        ),
        share,
    )
