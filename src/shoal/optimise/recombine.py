"""The best partition that can be made of groups seen before: set partitioning, region by region."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.partition import group_rows
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.cover import cover
from shoal.optimise.search import Clock, Problem, renumber

#: Nodes of one search for a cover. They bound its work, alike on every machine; a region that needs more is
#: called hard, and the next regions are smaller.
NODES = 5_000


def groups_of(labels: NDArray[np.int64], members: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
    """Which of these groups (rows of `members`, filled up with -1) belong to the partition."""
    first = labels[members[:, 0]]
    inside = (np.where(members >= 0, labels[members], first[:, None]) == first[:, None]).all(1)
    return inside & ((members >= 0).sum(1) == np.bincount(labels)[first])


def labels_from(groups: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Labels of the records: the number of the row that holds each. Undefined for records in no row."""
    labels = np.empty(records, np.int64)
    row, place = np.nonzero(groups >= 0)
    labels[groups[row, place]] = row
    return labels


def _prices(members: NDArray[np.int64], cost: NDArray[np.float64], records: int) -> NDArray[np.float64]:
    """The duals of the set-partitioning linear program: what each record costs at least."""
    from shoal.bounds.highs import set_partitioning

    program = set_partitioning(members, cost, records, solver="simplex")
    program.run()
    return np.asarray(program.getSolution().row_dual)


def cheapest_cover(
    members: NDArray[np.int64], cost: NDArray[np.float64], current: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], bool]:
    """Which groups (rows of `members`, filled up with -1) hold every record exactly once at least cost.

    `current` is a cover to improve on. The linear program prices the records; a group whose reduced cost
    exceeds the distance from the current cover down to the program's value cannot be in a better one, and a
    depth-first search goes through the others. Also tells whether the answer is proven to be the best.
    """
    records, index = np.unique(members, return_inverse=True)
    missing = int(records[0] < 0)
    members = index.reshape(members.shape) - missing
    count = len(records) - missing
    price = _prices(members, cost, count)
    if len(price) != count:
        return current, False
    reduced = np.maximum(0.0, cost - np.append(price, 0.0)[members].sum(1))
    gap = cost[current].sum() - price.sum()
    gap -= 1e-10 * cost[current].sum()
    open_ = np.flatnonzero(reduced < gap)
    if gap <= 0 or len(np.unique(members[open_])) - missing < count:
        return current, True
    open_ = open_[np.argsort(reduced[open_], kind="stable")]
    column, place = np.nonzero(members[open_] >= 0)
    record = members[open_[column], place]
    holders = column[np.argsort(record, kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(record, minlength=count))])
    best = np.empty(count, np.int64)
    size, proven = cover(members[open_], reduced[open_], start, holders, gap, NODES, best)
    if size == 0:
        return current, proven
    chosen = np.zeros(len(cost), bool)
    chosen[open_[best[:size]]] = True
    return chosen, proven


class Pool:
    """Groups seen in good partitions, the newest last, each once."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.members = np.empty((0, 2 * problem.k - 1), np.int64)
        self.cost = np.empty(0)
        self.target = 400  # groups of the pool in a region: halved where programs are hard, grown where not
        self.sweeps = 4  # 1 after a call without a gain: where k is large, groups seldom recur

    def add(self, labels: NDArray[np.int64]) -> None:
        """Add the groups of a partition; keep the newest ones if there are very many."""
        members = group_rows(labels, self.problem.k)
        rows = np.concatenate([self.members, members])
        cost = np.concatenate([self.cost, self.problem.sse(labels)[: len(members)]])
        _, last = np.unique(rows[::-1], axis=0, return_index=True)
        keep = np.sort(len(rows) - 1 - last)[-20 * len(members) :]
        self.members, self.cost = rows[keep], cost[keep]

    def improve(self, labels: NDArray[np.int64], rng: np.random.Generator, clock: Clock) -> NDArray[np.int64]:
        """Cut the groups of `labels` into regions that the pool's groups link, and solve each for itself."""
        self.add(labels)
        idle = 0
        gained = False
        for _ in range(self.sweeps):
            if clock.left() <= 0 or idle == 2:
                break
            regions = self._regions(labels, rng)
            answers = map_threads(partial(self._solve, labels, clock), regions)
            better = [new for new, _ in answers if new is not None]
            labels = labels.copy()
            for inside, new in better:
                labels[inside] = new + labels.max() + 1
            labels = renumber(labels)
            hard = not all(proven for _, proven in answers)
            self.target = max(100, self.target // 2) if hard else min(4000, self.target * 3 // 2)
            idle = 0 if better else idle + 1
            gained |= bool(better)
        self.sweeps = 4 if gained else 1
        return labels

    def _regions(self, labels: NDArray[np.int64], rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Disjoint sets of groups, each grown from a random group by adding the one most linked to it."""
        groups = int(labels.max()) + 1
        touched = np.sort(np.where(self.members >= 0, labels[self.members], groups), axis=1)
        left, right = touched[:, :-1].ravel(), touched[:, 1:].ravel()
        real = (right < groups) & (left != right)
        pairs, count = np.unique(left[real] * groups + right[real], return_counts=True)
        lower, higher = np.divmod(pairs, groups)
        a = np.append(lower, higher)
        order = np.argsort(a, kind="stable")
        b, count = np.append(higher, lower)[order], np.tile(count, 2)[order]
        first = np.searchsorted(a[order], np.arange(groups + 1))
        size = max(2, int(self.target * groups / len(self.cost)))
        regions = []
        free = np.ones(groups, bool)
        for seed in rng.permutation(groups):
            if not free[seed]:
                continue
            links: dict[int, int] = {int(seed): 1}
            region: list[int] = []
            while links and len(region) < size:
                g = max(links, key=lambda h: (links[h], -h))
                del links[g]
                region.append(g)
                free[g] = False
                for h, c in zip(b[first[g] : first[g + 1]], count[first[g] : first[g + 1]]):
                    if free[h]:
                        links[int(h)] = links.get(int(h), 0) + int(c)
            if len(region) > 1:
                regions.append(np.array(region))
        return regions

    def _solve(self, labels: NDArray[np.int64], clock: Clock, region: NDArray[np.int64]):
        """The records of a region with better groups for them (or None), and whether that is proven."""
        chosen = np.zeros(int(labels.max()) + 2, bool)
        chosen[region] = True
        inside = chosen[labels]
        fits = np.append(inside, True)[self.members].all(1)
        members, cost = self.members[fits], self.cost[fits]
        if len(cost) <= len(region) or clock.left() <= 0:
            return None, True
        current = groups_of(labels, members)
        best, proven = cheapest_cover(members, cost, current)
        if np.array_equal(best, current):
            return None, proven
        records = np.flatnonzero(inside)
        return (records, labels_from(members[best], len(inside))[records]), proven
