"""Set partitioning over a pool of groups, against counting out."""

import numpy as np
import pytest

from shoal.optimise.recombine import Pool, cheapest_cover
from shoal.optimise.search import Clock, pose


def counted_out(members, cost, records):
    sets = [frozenset(row[row >= 0]) for row in members]

    def solve(left):
        if not left:
            return 0.0
        first = min(left)
        return min(
            (c + solve(left - s) for s, c in zip(sets, cost) if first in s and s <= left), default=np.inf
        )

    return solve(frozenset(range(records)))


@pytest.mark.parametrize("seed", range(40))
def test_cheapest_cover_equals_counting_out(seed):
    rng = np.random.default_rng(seed)
    rows = [[*part, -1, -1] for part in rng.permutation(12).reshape(4, 3)]
    for _ in range(30):
        size = int(rng.integers(3, 6))
        rows.append([*rng.choice(12, size, replace=False), *[-1] * (5 - size)])
    members, cost = np.array(rows), rng.uniform(0.5, 1, size=34)
    known = np.arange(34) < 4
    chosen, proven = cheapest_cover(members + 100 * (members >= 0), cost, known)
    assert proven
    assert cost[chosen].sum() == pytest.approx(counted_out(members, cost, 12))


def test_pool_finds_the_best_mixture_of_partitions():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(18, 2))
    problem = pose(X, 3)
    pool = Pool(problem)
    partitions = [np.argsort(np.argsort(X @ rng.normal(size=2))) // 3 for _ in range(25)]
    for labels in partitions:
        pool.add(labels)
    assert len(np.unique(pool.members, axis=0)) == len(pool.members)
    best = pool.improve(partitions[0], np.random.default_rng(0), Clock(None))
    value = problem.sse(best).sum()
    assert value == pytest.approx(counted_out(pool.members, pool.cost, 18))
    assert value <= min(problem.sse(labels).sum() for labels in partitions) + 1e-9
