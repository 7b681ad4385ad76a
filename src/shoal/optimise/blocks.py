"""Large tables: anneal in blocks, then cut other blocks across the borders of the first, and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels._threads import map_threads
from shoal.optimise.search import Clock, combine, cool, pose

#: Records of a block: few enough for all that a run touches to stay in a core's own cache, and enough for
#: few of them to lie at a border (1,000 loses 2 % more, 4,000 gains nothing in the same time).
SIZE = 2000
#: Proposals for each record in one pass of effort 1, and the hottest temperatures of the passes.
PROPOSALS = 150
HOTTEST = (5.0, 1.0, 0.7, 0.5)
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


def _improve_block(
    X: NDArray, k: int, labels: NDArray | None, seed: int, proposals: int, hot: float, clock: Clock
) -> NDArray[np.int64]:
    """Labels 0..g-1 of one block's records; from MDAV if there are none yet."""
    X = np.ascontiguousarray(X)
    if labels is None:
        labels = mdav(X, k) if len(X) >= 2 * k else np.zeros(len(X), np.int64)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(X) < 2 * k or clock.left() <= 0:
        return labels
    problem = pose(X, k, threads=1)
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


def _pass(X, k, labels, parts, rng, proposals, hot, clock, share) -> NDArray[np.int64]:
    """Every block once, several at a time; `proposals` for each record."""
    seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]

    def one(p: int) -> NDArray[np.int64]:
        own = None if labels is None else labels[parts[p]]
        return _improve_block(X[parts[p]], k, own, seeds[p], proposals * len(parts[p]), hot, clock)

    new = np.empty(len(X), np.int64)
    groups = 0
    for first in range(0, len(parts), BATCH):
        batch = range(first, min(first + BATCH, len(parts)))
        for p, answer in zip(batch, map_threads(one, batch)):
            new[parts[p]] = answer + groups
            groups += int(answer.max()) + 1
        share(batch.stop / len(parts))
    return new


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
    of the next. With a time limit the passes go on until it ends,
    and no further.
    """
    X = X - X.mean(0)
    number = 0
    while labels is None or (clock.left() > 0 and (number < len(HOTTEST) or clock.limit is not None)):
        hot = HOTTEST[min(number, len(HOTTEST) - 1)]
        if labels is None:
            parts = split(X, max(SIZE, 20 * k), k)
        else:
            parts = _blocks_of_groups(X, labels, rng)

        def share(done: float, number: int = number) -> None:
            report((number + done) / len(HOTTEST))

        labels = _pass(X, k, labels, parts, rng, int(PROPOSALS * effort), hot, clock, share)
        number += 1
    return labels
