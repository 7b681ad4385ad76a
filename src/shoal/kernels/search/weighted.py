"""Exact pricing where values have weights of their own: survey weights, and 0 for a gap.

V[i, j] is the weight of record i in column j. A group G costs, column by column, the weighted squares about
its weighted mean: the sum over its pairs of e(a, b) = V[a, j] V[b, j] (x_aj - x_bj)^2, divided by the group's
weight in the column. With w[i] >= V[i, j] for all j, and w > 0, it costs at least e(G) / w(G). Groups that
this does not rule out are priced exactly. docs/optimality.md has the proofs.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.pricing import MANY, _inner_sums, _note, insert, join

#: Candidates are weighed again, with what those left can weigh at most, while fewer than this share are left.
FEWER = 0.8


@kernel
def pair(X, V, a, b):
    """e(a, b), summed over the columns."""
    total = 0.0
    for j in range(X.shape[1]):
        difference = X[a, j] - X[b, j]
        total += V[a, j] * V[b, j] * difference * difference
    return total


@kernel
def _apart(X, V, c, total, mean, r):
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
def least_shares(X, V, w, k, first, last, prices, near, nearest):
    """Prices of the records first..last-1: half the least e(i, T) / (w_i + w(T)) of k-1..2k-2 others T.

    That ratio falls to r' where T are the records of least e - r w, until it rests (Dinkelbach's method).
    near[i, q]: the sum of the q smallest e of i; nearest[i]: i, and then the others of its least ratio.
    """
    n, most = len(X), 2 * k - 2
    e, least = np.empty(n), np.empty(most)
    for i in range(first, last):
        least[:] = np.inf
        for c in range(n):
            e[c] = pair(X, V, i, c)
            if c != i:
                insert(least, most, e[c])
        for q in range(most):
            near[i, q + 1] = near[i, q] + least[q]
        # T of any size has e - r w up to `least`; r starts where all of it lies on the record alone.
        r = near[i, most] / w[i]
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
def _search(X, V, w, i, s, e, prices, near, k, cuts, held, due, goal, found, count, budget, room):
    """Note the groups of s records below the goal that i leads, which has joined.

    Returns (the new goal, the least that unsearched groups may have, candidates weighed). With chosen records
    P and r to come, let U be at least w(G), and Y at most what the prices of G and the goal come to. Then
    e(G) / w(G) < prices + goal only if e(G) / U + Y (1 - w(G) / U) < prices + goal, a sum over records.
    """
    pool, m, val = room
    n, half, tabled = len(X), 0.5, False
    D, inner, place = np.empty((0, 0)), near, np.arange(n)
    unsearched, work = np.inf, 0
    smallest, large, small = np.empty(s), np.empty(s), np.empty(s)
    left, at = np.zeros(s, np.int64), np.full(s, -1)
    pairs, weight, worth, owed = np.zeros(s), np.zeros(s), np.zeros(s), np.zeros(s)
    base, scale, sought = np.zeros(s), np.zeros(s), np.zeros(s)
    group, one, every = np.full((1, s), -1), np.zeros(1), np.bool_(False)
    group[0, 0], weight[0], worth[0] = i, w[i], prices[i]
    total, mean, spent = np.zeros((s, X.shape[1])), np.zeros((s, X.shape[1])), np.zeros(s)
    total[0], mean[0] = V[i], X[i]
    left[0] = n - 1 - i
    for c in range(i + 1, n):
        pool[0, c - i - 1], m[0, c] = c, e[c]
    before = n
    depth = 0
    while depth >= 0:
        r = s - 1 - depth
        row, md, vd = pool[depth], m[depth], val[depth]
        if at[depth] < 0:
            work += left[depth]
            at[depth] = 0
            if r == 1:
                for q in range(left[depth]):
                    c = row[q]
                    rest = owed[depth] + due[0, c] + due[1, c] - worth[depth] - prices[c]
                    if (pairs[depth] + md[c]) / (weight[depth] + w[c]) + rest < goal:
                        group[0, s - 1] = c
                        one[:] = weighted_costs(X, V, group)
                        if one[0] + rest < goal:
                            goal = _note(found, count, group[0], s, one[0] + rest, goal, every)
                left[depth] = 0
            elif left[depth] < r:
                left[depth] = 0
            else:
                large[:r], small[:r], smallest[:r] = np.inf, np.inf, np.inf
                cheapest = np.inf
                for q in range(left[depth]):
                    c = row[q]
                    vd[c] = _apart(X, V, c, total[depth], mean[depth], r) - prices[c]
                    vd[c] += half * due[0, c] + due[1, c] / r
                    insert(smallest, r, vd[c])
                limit = goal + worth[depth] - spent[depth] - owed[depth] - smallest[: r - 1].sum()
                survive = 0
                for q in range(left[depth]):
                    row[survive] = row[q]
                    survive += vd[row[q]] < limit
                left[depth] = survive if survive >= r else 0
                if survive < r:
                    continue
                smallest[:r] = np.inf
                for q in range(left[depth]):
                    insert(large, r, -w[row[q]])
                    insert(small, r, w[row[q]])
                    cheapest = min(cheapest, prices[row[q]])
                U, least = weight[depth] - large[:r].sum(), weight[depth] + small[:r].sum()
                Y = max(0.0, worth[depth] + goal + r * cheapest)
                share, sought[depth], scale[depth] = least / U, goal, U / least
                base[depth] = pairs[depth] / U - worth[depth] - goal + owed[depth] * share
                base[depth] += Y * (1 - weight[depth] / U)
                for q in range(left[depth]):
                    c = row[q]
                    vd[c] = (md[c] + half * inner[place[c], r - 1] - Y * w[c]) / U - prices[c]
                    vd[c] += (half * due[0, c] + due[1, c] / r) * share
                    insert(smallest, r, vd[c])
                limit = -base[depth] - smallest[: r - 1].sum()
                survive = 0
                if smallest[r - 1] < limit:
                    for q in range(left[depth]):
                        c = row[q]
                        if vd[c] < limit:
                            p = survive
                            survive += 1
                            while p > 0 and vd[row[p - 1]] > vd[c]:
                                row[p] = row[p - 1]
                                p -= 1
                            row[p] = c
                left[depth] = survive
                if depth == 0 and not tabled and MANY < survive < FEWER * before:
                    before = survive
                    at[depth] = -1
                    continue
                if depth == 0 and not tabled and r <= survive <= MANY:
                    # The candidates' pairs among themselves cost more than those among all: look again.
                    tabled = True
                    D = np.zeros((survive, survive))
                    for a in range(survive):
                        place[row[a]] = a
                        for b in range(a):
                            D[a, b] = D[b, a] = pair(X, V, row[a], row[b])
                    inner = _inner_sums(D, k, np.empty(2 * k))
                    at[depth] = -1
                    continue
        p = at[depth]
        bound = np.inf
        if p + r <= left[depth]:
            bound = base[depth]
            for q in range(p, p + r):
                bound += vd[row[q]]
        if bound >= 0.0 or work > budget:
            if bound < 0.0:
                unsearched = min(unsearched, sought[depth] + bound * scale[depth])
            depth -= 1
            if depth >= 0:
                join(group[0, depth + 1], -1, cuts, held, due)
            continue
        at[depth] = p + 1
        c = row[p]
        depth += 1
        group[0, depth] = c
        pairs[depth] = pairs[depth - 1] + md[c]
        weight[depth] = weight[depth - 1] + w[c]
        spent[depth] = spent[depth - 1] + _apart(X, V, c, total[depth - 1], mean[depth - 1], 1)
        for j in range(X.shape[1]):
            total[depth, j] = total[depth - 1, j] + V[c, j]
            mean[depth, j] = mean[depth - 1, j]
            if V[c, j] > 0.0:
                mean[depth, j] += (X[c, j] - mean[depth - 1, j]) * (V[c, j] / total[depth, j])
        worth[depth] = worth[depth - 1] + prices[c]
        owed[depth] = owed[depth - 1] + due[0, c] + due[1, c]
        left[depth] = left[depth - 1] - p - 1
        for q in range(left[depth]):
            b = row[p + 1 + q]
            pool[depth, q] = b
            m[depth, b] = md[b] + (D[place[c], place[b]] if tabled else pair(X, V, c, b))
        join(c, 1, cuts, held, due)
        at[depth] = -1
    return goal, unsearched, work


@kernel
def charge_weighted(X, V, w, leads, prices, near, k, cuts, budget, rows, costs, weighed):
    """As `pricing.charge`, of groups whose values have weights."""
    n = len(X)
    e = np.empty(n)
    room = np.empty((2 * k - 1, n), np.int64), np.empty((2 * k - 1, n)), np.empty((2 * k - 1, n))
    held, due = np.zeros(len(cuts[6]), np.int64), np.zeros((2, n))
    count = np.zeros(1, np.int64)
    for t in range(len(leads) - 1, -1, -1):
        i = leads[t]
        count[0] = 0
        found = rows[t], costs[t]
        goal, unsearched, work = 0.0, np.inf, 0
        for c in range(i + 1, n):
            e[c] = pair(X, V, i, c)
        join(i, 1, cuts, held, due)
        for s in range(k, min(2 * k, n - i + 1)):
            goal, hidden, used = _search(
                *(X, V, w, i, s, e, prices, near, k, cuts, held, due, goal, found, count, budget - work, room)
            )
            unsearched, work = min(unsearched, hidden), work + used
        join(i, -1, cuts, held, due)
        costs[t, count[0] :] = 0.0
        least = costs[t].min()
        weighed[t] = work if unsearched >= least else -work
        prices[i] += min(least, unsearched, 0.0)
