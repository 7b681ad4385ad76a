"""Rank-1 cuts: what a group counts in each, and the search for those that a fractional solution breaks."""

import numpy as np

from shoal.kernels.neighbours.distance import between
from shoal.kernels.runtime.jit import kernel

#: What a group is worth in the search for a cut while its weights do not fill the divisor: so much of a
#: filled one, times the square of the part that is filled. At first, and in exchanges.
HOPE, EXCHANGE_HOPE = 0.5, 0.05
#: Rounds of exchanges at most; few starts need a third.
EXCHANGES = 3


@kernel
def group_costs(X, rows):
    """The SSE of each group (rows of records, filled up with -1), from its pairs."""
    costs = np.zeros(len(rows))
    for g in range(len(rows)):
        s = 0
        while s < rows.shape[1] and rows[g, s] >= 0:
            for b in range(s):
                costs[g] += between(X, rows[g, s], rows[g, b])
            s += 1
        costs[g] /= s
    return costs


@kernel
def _fill(row, cuts, held):
    """Add up the weights that the records of a group have in each cut."""
    start, of, weight, _, _, _, _, _ = cuts
    for r in row:
        if r < 0:
            break
        for e in range(start[r], start[r + 1]):
            held[of[e]] += weight[e]


@kernel
def reduced_costs(rows, costs, prices, cuts):
    """The cost of each group less the prices of its records, plus the penalties that it owes."""
    start, of, _, _, _, _, divisor, penalty = cuts
    held = np.zeros(len(divisor), np.int64)
    reduced = costs.copy()
    for g in range(len(rows)):
        _fill(rows[g], cuts, held)
        for r in rows[g]:
            if r < 0:
                break
            reduced[g] -= prices[r]
            for e in range(start[r], start[r + 1]):
                t = of[e]
                reduced[g] += penalty[t] * (held[t] // divisor[t])
                held[t] = 0
    return reduced


@kernel
def counts(rows, cuts):
    """(group, cut, how often its weights fill the divisor), wherever they do."""
    start, of, _, _, _, _, divisor, _ = cuts
    held = np.zeros(len(divisor), np.int64)
    group, cut, times = [], [], []
    for g in range(len(rows)):
        _fill(rows[g], cuts, held)
        for r in rows[g]:
            if r < 0:
                break
            for e in range(start[r], start[r + 1]):
                t = of[e]
                if held[t] >= divisor[t]:
                    group.append(g)
                    cut.append(t)
                    times.append(held[t] // divisor[t])
                held[t] = 0
    return np.array(group, np.int64), np.array(cut, np.int64), np.array(times, np.int64)


@kernel
def violated_triples(rows, shares, start, holders, least):
    """Triples of records that groups holding two or three of them cover by more than 1 + least.

    rows: the fractional groups, filled up with -1; holders[start[i]:start[i+1]]: the groups that hold record
    i. Such a triple has a record that meets both others; the one of least number is written first.
    """
    n = len(start) - 1
    mark = np.zeros(len(rows), np.int64)  # how many of the three a group holds
    met = np.empty(n, np.int64)
    is_met = np.zeros(n, np.bool_)
    violated, excess = [], []
    for a in range(n):
        count = 0
        for e in range(start[a], start[a + 1]):
            mark[holders[e]] += 1
            for b in rows[holders[e]]:
                if b >= 0 and b != a and not is_met[b]:
                    is_met[b] = True
                    met[count] = b
                    count += 1
        for p in range(count):
            b = met[p]
            is_met[b] = False
            both = -1.0
            for e in range(start[b], start[b + 1]):
                g = holders[e]
                mark[g] += 1
                if mark[g] == 2:
                    both += shares[g]
            for q in range(p):
                c = met[q]
                total = both
                for e in range(start[c], start[c + 1]):
                    if mark[holders[e]] == 1:
                        total += shares[holders[e]]
                if total > least:
                    violated.append((a, b, c))
                    excess.append(total)
            for e in range(start[b], start[b + 1]):
                mark[holders[e]] -= 1
        for e in range(start[a], start[a + 1]):
            mark[holders[e]] -= 1
    triples = np.empty((len(violated), 3), np.int64)
    for t in range(len(violated)):
        triples[t, 0], triples[t, 1], triples[t, 2] = violated[t]
    return triples, np.array(excess)


@kernel
def _gain(c, w, start, holders, shares, held, value):
    total = 0.0
    for e in range(start[c], start[c + 1]):
        g = holders[e]
        total += shares[g] * (value[held[g] + w] - value[held[g]])
    return total


@kernel
def _move(c, w, start, holders, held):
    for e in range(start[c], start[c + 1]):
        held[holders[e]] += w


@kernel
def _best_for(place, weights, chosen, count, rows, start, holders, shares, held, value):
    """The record that serves best at this place, among those that share a group with one of the chosen."""
    best, who, seen = -1.0, -1, np.zeros(len(start) - 1, np.bool_)
    for p in range(count):
        if p != place:
            seen[chosen[p]] = True
    for p in range(count):
        if p == place:
            continue
        for e in range(start[chosen[p]], start[chosen[p] + 1]):
            for c in rows[holders[e]]:
                if c >= 0 and not seen[c]:
                    seen[c] = True
                    gain = _gain(c, weights[place], start, holders, shares, held, value)
                    if gain > best:
                        best, who = gain, c
    return who


@kernel
def grow_cuts(rows, shares, start, holders, weights, divisor, least):
    """From each record a cut of these weights: the best next record again and again, then exchanges.

    Returns the records of the cuts violated by more than `least`, in the order of the weights; by how much.
    """
    n, length = len(start) - 1, len(weights)
    whole = weights.sum()
    limit = whole // divisor
    value, exchange = np.empty(whole + 1), np.empty(whole + 1)
    for a in range(whole + 1):
        part = (a % divisor / divisor) ** 2
        value[a] = a // divisor + HOPE * part
        exchange[a] = a // divisor + EXCHANGE_HOPE * part
    held = np.zeros(len(rows), np.int64)
    chosen = np.empty(length, np.int64)
    cuts, excess = np.empty((n, length), np.int64), np.empty(n)
    kept = 0
    for first in range(n):
        chosen[0] = first
        _move(first, weights[0], start, holders, held)
        count = 1
        while count < length:
            c = _best_for(count, weights, chosen, count, rows, start, holders, shares, held, value)
            if c < 0:
                break
            chosen[count] = c
            _move(c, weights[count], start, holders, held)
            count += 1
        changed = count == length
        for _ in range(EXCHANGES):
            if not changed:
                break
            changed = False
            for p in range(length):
                _move(chosen[p], -weights[p], start, holders, held)
                c = _best_for(p, weights, chosen, length, rows, start, holders, shares, held, exchange)
                if c != chosen[p]:
                    old = _gain(chosen[p], weights[p], start, holders, shares, held, exchange)
                    if _gain(c, weights[p], start, holders, shares, held, exchange) > old + 1e-9:
                        chosen[p] = c
                        changed = True
                _move(chosen[p], weights[p], start, holders, held)
        total = -float(limit)
        for p in range(count):
            for e in range(start[chosen[p]], start[chosen[p] + 1]):
                g = holders[e]
                total += shares[g] * (held[g] // divisor)
                held[g] = 0
        if count == length and total > least:
            cuts[kept] = chosen
            excess[kept] = total
            kept += 1
    return cuts[:kept], excess[:kept]


@kernel
def eliminated(matrix, order, shares, divisor, least, widest):
    """Sums of rows of the matrix, modulo the divisor, that are violated by more than `least`.

    matrix[i, g]: whether group g holds record i; it is changed. Groups vanish in this order, each by the row
    that the fewest records made. Returns the weight of each record in the sums, and by how much they are
    violated. The divisor is 2 or 3: each number is its own inverse.
    """
    n, m = matrix.shape
    weights = np.zeros((n, n), np.int8)
    sums, left, length = np.ones(n, np.int64), np.ones(n, np.bool_), np.ones(n, np.int64)
    for i in range(n):
        weights[i, i] = 1
    found, excess = [], []
    for g in order:
        pivot = -1
        for i in range(n):
            if left[i] and matrix[i, g] and (pivot < 0 or length[i] < length[pivot]):
                pivot = i
        if pivot < 0:
            continue
        left[pivot] = False
        for i in range(n):
            if not left[i] or not matrix[i, g]:
                continue
            times = divisor - matrix[i, g] * matrix[pivot, g] % divisor
            sums[i] = (sums[i] + times * sums[pivot]) % divisor
            length[i] = 0
            for j in range(n):
                weights[i, j] = (weights[i, j] + times * weights[pivot, j]) % divisor
                length[i] += weights[i, j] != 0
            for j in range(m):
                matrix[i, j] = (matrix[i, j] + times * matrix[pivot, j]) % divisor
            for factor in range(1, divisor):
                rest = 0.0
                for j in range(m):
                    rest += (factor * matrix[i, j]) % divisor * shares[j]
                violated = (factor * sums[i] % divisor - rest) / divisor
                if violated > least and length[i] <= widest:
                    excess.append(violated)
                    found.append((factor, weights[i].copy()))
    out = np.zeros((len(found), n), np.int8)
    for t in range(len(found)):
        factor, weight = found[t]
        for j in range(n):
            out[t, j] = factor * weight[j] % divisor
    return out, np.array(excess)
