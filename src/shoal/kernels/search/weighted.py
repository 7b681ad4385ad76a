"""Exact pricing where values have weights of their own: survey weights, and 0 for a gap.

V[i, j] is the weight of record i in column j. A group G costs, column by column, the weighted squares about
its weighted mean: the sum over its pairs of e(a, b) = V[a, j] V[b, j] (x_aj - x_bj)^2, divided by the group's
weight in the column. With w[i] >= V[i, j] for all j, and w > 0, it costs at least e(G) / w(G), which gives
the neighbours' prices. docs/optimality.md has the proofs.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.pricing import _note, insert, join


@kernel
def pair(X, V, a, b):
    """e(a, b), summed over the columns."""
    total = 0.0
    for j in range(X.shape[1]):
        difference = X[a, j] - X[b, j]
        total += V[a, j] * V[b, j] * difference * difference
    return total


@kernel
def _added(X, V, c, total, mean, r):
    """What c adds to the cost of any group of the chosen, who have these weights and means, and r others.

    Such a group costs no less than if each of the r shared a centre of its own with an r-th of the chosen.
    """
    added = 0.0
    for j in range(X.shape[1]):
        if V[c, j] > 0.0 and total[j] > 0.0:
            off = X[c, j] - mean[j]
            added += total[j] / (total[j] + r * V[c, j]) * V[c, j] * off * off
    return added


@kernel
def weighted_costs(X, V, rows):
    """What each group (rows of records, filled up with -1) costs, about its weighted means."""
    costs = np.zeros(len(rows))
    for g in range(len(rows)):
        for j in range(X.shape[1]):
            weight, mean, squares = 0.0, 0.0, 0.0
            for r in rows[g]:
                if r >= 0 and V[r, j] > 0.0:
                    weight += V[r, j]
                    off = X[r, j] - mean
                    mean += off * (V[r, j] / weight)
                    squares += V[r, j] * off * (X[r, j] - mean)
            costs[g] += squares
    return costs


@kernel
def least_shares(X, V, w, k, first, last, prices, nearest):
    """Prices of the records first..last-1: half the least e(i, T) / (w_i + w(T)) of k-1..2k-2 others T.

    That ratio falls to r' where T are the records of least e - r w, until it rests (Dinkelbach's method).
    nearest[i]: i, and then the others of its least ratio.
    """
    n, most = len(X), 2 * k - 2
    e, least = np.empty(n), np.empty(most)
    for i in range(first, last):
        least[:] = np.inf
        for c in range(n):
            e[c] = pair(X, V, i, c)
            if c != i:
                insert(least, most, e[c])
        # T of any size has e - r w up to `least`; r starts where all of it lies on the record alone.
        r = least.sum() / w[i]
        some = np.flatnonzero(e - r * w <= least[most - 1])
        some = some[some != i]
        price = np.inf
        for s in range(k, 2 * k):
            ratio = r
            while True:
                chosen = some[np.argsort(e[some] - ratio * w[some], kind="mergesort")[: s - 1]]
                better = e[chosen].sum() / (w[i] + w[chosen].sum())
                if better < price:
                    price = better
                    order = np.argsort(e[some] - better * w[some], kind="mergesort")
                    nearest[i, 0] = i
                    nearest[i, 1:] = some[order[:most]]
                if better >= ratio:
                    break
                ratio = better
        prices[i] = price / 2


@kernel
def _search(X, V, i, s, prices, cuts, held, due, goal, found, count, every, budget, room):
    """Note the groups of s records below the goal that i leads, which has joined.

    Returns (the new goal, the least that unsearched groups may have, candidates weighed). With r to come, the
    r that add least bound the node, and who adds more than the room they leave is dropped. Penalties are
    shared out as in `pricing`.
    """
    pool, val = room
    n, d = X.shape
    unsearched, work = np.inf, 0
    smallest, group = np.empty(s), np.empty(s, np.int64)
    left, at, cost = np.empty(s, np.int64), np.empty(s, np.int64), np.empty(s)
    total, mean = np.empty((s, d)), np.empty((s, d))
    group[0], cost[0], left[0], at[0] = i, -prices[i], n - 1 - i, -1
    total[0], mean[0] = V[i], X[i]
    pool[0, : left[0]] = np.arange(i + 1, n)
    depth = 0
    while depth >= 0:
        r = s - 1 - depth
        row, vd = pool[depth], val[depth]
        if at[depth] < 0:
            work += left[depth]
            at[depth] = 0
            smallest[:r] = np.inf
            for q in range(left[depth]):
                c = row[q]
                vd[c] = _added(X, V, c, total[depth], mean[depth], r) - prices[c]
                vd[c] += due[0, c] + due[1, c] if r == 1 else 0.5 * due[0, c] + due[1, c] / r
                insert(smallest, r, vd[c])
            limit = goal - cost[depth] - smallest[: r - 1].sum()
            survive = 0
            for q in range(left[depth] if smallest[r - 1] < limit else 0):
                c = row[q]
                if r == 1:
                    if cost[depth] + vd[c] < goal:
                        group[s - 1] = c
                        goal = _note(found, count, group, s, cost[depth] + vd[c], goal, every)
                elif vd[c] < limit:
                    p = survive
                    survive += 1
                    while p > 0 and vd[row[p - 1]] > vd[c]:
                        row[p] = row[p - 1]
                        p -= 1
                    row[p] = c
            left[depth] = survive
        p = at[depth]
        bound = np.inf
        if p + r <= left[depth]:
            bound = cost[depth]
            for q in range(p, p + r):
                bound += vd[row[q]]
        if bound >= goal or work > budget:
            if bound < goal:
                unsearched = min(unsearched, bound)
            if depth > 0:
                join(group[depth], -1, cuts, held, due)
            depth -= 1
            continue
        at[depth] = p + 1
        c = row[p]
        depth += 1
        group[depth], at[depth], left[depth] = c, -1, left[depth - 1] - p - 1
        pool[depth, : left[depth]] = row[p + 1 : p + 1 + left[depth]]
        more = _added(X, V, c, total[depth - 1], mean[depth - 1], 1) + due[0, c] + due[1, c]
        cost[depth] = cost[depth - 1] + more - prices[c]
        for j in range(d):
            total[depth, j], mean[depth, j] = total[depth - 1, j] + V[c, j], mean[depth - 1, j]
            if V[c, j] > 0.0:
                mean[depth, j] += (X[c, j] - mean[depth - 1, j]) * (V[c, j] / total[depth, j])
        join(c, 1, cuts, held, due)
    return goal, unsearched, work


@kernel
def charge_weighted(X, V, leads, prices, k, cuts, budget, rows, costs, weighed):
    """As `pricing.charge`, of groups whose values have weights."""
    n = len(X)
    room = np.empty((2 * k - 1, n), np.int64), np.empty((2 * k - 1, n))
    held, due = np.zeros(len(cuts[6]), np.int64), np.zeros((2, n))
    count, every = np.zeros(1, np.int64), np.bool_(False)
    for t in range(len(leads) - 1, -1, -1):
        i = leads[t]
        count[0] = 0
        found = rows[t], costs[t]
        goal, unsearched, work = 0.0, np.inf, 0
        join(i, 1, cuts, held, due)
        for s in range(k, min(2 * k, n - i + 1)):
            goal, hidden, used = _search(
                *(X, V, i, s, prices, cuts, held, due, goal, found, count, every, budget - work, room)
            )
            unsearched, work = min(unsearched, hidden), work + used
        join(i, -1, cuts, held, due)
        costs[t, count[0] :] = 0.0
        least = costs[t].min()
        weighed[t] = work if unsearched >= least else -work
        prices[i] += min(least, unsearched, 0.0)
