"""Large tables: cut into blocks, anneal each block for itself, then cut otherwise and anneal across the borders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels._threads import map_threads
from shoal.optimise.search import Clock, combine, cool, pose

#: Records of a block: few enough for all that a run touches to stay in a core's own cache.
SIZE = 1000
#: Proposals for each record in one pass of effort 1, and the hottest temperatures of the passes.
PROPOSALS = 100
HOTTEST = (5.0, 1.0, 1.0)
#: Blocks between two reports of progress.
BATCH = 64


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


def _centroids(X: NDArray, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    sizes = np.bincount(labels)
    return np.stack([np.bincount(labels, column) for column in X.T], axis=1) / sizes[:, None]


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
    of the next. With a time limit the passes go on until it ends.
    """
    n, d = X.shape
    X = X - X.mean(0)
    number = 0
    while number < len(HOTTEST) or (clock.limit is not None and clock.left() > 0):
        hot = HOTTEST[min(number, len(HOTTEST) - 1)]
        if labels is None:
            parts = split(X, max(SIZE, 20 * k), k)
        else:
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
            order = np.argsort(labels, kind="stable")
            ends = np.cumsum(np.bincount(labels))
            starts = ends - np.bincount(labels)
            pieces = split(_centroids(X, labels) @ turn, max(20, SIZE * len(ends) // n))
            parts = [np.concatenate([order[starts[g] : ends[g]] for g in piece]) for piece in pieces]
        seeds = rng.integers(2**63, size=len(parts))
        new = np.empty(n, np.int64)
        groups = 0
        for first in range(0, len(parts), BATCH):
            answers = map_threads(
                lambda p: _improve_block(
                    X[parts[p]],
                    k,
                    None if labels is None else labels[parts[p]],
                    int(seeds[p]),
                    int(PROPOSALS * effort * len(parts[p])),
                    hot,
                    clock,
                ),
                range(first, min(first + BATCH, len(parts))),
            )
            for part, answer in zip(parts[first:], answers):
                new[part] = answer + groups
                groups += int(answer.max()) + 1
            report((number + min(1.0, (first + BATCH) / len(parts))) / len(HOTTEST))
        labels = new
        number += 1
    return labels
