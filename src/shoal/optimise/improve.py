"""The anytime search: anneal several times, recombine what was found, reheat, and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.kernels._threads import map_threads, thread_count
from shoal.method import get_method, method, run_method
from shoal.optimise.recombine import Pool
from shoal.optimise.search import Clock, Problem, combine, cool, pose, tidy

#: Proposals for each record in a run of effort 1, and the hottest temperatures of a generation's runs.
PROPOSALS = 1000
FIRST = (10.0,) * 8
LATER = (10.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.3)
GENERATIONS = 4


def search(
    problem: Problem,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    effort: float,
    clock: Clock,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Improve a partition of groups of k..2k-1; never worse than it was.

    Generation 0 anneals from the start, hot. Every later one heats the best partition again to several
    temperatures. After each run the best takes over every part in which the run is better (`combine`);
    after each generation set partitioning over the pool of all groups looks for more. Runs, seeds and
    regions do not depend on the number of threads.
    """
    n = len(problem.P)
    best = labels
    pool = Pool(problem)
    pool.add(best)
    generation = 0
    proposals = int(n * PROPOSALS * effort)
    while clock.left() > 0 and (clock.limit is not None or generation <= GENERATIONS):
        hots = LATER if generation else FIRST
        seeds = rng.integers(2**63, size=len(hots))
        source = best
        runs = map_threads(
            lambda run: cool(problem, source, int(run[0]), proposals, run[1], clock), list(zip(seeds, hots))
        )
        for run in runs:
            best = combine(problem, best, run)
            pool.add(run)
        best = pool.improve(best, rng, clock)
        generation += 1
        if progress:
            done = generation / (GENERATIONS + 1) if clock.limit is None else clock.spent() / clock.limit
            progress(min(1.0, done))
    return best
