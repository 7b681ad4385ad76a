"""The anytime search: anneal several times, recombine the groups, heat it up again, and so on."""

import itertools
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms._split import start_labels
from shoal.errors import InputError
from shoal.grouping.registry import method
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.optimise import blocks
from shoal.optimise.recombine import Pool
from shoal.optimise.search import AHEAD, COLD, Clock, Problem, combine, cool, cool_region, pose, tidy


class Run(NamedTuple):
    """One annealing: its hottest temperature, the share of the records it tries, and which those are."""

    hot: float
    share: float = 1.0
    dear: bool = False  # a short run of the groups that cost most for each record; else around a random one


Runs = tuple[Run, ...]


class Schedule(NamedTuple):
    """How a search is laid out."""

    first: Runs  # of the first generation
    later: Runs  # of a generation that goes on from the best so far
    cold: float  # the coldest temperature, below which runs only descend
    proposals: int  # of one run for each record, with effort 1
    most: int  # and at most


#: Short runs of the groups that cost most, in each later generation: with heavy tails a tenth of the groups
#: makes most of the loss, and many short runs there find more than a few long runs of everything.
DEAR = tuple(Run(hot, share, dear=True) for hot in (10.0, 3.0) for share in (0.4, 0.2)) * 4
#: Their proposals for each record, as a share of those of a run of the first generation. With longer ones
#: tables without heavy tails get too little: Census with k = 5 in 17 s on one core 7.277, with 1 7.307.
BRIEF = 0.25
#: With k up to 4 several short runs, recombined, gain more than one long run.
UP_TO_4 = Schedule(
    (Run(10.0), Run(30.0)) * 4,
    (Run(1.5), Run(1.0), Run(1.0), Run(0.7), Run(0.7), Run(0.5), Run(0.5), *DEAR),
    cold=COLD,
    proposals=1000,
    most=16_000,
)
#: With k above 4 a search begins with whole runs from so hot that heavy tails melt too: what freezes first
#: differs from run to run, and the best of eight is better than one run of eight times the length. Then the
#: best so far is softened again and again, which gains more than hotter runs do: Census with k = 10 11.360 to
#: 11.368 in 22 s, where one run of that time ends at 11.377; with k = 5 in 17 s on one core 7.276 and 7.279,
#: and 7.282 and 7.289 with the schedule above.
ABOVE_4 = Schedule(
    (Run(10.0),) * 8,
    (Run(0.5), Run(0.35), Run(0.25), Run(0.25), *DEAR),
    cold=0.1,
    proposals=2000,
    most=128_000,
)
#: The share of a time limit that the first generation may take.
OPENING = 0.2
#: Later generations without a time limit: this bounds the work, together with `effort`.
GENERATIONS = 4
#: A generation that leaves more than this share of the SSE has gained next to nothing.
STILL = 0.9998
#: Generations in a row that gain next to nothing, after which a search with time left begins anew.
PATIENCE = 2
#: The bound's linear program helps a search of so many seconds at k = 3, twice that at each further k, with
#: up to so many records at this k (EIA with k = 5 gains by annealing: 0.72942 after 10 s, and 0.72951 after a
#: minute that the program took most of). It begins with the groups that annealing has met: Census with k = 5
#: after 60 s 7.249 (7.254 without them, 7.266 without the program).
COLUMNS_FROM, COLUMNS_RECORDS = 14.0, {2: 5000, 3: 5000, 4: 5000, 5: 2000}
#: It begins after this share of the time: what annealing gains before is cheap.
COLUMNS_AFTER = 0.25
#: The share of the time left that it may then take. With 0.85 Tarragona with k = 5 had time for one dive.
DIVING = 0.97
#: Above so many records the search works in blocks: all cores have work, and what a block needs stays in the
#: cache; but groups at the borders must wait for the next pass.
LARGE = 10_000


def _schedule(k: int) -> Schedule:
    return UP_TO_4 if k <= 4 else ABOVE_4


def _anneal(
    problem: Problem,
    labels: NDArray[np.int64],
    proposals: int,
    brief: int,
    clock: Clock,
    cold: float,
    ahead: int,
    seeded: tuple[int, Run],
) -> NDArray[np.int64]:
    seed, run = seeded
    how = seed, int(run.share * brief) if run.dear else proposals, run.hot, clock, cold
    if run.share == 1:
        return cool(problem, labels, *how, ahead=ahead)
    return cool_region(problem, labels, run.share, run.dear, *how, ahead=ahead)


def _time_for_columns(problem: Problem, clock: Clock) -> bool:
    if clock.limit is None or len(problem.P) > COLUMNS_RECORDS.get(problem.k, 0):
        return False
    long = clock.limit >= COLUMNS_FROM * 2.0 ** max(0, problem.k - 3)
    return long and clock.spent() >= COLUMNS_AFTER * clock.limit


