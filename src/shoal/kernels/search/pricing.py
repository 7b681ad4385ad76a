"""Exact pricing: for each record the group that it leads and that undercuts its prices the most.

A group G of s records costs SSE(G) = (1/s) * (sum of squared distances of its pairs). Given a price for each
record and a penalty for each cut (three records, due when a group holds two or all of them), its reduced cost
is rc(G) = SSE(G) - prices of G + penalties due. The kernel finds, by branch and bound over near records, the
least rc of the groups of k..2k-1 records that a record leads, and makes the prices feasible.
"""

import numpy as np

from shoal.kernels.neighbours.distance import between
from shoal.kernels.runtime.jit import kernel

#: With more candidates than this, a quick search among the best FEW comes first: it lowers the goal, so that
#: the full search drops more candidates.
FEW = 40
#: Candidates up to which a table of their distances is made: its MANY^2 numbers (180 kB) fit into a core's
#: own cache.
MANY = 150


@kernel
def insert(smallest, length, v):
    """Put v into the sorted `smallest` values, if it is one of them."""
    q = length - 1
    if v < smallest[q]:
        while q > 0 and smallest[q - 1] > v:
            smallest[q] = smallest[q - 1]
            q -= 1
        smallest[q] = v


@kernel
def _scan(i_price, distance, prices, near, k, goal, among, smallest, stays):
    """Keep the records that can share with i a group of any size whose rc is below `goal`.

    In a group of s records, c costs at least d2(i, c)/s - price, and half of its distances to the s-2
    others. The s-2 cheapest of these complete the group; c is out if even with them it costs too much.
    `among` lists the records' places in distance, prices and near. Returns how many stay.
    """
    for q in range(len(among)):
        stays[q] = False
    for s in range(k, 2 * k):
        smallest[: s - 1] = np.inf
        for q in range(len(among)):
            c = among[q]
            insert(smallest, s - 1, distance[c] / s - prices[c] + near[c, s - 2] / (2 * s))
        others = smallest[: s - 2].sum() - i_price
        if others + smallest[s - 2] >= goal:
            continue
        room = goal - others
        for q in range(len(among)):
            c = among[q]
            if distance[c] / s - prices[c] + near[c, s - 2] / (2 * s) < room:
                stays[q] = True
    count = 0
    for q in range(len(among)):
        if stays[q]:
            among[count] = among[q]
            count += 1
    return count


@kernel
def _distances(X, record):
    """Squared distances of these records."""
    size = len(record)
    D = np.zeros((size, size))
    for a in range(size):
        for b in range(a):
            D[a, b] = between(X, record[a], record[b])
            D[b, a] = D[a, b]
    return D


@kernel
def _inner_sums(D, k, smallest):
    """Sums of each one's 0, 1, 2, .. smallest distances to the others."""
    size = len(D)
    inner = np.zeros((size, 2 * k - 1))
    for a in range(size):
        smallest[: 2 * k - 2] = np.inf
        for b in range(size):
            if b != a:
                insert(smallest, 2 * k - 2, D[a, b])
        for q in range(2 * k - 2):
            inner[a, q + 1] = inner[a, q] + smallest[q]
    return inner


@kernel
def _due(c, cuts, chosen):
    """The penalties that c brings on if it joins: of its cuts with just one other record chosen."""
    start, other, penalty = cuts
    total = 0.0
    for q in range(start[c], start[c + 1]):
        if chosen[other[q, 0]] != chosen[other[q, 1]]:
            total += penalty[q]
    return total


@kernel
def _search(X, i, s, distance, record, D, inner, prices, cuts, chosen, goal, group, budget):
    """Branch and bound over groups of s records: i and s-1 of the candidates `record`.

    Returns (the least rc, or `goal` if none is below it; the least that unsearched groups may have;
    candidates weighed). With r still to choose, candidate a costs m[a] against the chosen, and at least half
    of its r-1 smallest distances and half of the penalties it brings on (the other half may fall to
    another); the r cheapest bound the node, and who is dearer than the room they leave is dropped.
    """
    size = len(record)
    half = 1.0 / (2 * s)
    unsearched = np.inf
    work = 0
    m = np.empty((s, size))
    val = np.empty((s, size))
    pool = np.empty((s, size), np.int64)
    smallest = np.empty(s)
    count = np.empty(s, np.int64)
    at = np.empty(s, np.int64)
    cost = np.empty(s)
    picked = np.empty(s, np.int64)
    cost[0] = -prices[i]
    for a in range(size):
        m[0, a] = distance[record[a]] / s - prices[record[a]]
    pool[0] = np.arange(size)
    chosen[i] = True
    count[0] = size
    at[0] = -1  # a new node
    depth = 0
    while depth >= 0:
        r = s - 1 - depth
        row = pool[depth]
        md = m[depth]
        vd = val[depth]
        if at[depth] < 0:
            work += count[depth]
            at[depth] = 0
            if r == 1:
                least = np.inf
                who = -1
                for q in range(count[depth]):
                    v = md[row[q]]
                    if v < least:
                        v += _due(record[row[q]], cuts, chosen)
                        if v < least:
                            least = v
                            who = row[q]
                if cost[depth] + least < goal:
                    goal = cost[depth] + least
                    group[0] = i
                    for q in range(depth):
                        group[q + 1] = record[picked[q]]
                    group[s - 1] = record[who]
                count[depth] = 0
            else:
                smallest[:r] = np.inf
                for q in range(count[depth]):
                    a = row[q]
                    vd[a] = md[a] + inner[a, r - 1] * half + 0.5 * _due(record[a], cuts, chosen)
                    insert(smallest, r, vd[a])
                room = goal - cost[depth] - smallest[: r - 1].sum()
                survive = 0
                if smallest[r - 1] < room:
                    for q in range(count[depth]):
                        a = row[q]
                        if vd[a] < room:
                            p = survive
                            survive += 1
                            while p > 0 and vd[row[p - 1]] > vd[a]:
                                row[p] = row[p - 1]
                                p -= 1
                            row[p] = a
                count[depth] = survive
        p = at[depth]
        bound = np.inf
        if p + r <= count[depth]:
            bound = cost[depth]
            for q in range(p, p + r):
                bound += vd[row[q]]
        if bound >= goal or work > budget:
            if bound < goal:
                unsearched = min(unsearched, bound)
            depth -= 1
            if depth >= 0:
                chosen[record[picked[depth]]] = False
            continue
        at[depth] = p + 1
        a = row[p]
        picked[depth] = a
        depth += 1
        cost[depth] = cost[depth - 1] + md[a] + _due(record[a], cuts, chosen)
        count[depth] = count[depth - 1] - p - 1
        for q in range(count[depth]):
            b = row[p + 1 + q]
            pool[depth, q] = b
            d2 = D[a, b] if len(D) else between(X, record[a], record[b])
            m[depth, b] = md[b] + d2 / s
        chosen[record[a]] = True
        at[depth] = -1
    chosen[i] = False
    return goal, unsearched, work


