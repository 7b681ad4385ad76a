"""The proof of an optimum from the records and the certificate alone. Nothing here is shared with the search.

The certificate has a target, mostly what the best partition costs, and a tree. The first prices and penalties
list all groups that a partition below the target can hold. Then each node has its own; a node that is divided
names a pair of records: its first child has them together, its second apart. The nodes stand each before its
children. On the way down each node drops the groups that its pair or its prices rule out, and each leaf
bounds what is left.
"""

import math

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.verify_groups import cut_table, groups_below, limit_penalties
from shoal.kernels.runtime.jit import kernel

#: No partition has an SSE below the target by more than this share of it.
PROVEN = 1e-9
#: More than rounding can add up to, as a share of all prices, penalties and the cost.
ROUNDING = 1e-12
#: Groups that are listed at most.
MOST = 3_000_000
#: Nodes times (listed groups and cuts), and groups that open nodes hold at a time, at most: some minutes'
#: work and 100 MB. A false tree could be endless. Ours stay below 10^8 and 10^7.
LOOKS, HELD = 10**10, 25 * 10**6


def by_tree(
    X: NDArray[np.float64],
    k: int,
    target: NDArray[np.float64],
    pairs: NDArray[np.int64],
    prices: NDArray[np.float64],
    cuts: NDArray[np.int64],
    weights: NDArray[np.int64],
    divisors: NDArray[np.int64],
    owed_start: NDArray[np.int64],
    owed_cut: NDArray[np.int64],
    penalties: NDArray[np.float64],
) -> float:
    """The least that any partition can cost, up to the target; ValueError where the tree fails."""
    n, nodes = len(X), len(pairs)
    cost = float(target)
    table = cut_table(n, cuts, weights, divisors)
    if pairs.shape != (nodes, 2) or prices.shape != (nodes + 1, n) or not nodes:
        raise ValueError("a node has a pair and a price for each record")
    if target.shape != () or cost < 0:
        raise ValueError("the target is a cost")
    if owed_start.shape != (nodes + 2,) or owed_cut.shape != penalties.shape or penalties.ndim != 1:
        raise ValueError("a node has a list of penalties")
    if owed_start[0] != 0 or owed_start[-1] != len(penalties) or (np.diff(owed_start) < 0).any():
        raise ValueError("lists of penalties follow one another")
    if len(owed_cut) and not 0 <= owed_cut.min() <= owed_cut.max() < len(divisors):
        raise ValueError("a penalty is that of a cut")
    goal, prices = cost * (1 - PROVEN), np.ascontiguousarray(prices)

    def at(row: int) -> tuple[NDArray[np.float64], float]:
        """The penalties of a row, and what it proves if no group undercuts its prices."""
        mine = slice(owed_start[row], owed_start[row + 1])
        sigma = np.zeros(len(divisors))
        np.add.at(sigma, owed_cut[mine], penalties[mine])
        owed = limit_penalties(weights, divisors, sigma)
        size = math.fsum(np.abs(prices[row])) + math.fsum(owed) + cost
        if not math.isfinite(size):
            raise ValueError("prices are numbers")
        return sigma, math.fsum(prices[row]) - math.fsum(owed) - ROUNDING * size

    sigma, value = at(0)
    # A group that exceeds the value by what is missing to the goal is in no partition below it. Groups may
    # undercut these prices by rounding only.
    allowed = PROVEN * cost
    listed = groups_below(X, k, prices[0], table, sigma, max(0.0, goal - value) + allowed, MOST)
    if listed is None:
        raise ValueError("too many groups could be in a better partition")
    if n < 3 * k:
        listed = listed[_with_rest(X, k, listed) < goal + ROUNDING * cost]
    if nodes * (len(listed) + len(divisors)) > LOOKS:
        raise ValueError("the tree is too much work")
    costs = _costs(X, listed)
    excess = _excess(listed, costs, prices[0], *table, sigma)
    if (n // k) * float(excess.min(initial=0.0)) < -allowed:
        raise ValueError("a group undercuts the prices of the list")
    open_ = [np.arange(len(listed), dtype=np.int32)]
    least, held = math.inf, len(listed)
    for node in range(nodes):
        if not open_:
            raise ValueError("a node belongs to no other")
        live = open_.pop()
        held -= len(live)
        sigma, value = at(node + 1)
        excess = _excess(listed[live], costs[live], prices[node + 1], *table, sigma)
        value += (n // k) * min(0.0, float(excess.min(initial=0.0)))
        a, b = pairs[node].tolist()
        if (a, b) == (-1, -1):
            least = min(least, value if len(live) else goal)
            continue
        if not 0 <= min(a, b) < max(a, b) < n:
            raise ValueError("a node is divided at two records")
        live = live[value + excess <= goal]
        holds = (listed[live] == a).any(1).astype(int) + (listed[live] == b).any(1)
        open_ += [live[holds != 2], live[holds != 1]]
        held += len(open_[-1]) + len(open_[-2])
        if held > HELD:
            raise ValueError("the tree is too deep")
    if open_:
        raise ValueError("a node lacks a child")
    return max(0.0, min(least, goal))


def cost_of(X: NDArray[np.float64], k: int, labels: NDArray[np.int64]) -> float:
    """The SSE of the partition; each group has k records at least."""
    if labels.shape != (len(X),):
        raise ValueError("a label for each record")
    groups = [X[labels == label] for label in np.unique(labels)]
    if min(map(len, groups)) < k:
        raise ValueError("a group is too small")
    return math.fsum(float(np.square(members - members.mean(axis=0)).sum()) for members in groups)


def _with_rest(X: NDArray[np.float64], k: int, rows: NDArray) -> NDArray[np.float64]:
    """What the partition of a group and all other records costs, of fewer than 3k: they are one group."""
    n = len(X)
    left = np.tile(np.arange(n + 1), (len(rows), 1))
    np.put_along_axis(left, rows.astype(np.int64) % (n + 1), n, axis=1)  # -1 is in the last place
    others = np.sort(left, axis=1)[:, : 2 * k - 1]
    others = np.where(others < n, others, -1)
    return np.where((others >= 0).sum(1) >= k, _costs(X, rows) + _costs(X, others), np.inf)


@kernel
def _costs(X, rows):
    """The SSE of each group, about its mean."""
    out = np.zeros(len(rows))
    for g in range(len(rows)):
        s = 0
        while s < rows.shape[1] and rows[g, s] >= 0:
            s += 1
        for j in range(X.shape[1]):
            mean = 0.0
            for p in range(s):
                mean += X[rows[g, p], j] / s
            for p in range(s):
                out[g] += (X[rows[g, p], j] - mean) ** 2
    return out


@kernel
def _excess(rows, costs, prices, start, cut, weight, divisors, penalties):
    """What each group costs beyond its prices, with the penalties that it owes."""
    held = np.zeros(len(divisors), np.int64)
    out = costs.copy()
    for g in range(len(rows)):
        for r in rows[g]:
            if r >= 0:
                out[g] -= prices[r]
                for e in range(start[r], start[r + 1]):
                    held[cut[e]] += weight[e]
        for r in rows[g]:
            if r >= 0:
                for e in range(start[r], start[r + 1]):
                    out[g] += penalties[cut[e]] * (held[cut[e]] // divisors[cut[e]])
                    held[cut[e]] = 0
    return out
