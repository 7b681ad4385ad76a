"""Where too many groups fail to be mended, their records are gathered anew, so that most groups hold."""

from collections.abc import Iterator, Sequence

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.grouping.partition import Partition
from shoal.requirements.base import Requirement

#: Where more than this share of groups has too few units, their records are gathered anew, unit by unit.
MANY = 0.25
#: Records whose groups are gathered anew, each with one of each part of a ranked column, where so many fail
#: that mergers would make groups of thousands. Each group looks at all that are free (1 s of processor time
#: for 30,000 records in groups of 5). Small tables do so for closeness only: for the rest they are shaken.
MOST_GATHERED = 100_000
#: Up to so many records all methods that make groups t-close are tried, so that none of them loses less.
FEW = 2000
#: Records that are gathered unit by unit at a time: each group costs a look at all of them.
BLOCK = 2000
#: Groups drawn to see whether they hold with so many parts, and how many of them may fail.
DRAWN, MAY_FAIL = 40, 2


def alike(points: Floats, k: int, requirements: Sequence[Requirement]) -> Partition | None:
    """Groups of records alike in a ranked column, if groups of near records would mostly fail as well.

    Then all records are gathered anew, whatever groups a method makes: its search would be in vain.
    """
    n, ranked = len(points), [(r, ranks) for r in requirements if (ranks := r.ranks()) is not None]
    if not ranked or not FEW < n <= MOST_GATHERED:
        return None
    from scipy.spatial import cKDTree  # which takes longer to load than most tables to protect

    drawn = points[np.linspace(0, n - 1, 5 * DRAWN).astype(np.int64)]
    near = cKDTree(points).query(drawn, range(1, k + 1))[1]
    for requirement, ranks in ranked:
        if np.mean([requirement.holds(members) for members in near]) < 1 - 2 * MANY:
            labels = np.empty(n, np.int64)
            labels[np.argsort(ranks, kind="stable")] = np.minimum(np.arange(n) // k, n // k - 1)
            return Partition(labels)
    return None


def parts_of(requirement: Requirement, ranks: Ints | Floats, rows: Ints, k: int) -> int:
    """Of how many parts of the ranks, k or more, groups take one record each, so that they tend to hold."""
    parts = k
    while parts < len(rows) // 2 and not tend_to_hold(requirement, ranks, rows, parts):
        parts += 1 + parts // 16
    return parts


def tend_to_hold(requirement: Requirement, ranks: Ints | Floats, rows: Ints, parts: int) -> bool:
    """Whether nearly all groups hold that have one of the records of each part of their ranks, by chance."""
    order = rows[np.argsort(ranks[rows], kind="stable")]
    within = np.arange(parts) + np.random.default_rng(0).random((DRAWN, parts))
    failed = 0
    for members in order[(within * (len(rows) / parts)).astype(np.int64)]:
        failed += not requirement.holds(members)
        if failed > MAY_FAIL:
            return False
    return True


def region(
    requirement: Requirement,
    ranks: Ints | Floats,
    rows: Ints,
    part: Partition,
    fails: Bools,
    means: Floats,
    parts: int,
) -> Ints:
    """The records of groups that fail and of those nearest to them, as many as it takes to deal them out.

    That is, so many that groups with one of them of each part tend to hold, as they do in the whole table.
    """
    from scipy.spatial import cKDTree

    near = np.argsort(cKDTree(means[fails]).query(means)[0], kind="stable")
    count = int(fails.sum())
    while count < len(near):
        chosen = np.flatnonzero(np.isin(part.labels, near[:count]))
        if len(chosen) >= parts and tend_to_hold(requirement, ranks, rows[chosen], parts):
            return chosen
        count += 1 + count // 4
    return np.arange(len(rows))


def gather(P: Floats, free: Ints, codes: Ints, k: int, labels: Ints) -> None:
    """Groups of k units: the free record farthest from the mean, and of the nearest units one record each.

    When fewer than k units are left, their records join the group of the nearest record.
    """
    rows = free
    while len(np.unique(codes[free])) >= k:
        far = free[np.argmax(np.square(P[free] - P[free].mean(axis=0)).sum(axis=1))]
        near = free[np.argsort(np.square(P[free] - P[far]).sum(axis=1), kind="stable")]
        first = np.sort(np.unique(codes[near], return_index=True)[1])[:k]
        labels[near[first]] = labels.max() + 1
        free = free[labels[free] < 0]
    taken = rows[labels[rows] >= 0]
    for x in free:
        labels[x] = labels[taken[np.argmin(np.square(P[taken] - P[x]).sum(axis=1))]]


def blocks_of(P: Floats, rows: Ints, codes: Ints, k: int, most: int = BLOCK) -> Iterator[Ints]:
    """The records in blocks that lie together, by halves of the widest coordinate; each has k units."""
    if len(rows) > most:
        order = rows[np.argsort(P[rows, np.argmax(P[rows].var(axis=0))], kind="stable")]
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        if all(len(np.unique(codes[half])) >= k for half in halves):
            for half in halves:
                yield from blocks_of(P, np.sort(half), codes, k, most)
            return
    yield rows
