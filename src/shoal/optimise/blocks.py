"""Large tables: anneal in blocks, then cut other blocks across the borders of the first, and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels._threads import map_threads, thread_count
from shoal.optimise.search import Clock, combine, cool, pose

#: Records of a block: few enough for all that a run touches to stay in a core's own cache, and enough for
#: few of them to lie at a border (1,000 loses 2 % more, 4,000 gains nothing in the same time).
SIZE = 2000
#: Proposals for each record in one pass of effort 1, and the hottest temperatures of the passes.
PROPOSALS = 150
HOTTEST: tuple[float, ...] = (5.0, 1.0, 0.7, 0.5)
#: A record's neighbour list has so many more than k records: shorter than elsewhere, for the lists are made
#: anew in every pass.
NEAR = 6
#: Proposals for each record in the trial that finds the pace, and the share of the time that is planned with.
TRIAL, HASTE = 20, 0.9
#: Blocks between two reports of progress.
BATCH = 32


def split(X: NDArray[np.float64], size: int, multiple: int = 1) -> list[NDArray[np.int64]]:
    """Halve the rows along the column of widest variance until `size` or fewer are together.

    Every block but one has a number of rows that is a multiple of `multiple`.
    """
    waiting = [np.arange(len(X))]
    done = []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(size, 2 * multiple - 1):
            done.append(np.sort(rows))
            continue
        block = X[rows]
        column = block[:, np.argmax(block.var(0))]
        half = max(1, len(rows) // 2 // multiple) * multiple
        order = np.argpartition(column, half - 1)
        waiting += [rows[order[half:]], rows[order[:half]]]
    return done


def _start(X: NDArray, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of one block's records, by MDAV."""
    X = np.ascontiguousarray(X)
    return mdav(X, k) if len(X) >= 2 * k else np.zeros(len(X), np.int64)


def _anneal(
    X: NDArray, k: int, labels: NDArray, seed: int, proposals: int, hot: float, clock: Clock
) -> NDArray[np.int64]:
    """Better labels 0..g-1 of one block's records, if there is time."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(X) < 2 * k or clock.left() <= 0:
        return labels
    problem = pose(np.ascontiguousarray(X), k, near=k + NEAR, threads=1)
    return combine(problem, labels, cool(problem, labels, seed, proposals, hot, clock))


def _blocks_of_groups(
    X: NDArray, labels: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Blocks of whole groups, cut along random directions."""
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    order = np.argsort(labels, kind="stable")
    centroids = np.stack([np.bincount(labels, column) for column in X.T], axis=1) / sizes[:, None]
    turn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    pieces = split(centroids @ turn, max(20, SIZE * len(ends) // len(X)))
    return [np.concatenate([order[starts[g] : ends[g]] for g in piece]) for piece in pieces]


def _in_blocks(
    n: int,
    parts: list[NDArray[np.int64]],
    one: Callable[[int], NDArray[np.int64]],
    share: Callable[[float], None],
) -> NDArray[np.int64]:
    """Labels of all n records: one(p) gives those of block p, from 0 on. Several blocks at a time."""
    labels = np.empty(n, np.int64)
    groups = 0
    for first in range(0, len(parts), BATCH):
        batch = range(first, min(first + BATCH, len(parts)))
        for p, answer in zip(batch, map_threads(one, batch)):
            labels[parts[p]] = answer + groups
            groups += int(answer.max()) + 1
        share(batch.stop / len(parts))
    return labels


def _affordable(
    X: NDArray, k: int, labels: NDArray, part: NDArray, most: int, clock: Clock
) -> tuple[tuple[float, ...], int]:
    """The passes that the time left allows, the last ones of HOTTEST, and the proposals of each.

    Found by a trial on one block. As many passes as there can be with a tenth of the usual proposals.
    """
    own = np.unique(labels[part], return_inverse=True)[1].astype(np.int64)
    if clock.left() <= 0 or len(part) < 2 * k:
        return HOTTEST, most
    cool(pose(X[part], k, near=k + NEAR, threads=1), own, 1, 100, 1.0, clock)  # compiles, if need be
    began = clock.spent()
    problem = pose(X[part], k, near=k + NEAR, threads=1)
    posed = clock.spent()
    cool(problem, own, 1, TRIAL * len(part), 1.0, clock)
    whole = len(X) / len(part) / thread_count()  # of the table, for each core
    lists, pace = (posed - began) * whole, (clock.spent() - posed) * whole / TRIAL
    for passes in range(len(HOTTEST), 1, -1):
        proposals = (HASTE * clock.left() / passes - lists) / pace
        if proposals >= PROPOSALS / 10:
            return HOTTEST[-passes:], int(min(most, proposals))
    proposals = (HASTE * clock.left() - lists) / pace
    return HOTTEST[-1:], int(min(most, max(proposals, PROPOSALS / 10)))


def improve(
    X: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64] | None,
    rng: np.random.Generator,
    effort: float,
    clock: Clock,
    report: Callable[[float], None],
) -> NDArray[np.int64]:
    """Anneal in blocks, several times over; from MDAV inside blocks if there are no labels yet.

    The first pass cuts the records where a column is widest. Each later pass cuts the groups found so far,
    whole, by their centroids turned in a random direction: the borders of one pass lie inside the blocks
    of the next. With a time limit the passes are as many and as long as it allows; further ones go on
    until it ends. MDAV in blocks is made in any case.
    """
    X = X - X.mean(0)
    if labels is None:
        parts = split(X, max(SIZE, 20 * k), k)
        labels = _in_blocks(len(X), parts, lambda p: _start(X[parts[p]], k), lambda done: None)
    elif clock.left() > 0:
        parts = _blocks_of_groups(X, labels, rng)
    hottest, proposals = HOTTEST, int(PROPOSALS * effort)
    if clock.limit is not None and clock.left() > 0:
        hottest, proposals = _affordable(X, k, labels, parts[0], proposals, clock)
    number = 0
    while clock.left() > 0 and (number < len(hottest) or clock.limit is not None):
        if number > 0:
            parts = _blocks_of_groups(X, labels, rng)
        hot = hottest[min(number, len(hottest) - 1)]
        labels = _pass(
            X, k, labels, parts, rng, proposals, hot, clock,
            lambda done, number=number: report((number + done) / len(hottest)),
        )  # fmt: skip
        number += 1
    return labels


def _pass(X, k, labels, parts, rng, proposals, hot, clock, share) -> NDArray[np.int64]:
    """Every block once; `proposals` for each record."""
    seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]

    def one(p: int) -> NDArray[np.int64]:
        rows = parts[p]
        return _anneal(X[rows], k, labels[rows], seeds[p], proposals * len(rows), hot, clock)

    return _in_blocks(len(X), parts, one, share)