def search(
    problem: Problem,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    proposals: int,
    generations: Iterable[Runs],
    clock: Clock,
    progress: Callable[[int], None] | None = None,
    patience: float = np.inf,
    others: Iterable[NDArray[np.int64]] = (),
    cold: float | None = None,
    ahead: int = AHEAD,
) -> NDArray[np.int64]:
    """Improve a partition into groups of k..2k-1; the outcome is never worse.

    Every run of a generation anneals the best partition so far, each from its own temperature and some the
    dearest groups only. Then the best takes over every part in which a run is better (`combine`), and set
    partitioning over all groups seen looks for more; after a quarter of a long search with small k dives
    into the bound's linear program go on from there (`prove`). A generation that gains next to nothing
    makes the next one's whole runs half as long again, and its short runs more; `patience` is for how many
    such in a row the search goes on. `others` are partitions whose groups are recombined too. Runs, seeds
    and regions do not depend on the number of threads.
    """
    best = labels
    cold = cold or _schedule(problem.k).cold
    pool = Pool(problem)
    for partition in (*others, best):
        pool.add(partition)
    still, times, dived = 0, 1, False
    brief = int(BRIEF * proposals)
    value = problem.sse(best).sum()
    for number, planned in enumerate(generations):
        if clock.left() <= 0 or still >= patience:
            break
        runs = [run for run in planned for _ in range(times if run.dear else 1)]
        seeds = [int(seed) for seed in rng.integers(2**63, size=len(runs))]
        anneal = partial(_anneal, problem, best, proposals, brief, clock, cold, ahead)
        for annealed in map_threads(anneal, list(zip(seeds, runs))):
            best = combine(problem, best, annealed)
            pool.add(annealed)
        best = pool.improve(best, rng, clock)
        if not dived and _time_for_columns(problem, clock):
            from shoal.optimise.prove import solve

            deadline = time.perf_counter() + DIVING * clock.left()
            best = solve(problem.P, problem.k, best, deadline, groups=pool.members)[0]
            dived = True
        before, value = value, problem.sse(best).sum()
        still = still + 1 if value > STILL * before else 0
        if still:
            proposals += proposals // 2
            times += 1
        if progress:
            progress(number + 1)
    return best


def search_again(
    problem: Problem,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    proposals: int,
    clock: Clock,
    progress: Callable[[int], None],
) -> NDArray[np.int64]:
    """Search until the time ends: each time that it comes to rest, from the start anew.

    Two searches rest at different partitions, and a third one goes on from the best that can be made of both.
    """
    plan = _schedule(problem.k)
    later = itertools.repeat(plan.later)
    go_on = (clock, progress, PATIENCE)
    best = search(problem, labels, rng, proposals, itertools.chain([plan.first], later), *go_on)
    while clock.left() > 0:
        other = search(problem, labels, rng, proposals, itertools.chain([plan.first], later), *go_on)
        both = combine(problem, best, other)
        best = search(problem, both, rng, proposals, later, *go_on, (best, other))
    return best


def _affordable(problem: Problem, labels: NDArray[np.int64], clock: Clock) -> int:
    """Proposals of one run such that the first generation takes its share of the time left."""
    n = len(problem.P)
    plan = _schedule(problem.k)
    cool(problem, labels, 1, 100, 1.0, clock)  # compiles, if that was not done before
    before = clock.spent()
    cool(problem, labels, 1, 200 * n, plan.first[0].hot, clock)
    pace = 200 * n / (clock.spent() - before)
    rounds = -(-len(plan.first) // thread_count())  # threads do not shorten a run
    return int(min(plan.most * n, max(10 * n, OPENING * clock.left() * pace / rounds)))


def _start(X: NDArray, k: int, start: str | NDArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of groups of k..2k-1 from the name of a method or from labels."""
    return tidy(X, start_labels(X, k, start, ("optimise", "auto"), rng), k)


@method(title="Optimise", paper="shoal", sizes="k..2k-1", cost="n", mixed=True)
def optimise(X, k, *, start="mdav", effort=1.0, rng, time_limit=None, progress=None):
    """Anneal a partition many times over and recombine their groups: the least loss that time allows.

    `start` is the name of a method or labels. Without a time limit the work is bounded by moves (`effort`
    scales them), and the same seed gives the same groups on any number of threads. With one, the search
    goes on until it ends and returns the best so far. Above 10,000 records the work is done in blocks, and
    the start "mdav" means MDAV inside blocks.
    """
    if not 0 < effort < np.inf:
        raise InputError(f"effort must be a number above 0, not {effort}")
    clock = Clock(time_limit)

    def report(fraction: float) -> None:
        if progress:
            progress(min(1.0, fraction if time_limit is None else clock.spent() / time_limit))

    if len(X) > LARGE:
        labels = None if isinstance(start, str) and start == "mdav" else _start(X, k, start, rng)
        return blocks.improve(X, k, labels, rng, 3 * effort, clock, report)
    labels = _start(X, k, start, rng)
    problem = pose(X, k)

    def report_generation(done: int) -> None:
        report(done / (1 + GENERATIONS))

    if time_limit is None:
        plan = _schedule(k)
        generations = [plan.first, *[plan.later] * GENERATIONS]
        proposals = int(plan.proposals * effort * len(X))
        return search(problem, labels, rng, proposals, generations, clock, report_generation)
    return search_again(problem, labels, rng, _affordable(problem, labels, clock), clock, report_generation)