@kernel
def charge(X, leads, prices, near, k, cuts, budget, groups, sizes, weighed):
    """Lower `prices` until no group led by one of `leads` has a negative reduced cost; note these groups.

    A group is led by its first record, so each group is searched once. The leads are visited from the last
    to the first: whoever comes later has been charged already. The whole violation is charged to the lead.
    near[c, q]: sum of c's q smallest squared distances. cuts: (start, other, penalty), for each record the
    two other records of each of its cuts. groups (len(leads) x k x 2k-1) and sizes hold the best group of
    each size, sizes 0 where none. weighed: candidates weighed for each lead; beyond `budget` its search
    stops, it pays the lower bound of what was not searched, and weighed is negative.
    """
    n = len(X)
    distance = np.empty(n)
    smallest = np.empty(2 * k)
    stays = np.empty(n, np.bool_)
    among = np.empty(n, np.int64)
    chosen = np.zeros(n, np.bool_)
    group = np.empty(2 * k - 1, np.int64)
    for t in range(len(leads) - 1, -1, -1):
        i = leads[t]
        size = n - 1 - i
        for c in range(i + 1, n):
            distance[c] = between(X, i, c)
            among[c - i - 1] = c
        best = 0.0
        unsearched = np.inf
        work = 0
        for stage in range(2):
            size = _scan(prices[i], distance, prices, near, k, best, among[:size], smallest, stays)
            if size < k - 1:
                break
            if stage == 0 and size > FEW:
                # Quick search among the candidates that are cheapest in the middle size.
                s = (3 * k) // 2
                guess = np.empty(size)
                for q in range(size):
                    c = among[q]
                    guess[q] = distance[c] / s - prices[c] + near[c, s - 2] / (2 * s)
                record = among[np.argsort(guess)[:FEW]]
                allowed = 20 * k * FEW
            else:
                stage = 1
                record = among[:size].copy()
                allowed = work + budget
            if len(record) > MANY:
                D = np.empty((0, 0))
                inner = near[record]
            else:
                D = _distances(X, record)
                inner = _inner_sums(D, k, smallest)
            while stage == 1 and len(D):
                # The candidates' distances among themselves are larger than those among all: look again.
                places = np.arange(len(record))
                fewer = _scan(
                    prices[i], distance[record], prices[record], inner, k, best, places, smallest, stays
                )
                if fewer == len(record):
                    break
                places = places[:fewer]
                shrunk = 4 * fewer < 3 * len(record)
                record = record[places]
                D = D[places][:, places]
                inner = _inner_sums(D, k, smallest) if shrunk else inner[places]
                if not shrunk:
                    break
            for s in range(k, 2 * k):
                if len(record) < s - 1:
                    break
                before = best
                best, hidden, used = _search(
                    X, i, s, distance, record, D, inner, prices, cuts, chosen, best, group, allowed - work
                )
                work += used
                if stage == 1:
                    unsearched = min(unsearched, hidden)
                if best < before:
                    sizes[t, s - k] = s
                    groups[t, s - k, :s] = group[:s]
            if stage == 1:
                break
        weighed[t] = work if unsearched >= best else -work
        prices[i] += min(best, unsearched)


@kernel
def violated_triples(inside, shares, least):
    """Triples of records that groups holding two or three of them cover by more than 1 + least.

    inside[i, g]: record i is in fractional group g. Such a triple has a record that meets both others.
    """
    n = len(inside)
    violated = []
    excess = []
    met = np.empty(n, np.int64)
    is_met = np.zeros(n, np.bool_)
    for a in range(n):
        groups_of_a = np.flatnonzero(inside[a])
        count = 0
        for g in groups_of_a:
            for b in range(n):
                if b != a and inside[b, g] and not is_met[b]:
                    is_met[b] = True
                    met[count] = b
                    count += 1
        for p in range(count):
            b = met[p]
            is_met[b] = False
            others = np.flatnonzero(inside[b] & ~inside[a])
            for q in range(p):
                c = met[q]
                total = -1.0
                for g in groups_of_a:
                    if inside[b, g] or inside[c, g]:
                        total += shares[g]
                for g in others:
                    if inside[c, g]:
                        total += shares[g]
                if total > least:
                    violated.append((a, b, c))
                    excess.append(total)
    triples = np.empty((len(violated), 3), np.int64)
    for t in range(len(violated)):
        triples[t, 0], triples[t, 1], triples[t, 2] = violated[t]
    return triples, np.array(excess)
