"""Costs and least prices where values have weights of their own: survey weights, and 0 for a gap.

V[i, j] is the weight of record i in column j. A group G costs, column by column, the weighted squares about
its weighted mean: the sum over its pairs of e(a, b) = V[a, j] V[b, j] (x_aj - x_bj)^2, divided by the group's
weight in the column. With w[i] >= V[i, j] for all j, and w > 0, it costs at least e(G) / w(G), which gives
the neighbours' prices. docs/optimality.md has the proofs.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.pricing import insert


@kernel
def pair(X, V, a, b):
    """e(a, b), summed over the columns."""
    total = 0.0
    for j in range(X.shape[1]):
        difference = X[a, j] - X[b, j]
        total += V[a, j] * V[b, j] * difference * difference
    return total


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
