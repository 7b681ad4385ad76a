"""What proofs ask about groups: which cost less than a goal, and what cuts charge them.

Plain code on purpose. Nothing here is shared with the search.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.kernels.runtime.jit import kernel

#: Candidates that a proof weighs at most, some minutes' work: false prices could make it endless.
WORK = 10**11
#: The largest divisor of a cut; ours are below 6.
LARGEST_DIVISOR = 100
#: Candidates for one group up to which their distances among themselves are summed again, and only if they
#: are fewer than this share of those before. This trades the square of their number against a smaller search;
#: what is proven does not depend on it.
AMONG, FEWER = 300, 0.8


def cut_table(n: int, cuts: NDArray[np.int64], weights: NDArray[np.int64], divisors: NDArray[np.int64]):
    """(start, cut, weight) of each record's cuts, and the divisors; refuses what is no cut."""
    if divisors.ndim != 1 or cuts.ndim != 2 or weights.shape != cuts.shape or len(cuts) != len(divisors):
        raise ValueError("arrays do not fit the cuts")
    inside = cuts >= 0
    if (cuts >= n).any() or (divisors < 2).any() or (divisors > LARGEST_DIVISOR).any():
        raise ValueError("a cut has a wrong record or divisor")
    if (weights[inside] < 1).any() or (weights[~inside] != 0).any() or (weights >= divisors[:, None]).any():
        raise ValueError("a weight lies between 1 and the divisor")
    if any(len(set(row[row >= 0].tolist())) < (row >= 0).sum() for row in cuts):
        raise ValueError("a cut needs different records")
    cut, place = np.nonzero(inside)
    order = np.argsort(cuts[cut, place], kind="stable")
    cut, place = cut[order], place[order]
    start = np.searchsorted(cuts[cut, place], np.arange(n + 1))
    return start, cut, weights[cut, place], np.ascontiguousarray(divisors)


