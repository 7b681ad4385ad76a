"""Proofs of tables whose values have weights: survey weights, and 0 for a gap.

`V` has the weight of each record in each column. Plain code on purpose. Nothing is shared with the search.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.verify_groups import WORK, _due, _keep_least, _take
from shoal.kernels.runtime.jit import kernel

#: Parts of the table whose proofs run side by side.
PARTS = 8


def total_with(X: NDArray[np.float64], V: NDArray[np.float64]) -> float:
    """What all records in one group cost: column by column, weighted squares about the weighted mean."""
    total = 0.0
    for x, v in zip(X.T, V.T):
        if v.any():
            total += float(v @ np.square(x - (v @ x) / v.sum()))
    return total


def each_pays(X: NDArray[np.float64], V: NDArray[np.float64], k: int, prices: NDArray[np.float64]) -> bool:
    """Does each record pay its price in any group?

    In the group G, record i pays half of e(i, G) / w(G), where w is no less than a record's weight in any
    column. That is its price p at least, if e(i, c) - 2 p w(c), summed over any k-1..2k-2 others, is not
    below 2 p w(i): so if the least ones are not.
    """
    w = V.max(axis=1)
    if not w.any():
        return not prices.any()
    for i, price in enumerate(prices.tolist()):
        if price == 0.0:
            continue
        rest = (V * V[i] * np.square(X - X[i])).sum(axis=1) - 2 * price * w
        rest[i] = np.inf
        sums = np.cumsum(np.sort(np.partition(rest, 2 * k - 3)[: 2 * k - 2]))
        if not sums[k - 2 :].min() >= 2 * price * w[i]:
            return False
    return bool((prices >= 0).all())


def none_undercuts(X, V, k: int, prices, table, penalties) -> bool:
    """Does every group of k..2k-1 records cost its prices, less its penalties, at least?

    The dearest record of a group leads it, and each lead is searched by itself.
    """
    order = np.argsort(-prices, kind="stable")
    start, cut, weight, divisors = table
    lists = np.concatenate([np.arange(start[i], start[i + 1]) for i in order]).astype(np.int64)
    start = np.concatenate([[0], np.cumsum((start[1:] - start[:-1])[order])])
    cuts = start, cut[lists], weight[lists], divisors, penalties
    X, V, prices = (np.ascontiguousarray(array[order], np.float64) for array in (X, V, prices))
    parts = [np.arange(first, len(X), PARTS) for first in range(PARTS)]
    with ThreadPoolExecutor() as pool:
        return not any(pool.map(lambda leads: _undercut(X, V, k, leads, prices, cuts, WORK // PARTS), parts))


@kernel
def _raised(X, V, c, r, total, mean):
    """By how much c raises the cost, at least, as one of r to come; by so much if it is the last.

    Those chosen have these weights and means. A group costs no less than if each of the r pulled at an r-th
    of them alone.
    """
    raised = 0.0
    for j in range(X.shape[1]):
        if total[j] > 0.0 and V[c, j] > 0.0:
            raised += V[c, j] / (1.0 + r * V[c, j] / total[j]) * (X[c, j] - mean[j]) ** 2
    return raised


@kernel
def _undercut(X, V, k, leads, prices, cuts, work):
    """Does one of these records lead a group below its prices? Yes also if that is too much work to tell.

    Depth-first: `pool` has the records that may still come. With r to come, the r that raise the cost least
    must reach below 0, and whoever cannot with the r-1 least is left out.
    """
    n, d = X.shape
    held = np.zeros(len(cuts[3]), np.int64)
    pool, worth, least = np.empty((2 * k, n), np.int64), np.empty(n), np.empty(2 * k)
    count, at, cost = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64), np.empty(2 * k)
    total, mean = np.zeros((2 * k, d)), np.zeros((2 * k, d))
    for i in leads:
        for s in range(k, 2 * k):
            _take(i, 1, cuts, held)
            depth, cost[1], count[1], at[1] = 1, -prices[i], n - 1 - i, -1
            total[1], mean[1] = V[i], X[i]
            pool[1, : count[1]] = np.arange(i + 1, n)
            while depth > 0:
                r = s - depth
                if at[depth] < 0:
                    at[depth] = 0
                    work -= count[depth]
                    if work < 0:
                        return True
                    least[:r] = np.inf
                    for q in range(count[depth]):
                        c = pool[depth, q]
                        v = (
                            _raised(X, V, c, r, total[depth], mean[depth])
                            + _due(c, r, cuts, held)
                            - prices[c]
                        )
                        worth[q] = v
                        _keep_least(least, r, v)
                    room = -cost[depth] - least[: r - 1].sum()
                    hopeful = 0
                    if least[r - 1] < room:
                        for q in range(count[depth]):
                            if worth[q] < room:
                                pool[depth, hopeful] = pool[depth, q]
                                hopeful += 1
                    if r == 1 and hopeful:
                        return True
                    count[depth] = hopeful
                t = at[depth]
                if t + r > count[depth] or r == 1:
                    depth -= 1
                    if depth > 0:
                        _take(pool[depth, at[depth] - 1], -1, cuts, held)
                    continue
                at[depth] = t + 1
                c = pool[depth, t]
                more = _raised(X, V, c, 1, total[depth], mean[depth])
                cost[depth + 1] = cost[depth] + more + _due(c, 1, cuts, held) - prices[c]
                for j in range(d):
                    total[depth + 1, j] = total[depth, j] + V[c, j]
                    share = V[c, j] / total[depth + 1, j] if V[c, j] > 0.0 else 0.0
                    mean[depth + 1, j] = mean[depth, j] + share * (X[c, j] - mean[depth, j])
                count[depth + 1] = count[depth] - t - 1
                pool[depth + 1, : count[depth + 1]] = pool[depth, t + 1 : count[depth]]
                _take(c, 1, cuts, held)
                depth += 1
                at[depth] = -1
            _take(i, -1, cuts, held)
    return False
