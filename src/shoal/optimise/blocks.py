"""Large tables: anneal in blocks, then cut other blocks across the borders of the first, and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mdav import mdav
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.optimise.search import Clock, combine, cool, pose

#: Records of a block: few enough for most of what a run touches to stay in a core's own cache, and enough for
#: few of them to lie at a border (2,000 loses 2 % more, 8,000 gains 0.5 % in a third more time).
SIZE = 4000
#: The hottest temperature of each pass, and its proposals for each record at effort 1. Short passes first:
#: they only have to bring records across borders.
PASSES: tuple[tuple[float, int], ...] = (
    (10.0, 100),
    (2.0, 150),
    (0.7, 250),
    (0.4, 300),
    (0.3, 350),
)
#: A record's neighbour list has so many more than k records: shorter than elsewhere, for the lists are made
#: anew in every pass.
NEAR = 4
#: And it holds nearly the nearest (93 of 100): inside a cluster, that takes 0.4 of the time of exact lists.
SLACK = 4.0
#: Proposals for each record in the trial that finds the pace, and the share of the time that is planned with.
TRIAL, HASTE = 20, 0.9


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


def _anneal(
    X: NDArray, k: int, labels: NDArray, seed: int, proposals: int, hot: float, clock: Clock
) -> NDArray[np.int64]:
    """Better labels 0..g-1 of one block's records, if there is time."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(X) < 2 * k or clock.left() <= 0:
        return labels
    problem = pose(np.ascontiguousarray(X), k, near=k + NEAR, threads=1, slack=SLACK)
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
    one: Callable[[NDArray[np.int64], int], NDArray[np.int64]],
    share: Callable[[float], None],
) -> NDArray[np.int64]:
    """Labels of all n records: one(rows, p) gives those of block p, from 0 on. Several blocks at a time."""
    done = 0
    lock = threading.Lock()

    def reported(p: int) -> NDArray[np.int64]:
        nonlocal done
        answer = one(parts[p], p)
        with lock:
            done += 1
            share(done / len(parts))
        return answer

    labels = np.empty(n, np.int64)
    groups = 0
    for rows, answer in zip(parts, map_threads(reported, range(len(parts)))):
        labels[rows] = answer + groups
        groups += int(answer.max()) + 1
    return labels


def _affordable(
    X: NDArray, k: int, labels: NDArray, part: NDArray, effort: float, clock: Clock
) -> tuple[tuple[tuple[float, int], ...], float]:
    """The passes that the time left allows, the last ones of PASSES; and the effort.

    Found by a trial on one block. As many passes as there can be with a tenth of their proposals.
    """
    if len(part) < 2 * k:
        return PASSES, effort
    own = np.unique(labels[part], return_inverse=True)[1].astype(np.int64)
    cool(
        pose(X[part], k, near=k + NEAR, threads=1, slack=SLACK), own, 1, 100, 1.0, clock
    )  # compiles, if need be
    began = clock.spent()
    problem = pose(X[part], k, near=k + NEAR, threads=1, slack=SLACK)
    posed = clock.spent()
    cool(problem, own, 1, TRIAL * len(part), 1.0, clock)
    whole = len(X) / len(part) / thread_count()  # of the table, for each core
    lists, pace = (posed - began) * whole, (clock.spent() - posed) * whole / TRIAL
    passes = PASSES
    while True:
        proposals = (HASTE * clock.left() - lists * len(passes)) / pace
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
        labels = _in_blocks(len(X), parts, lambda rows, _: _start(X[rows], k), lambda done: None)
    elif clock.left() > 0:
        parts = _blocks_of_groups(X, labels, rng)
    passes = PASSES
    if clock.limit is not None and clock.left() > 0:
        passes, effort = _affordable(X, k, labels, parts[0], effort, clock)
    total, before, number = sum(many for _, many in passes), 0, 0
    while clock.left() > 0 and (number < len(passes) or clock.limit is not None):
        if number > 0:
            parts = _blocks_of_groups(X, labels, rng)
        hot, many = passes[min(number, len(passes) - 1)]

        def share(done: float, before: int = before, many: int = many) -> None:
            report((before + done * many) / total)

        labels = _pass(X, k, labels, parts, rng, int(many * effort), hot, clock, share)
        before += many
        number += 1
    return labels


def _pass(X, k, labels, parts, rng, proposals, hot, clock, share) -> NDArray[np.int64]:
    """Every block once; `proposals` for each record."""
    seeds = [int(seed) for seed in rng.integers(2**63, size=len(parts))]
    return _in_blocks(
        len(X),
        parts,
        lambda rows, p: _anneal(X[rows], k, labels[rows], seeds[p], proposals * len(rows), hot, clock),
        share,
    )