def limit_penalties(weights: NDArray, divisors: NDArray, penalties: NDArray) -> NDArray[np.float64]:
    """What all groups together pay at most for each cut: its weights fill the divisor only so often."""
    if penalties.shape != divisors.shape or not (penalties >= 0).all():
        raise ValueError("each cut has a penalty, which is not negative")
    return penalties * (weights.sum(axis=1) // divisors)


def groups_below(X, k, prices, table, penalties, goal: float, most: int) -> NDArray[np.int32] | None:
    """Every group whose cost, less prices, plus penalties, is below the goal; None if more than `most`.

    The dearest record of a group leads it, and each lead is searched by itself.
    """
    n = len(X)
    order = np.argsort(-prices, kind="stable")
    start, cut, weight, divisors = table
    lists = np.concatenate([np.arange(start[i], start[i + 1]) for i in order]).astype(np.int64)
    start = np.concatenate([[0], np.cumsum((start[1:] - start[:-1])[order])])
    cuts = start, cut[lists], weight[lists], divisors, penalties
    X = np.ascontiguousarray(X[order])
    near = near_sums(X, min(2 * k - 2, n - 1))

    def search(leads):
        rows = np.empty((most, 2 * k - 1), np.int32)
        count = _below(X, k, leads, prices[order], near, cuts, goal, rows, WORK // 8)
        return rows[:count].copy() if count <= most else None

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(search, [np.arange(first, n, 8) for first in range(8)]))
    if any(rows is None for rows in found):
        return None
    rows = np.concatenate(found)
    return np.where(rows >= 0, order[rows], -1).astype(np.int32) if len(rows) <= most else None


def near_sums(X: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The sums of each record's 0, 1, .., most smallest squared distances to others."""
    distances, _ = cKDTree(X).query(X, k=list(range(1, most + 2)))
    return np.cumsum(np.square(distances), axis=1)


@kernel
def _d2(X, a, b):
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[a, j] - X[b, j]) ** 2
    return total


@kernel
def _due(c, r, cuts, held):
    """The penalties that c brings on as one of r to come: its share of each cut that it would fill.

    All of it if c comes last. Otherwise a half where the divisor is 2, since each further record fills a
    half; else 1/r, since r such records together pay it once at least.
    """
    start, cut, weight, divisor, penalty = cuts
    total = 0.0
    for e in range(start[c], start[c + 1]):
        t = cut[e]
        if held[t] % divisor[t] + weight[e] >= divisor[t]:
            total += penalty[t] if r == 1 else penalty[t] / (2 if divisor[t] == 2 else r)
    return total


@kernel
def _take(c, sign, cuts, held):
    """Put c into the group, or take it out."""
    for e in range(cuts[0][c], cuts[0][c + 1]):
        held[cuts[1][e]] += sign * cuts[2][e]


@kernel
def _sums_among(X, pool, among, least):
    """among[c]: the sums of c's 0, 1, 2, .. smallest squared distances to others of the pool."""
    most = among.shape[1] - 1
    for a in pool:
        least[:most] = np.inf
        for b in pool:
            d2 = _d2(X, a, b)
            p = most - 1
            if a != b and d2 < least[p]:
                while p > 0 and least[p - 1] > d2:
                    least[p] = least[p - 1]
                    p -= 1
                least[p] = d2
        for q in range(most):
            among[a, q + 1] = among[a, q] + least[q]


@kernel
def _reaches(k, prices, near, goal):
    """The squared distance within which each lead has all records of a group below the goal.

    In a group of s, the lead i and c pay d2(i, c) / s for one another, each of them at least half of its
    s - 2 smallest distances, and each of the s - 2 others half of its s - 1 smallest; all come after i.
    """
    n = len(prices)
    reach = np.zeros(n)
    slack = 1e-12 * np.abs(prices).max()  # far above rounding, far below the margin of a proof
    for s in range(k, 2 * k):
        partner, other = -np.inf, -np.inf
        for i in range(n - 2, -1, -1):
            partner = max(partner, prices[i + 1] - near[i + 1, s - 2] / (2 * s))
            other = max(other, prices[i + 1] - near[i + 1, s - 1] / (2 * s))
            more = partner + (s - 2) * other if s > 2 else partner
            lead = prices[i] - near[i, s - 2] / (2 * s)
            reach[i] = max(reach[i], s * (goal + lead + more + s * slack))
    return reach


@kernel
def _below(X, k, leads, prices, near, cuts, goal, rows, work):
    """Write the groups below the goal, led by one of these records and otherwise of later ones, into `rows`.

    Returns how many there are; it stops at one more than fit, or when it has weighed `work` candidates, and
    then says one more than fit. Depth-first. At each depth `pool` lists the
    records that may still come, `added` what each adds to the cost of those chosen. With r to come, each also
    has half its distances to the r-1 others before it, at least those to its nearest, and its share of the
    penalties it brings on: the r cheapest must reach below the goal, and whoever cannot with the r-1 cheapest
    is left out. Those left after the first look are looked at again with the nearest among themselves, which
    are farther.
    """
    n, found = len(X), 0
    held = np.zeros(len(cuts[3]), np.int64)
    pool, added = np.empty((2 * k, n), np.int64), np.empty((2 * k, n))
    count, at, cost = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64), np.empty(2 * k)
    distance, worth, least = np.empty(n), np.empty(n), np.empty(2 * k)
    among = np.zeros((n, 2 * k - 1))
    reach = _reaches(k, prices, near, goal)
    for i in leads:
        within = 0
        for c in range(i + 1, n):
            d2 = _d2(X, i, c)
            if d2 <= reach[i]:
                pool[0, within] = c
                distance[within] = d2
                within += 1
        for s in range(k, 2 * k):
            depth = 1
            _take(i, 1, cuts, held)
            cost[1] = -prices[i]
            count[1] = within
            for q in range(within):
                pool[1, q] = pool[0, q]
                added[1, q] = distance[q] / s - prices[pool[0, q]]
            at[1] = -1
            sums, before = near, n
            while depth > 0:
                r = s - depth
                if at[depth] < 0:
                    work -= count[depth]
                    if work < 0:
                        return len(rows) + 1
                    least[:r] = np.inf
                    for q in range(count[depth]):
                        c = pool[depth, q]
                        v = added[depth, q] + _due(c, r, cuts, held) + sums[c, r - 1] / (2 * s)
                        worth[q] = v
                        p = r - 1
                        if v < least[p]:
                            while p > 0 and least[p - 1] > v:
                                least[p] = least[p - 1]
                                p -= 1
                            least[p] = v
                    room = goal - cost[depth] - least[: r - 1].sum()
                    hopeful = 0
                    if least[r - 1] < room:
                        for q in range(count[depth]):
                            if worth[q] < room:
                                pool[depth, hopeful] = pool[depth, q]
                                added[depth, hopeful] = added[depth, q]
                                hopeful += 1
                    if r == 1:
                        for q in range(hopeful):
                            found += 1
                            if found > len(rows):
                                return found
                            rows[found - 1] = -1
                            rows[found - 1, 0] = i
                            for p in range(1, depth):
                                rows[found - 1, p] = pool[p, at[p] - 1]
                            rows[found - 1, depth] = pool[depth, q]
                        hopeful = 0
                    count[depth] = hopeful
                    if depth == 1 and hopeful < FEWER * before and r <= hopeful <= AMONG:
                        _sums_among(X, pool[1, :hopeful], among, least)
                        sums, before = among, hopeful
                        continue
                    at[depth] = 0
                t = at[depth]
                if t + r > count[depth]:
                    depth -= 1
                    if depth > 0:
                        _take(pool[depth, at[depth] - 1], -1, cuts, held)
                    continue
                at[depth] = t + 1
                c = pool[depth, t]
                cost[depth + 1] = cost[depth] + added[depth, t] + _due(c, 1, cuts, held)
                count[depth + 1] = count[depth] - t - 1
                for q in range(count[depth + 1]):
                    other = pool[depth, t + 1 + q]
                    pool[depth + 1, q] = other
                    added[depth + 1, q] = added[depth, t + 1 + q] + _d2(X, c, other) / s
                _take(c, 1, cuts, held)
                depth += 1
                at[depth] = -1
            _take(i, -1, cuts, held)
    return found
