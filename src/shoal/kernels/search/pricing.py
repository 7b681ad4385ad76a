"""Exact pricing: for each record the groups that it leads and that undercut their prices the most.

A group G of s records costs SSE(G) = (1/s) * (sum of squared distances of its pairs). Given a price for each
record and a penalty for each cut (see `shoal.bounds.cuts`), its reduced cost is rc(G) = SSE(G) - prices of G
+ penalties due. A cut gives some records a weight; its penalty is due each time that the weights of a group
fill its divisor. The kernels find, by branch and bound over near records, the groups of k..2k-1 records that
a record leads with the least rc (`charge`, which makes the prices feasible), or all below a goal
(`list_groups`). V has the weights of the values (see `weighted`); it is None where all are 1.
"""

import numpy as np

from shoal.kernels.neighbours.distance import between, to_columns
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
def _join(c, sign, tally):
    """Put record c into the group (sign 1) or take it out (-1).

    `tally` has the cuts; the weight that the group has in each; and the penalties that each record would
    bring on, of cuts with divisor 2 and of the others. Penalties are multiples of a power of two, so the
    sums are exact.
    """
    (start, of, weight, first, member, share, divisor, penalty), held, due = tally
    for e in range(start[c], start[c + 1]):
        t = of[e]
        q = divisor[t]
        before = held[t] % q
        held[t] += sign * weight[e]
        after = held[t] % q
        row = 0 if q == 2 else 1
        for f in range(first[t], first[t + 1]):
            step = int(after + share[f] >= q) - int(before + share[f] >= q)
            if step != 0:
                due[row, member[f]] += step * penalty[t]


@kernel
def _note(found, group, s, rc, goal):
    """Keep a group: every one, or the best so many. Returns the rc that the next one must undercut."""
    rows, costs, count, every = found
    t = count[0]
    if t >= len(costs):
        if every:
            count[0] = len(costs) + 1  # too many
            return -np.inf
        t = np.argmax(costs)
    else:
        count[0] += 1
    rows[t, :s] = group[:s]
    rows[t, s:] = -1
    costs[t] = rc
    return goal if every or count[0] < len(costs) else costs.max()


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
def _search(X, V, i, s, near_by, prices, tally, goal, found, budget):
    """Branch and bound over groups of s records: i, which has joined, and s-1 of the candidates `record`.

    Notes the groups whose rc is below the goal. Returns (the new goal; the least that unsearched groups may
    have; candidates weighed). With r still to choose, candidate a costs m[a] against the chosen, and at least
    half of its r-1 smallest distances and a share of the penalties it brings on: one half where the divisor
    is 2 (each further record fills it half), else 1/r (if any of the r fills it, it is due once). The r
    cheapest bound the node, and who is dearer than the room they leave is dropped.
    """
    record, distance, D, inner = near_by
    due = tally[2]
    size, half = len(record), 1.0 / (2 * s)
    unsearched, work = np.inf, 0
    m, val, pool = np.empty((s, size)), np.empty((s, size)), np.empty((s, size), np.int64)
    cost, smallest, left, at = np.empty(s), np.empty(s), np.empty(s, np.int64), np.empty(s, np.int64)
    picked, group = np.empty(s, np.int64), np.empty(s, np.int64)
    total, mean = np.empty((s, X.shape[1])), np.empty((s, X.shape[1]))  # of the chosen, under V
    group[0], cost[0] = i, -prices[i]
    if V is None:
        for a in range(size):
            m[0, a] = distance[record[a]] / s - prices[record[a]]
    else:
        total[0], mean[0] = V[i], X[i]
    pool[0] = np.arange(size)
    left[0], at[0] = size, -1  # a new node
    depth = 0
    while depth >= 0:
        r = s - 1 - depth
        row, md, vd = pool[depth], m[depth], val[depth]
        if at[depth] < 0:
            work += left[depth]
            at[depth] = 0
            if V is not None:
                for q in range(left[depth]):
                    c = record[row[q]]
                    md[row[q]] = _added(X, V, c, total[depth], mean[depth], r) - prices[c]
            if r == 1:
                for q in range(left[depth]):
                    a = row[q]
                    rc = cost[depth] + md[a]
                    if rc < goal:
                        rc += due[0, record[a]] + due[1, record[a]]
                        if rc < goal:
                            group[s - 1] = record[a]
                            goal = _note(found, group, s, rc, goal)
                left[depth] = 0
            else:
                smallest[:r] = np.inf
                for q in range(left[depth]):
                    a = row[q]
                    c = record[a]
                    vd[a] = md[a] + 0.5 * due[0, c] + due[1, c] / r
                    if V is None:
                        vd[a] += inner[a, r - 1] * half
                    insert(smallest, r, vd[a])
                room = goal - cost[depth] - smallest[: r - 1].sum()
                survive = 0
                if smallest[r - 1] < room:
                    for q in range(left[depth]):
                        a = row[q]
                        if vd[a] < room:
                            p = survive
                            survive += 1
                            while p > 0 and vd[row[p - 1]] > vd[a]:
                                row[p] = row[p - 1]
                                p -= 1
                            row[p] = a
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
            depth -= 1
            if depth >= 0:
                _join(record[picked[depth]], -1, tally)
            continue
        at[depth] = p + 1
        a = row[p]
        c = record[a]
        picked[depth] = a
        depth += 1
        group[depth] = c
        left[depth] = left[depth - 1] - p - 1
        pool[depth, : left[depth]] = row[p + 1 : p + 1 + left[depth]]
        if V is None:
            cost[depth] = cost[depth - 1] + md[a] + due[0, c] + due[1, c]
            for b in pool[depth, : left[depth]]:
                d2 = D[a, b] if len(D) else between(X, c, record[b])
                m[depth, b] = md[b] + d2 / s
        else:
            more = _added(X, V, c, total[depth - 1], mean[depth - 1], 1) + due[0, c] + due[1, c]
            cost[depth] = cost[depth - 1] + more - prices[c]
            for j in range(X.shape[1]):
                total[depth, j], mean[depth, j] = total[depth - 1, j] + V[c, j], mean[depth - 1, j]
                if V[c, j] > 0.0:
                    mean[depth, j] += (X[c, j] - mean[depth - 1, j]) * (V[c, j] / total[depth, j])
        _join(c, 1, tally)
        at[depth] = -1
    return goal, unsearched, work


@kernel
def _of_all_sizes(X, V, i, k, near_by, prices, tally, goal, found, budget):
    """`_search` for every size: (the new goal; the least that unsearched groups may have; the work)."""
    unsearched, work = np.inf, 0
    _join(i, 1, tally)
    for s in range(k, min(2 * k, len(near_by[0]) + 2)):
        goal, hidden, used = _search(X, V, i, s, near_by, prices, tally, goal, found, budget - work)
        unsearched, work = min(unsearched, hidden), work + used
    _join(i, -1, tally)
    return goal, unsearched, work


@kernel
def _table(X, prices, near, k, first):
    """What `_within` looks up: the coordinates, and in groups of each size the most that a record from
    `first` on can pay for one other (pair), or not at all for the lead (rest), beyond its nearest."""
    columns, most = np.empty((X.shape[1], len(X))), np.full((2, 2 * k), -np.inf)
    for c in range(first, len(X)):
        for j in range(X.shape[1]):
            columns[j, c] = X[c, j]
        for s in range(k, 2 * k):
            most[0, s] = max(most[0, s], prices[c] - near[c, s - 2] / (2 * s))
            most[1, s] = max(most[1, s], prices[c] - near[c, s - 1] / (2 * s))
    return columns, most


@kernel
def _within(i, prices, near, k, goal, table, distance, among):
    """Find who is near enough to i to share with it a group whose rc is below the goal; returns how many.

    i and c pay d2(i, c)/s for one another. Each of the two pays half of its s-2 smallest distances beside
    it, each of the s-2 others half of its s-1 smallest: together less than their prices and the goal.
    """
    columns, most = table
    n, reach = len(distance), 0.0
    for s in range(k, 2 * k):
        pair = goal + prices[i] - near[i, s - 2] / (2 * s) + most[0, s]
        reach = max(reach, s * (pair + (s - 2) * most[1, s]))
    to_columns(columns, columns[:, i].copy(), i + 1, n, distance)
    count = 0
    for c in range(i + 1, n):
        among[count] = c
        count += distance[c] < reach
    return count


@kernel
def _lead(X, V, i, prices, near, k, tally, goal, found, budget, table, distance, among):
    """Note the groups below the goal that i leads: (the least that unsearched groups may have; the work)."""
    smallest, stays = np.empty(2 * k), np.empty(len(X) - i, np.bool_)
    nowhere = np.empty((0, 0))
    if V is not None:
        everyone = np.arange(i + 1, len(X)), distance, nowhere, nowhere
        return _of_all_sizes(X, V, i, k, everyone, prices, tally, goal, found, budget)[1:]
    size, work = _within(i, prices, near, k, goal, table, distance, among), 0
    _, _, count, every = found
    for stage in range(int(every), 2):
        size = _scan(prices[i], distance, prices, near, k, goal, among[:size], smallest, stays)
        if size < k - 1:
            break
        quick = stage == 0 and size > FEW
        if quick:
            # Quick search among the candidates that are cheapest in the middle size.
            s = (3 * k) // 2
            guess = np.empty(size)
            for q in range(size):
                c = among[q]
                guess[q] = distance[c] / s - prices[c] + near[c, s - 2] / (2 * s)
            record = among[np.argsort(guess)[:FEW]]
        else:
            record = among[:size].copy()
        D, inner = nowhere, near[record]
        if len(record) <= MANY:
            D = _distances(X, record)
            inner = _inner_sums(D, k, smallest)
        while not quick and len(D):
            # The candidates' distances among themselves are larger than those among all: look again.
            places = np.arange(len(record))
            fewer = _scan(
                prices[i], distance[record], prices[record], inner, k, goal, places, smallest, stays
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
        near_by = record, distance, D, inner
        allowed = 20 * k * FEW if quick else budget
        goal, unsearched, used = _of_all_sizes(X, V, i, k, near_by, prices, tally, goal, found, allowed)
        work += used
        if not quick:
            return unsearched, work
        count[0] = 0  # the full search finds them again, and the goal must let it
        goal += 1e-9 * abs(goal)
    return np.inf, work


@kernel
def charge(X, V, leads, prices, near, k, cuts, budget, rows, costs, weighed):
    """Lower `prices` until no group led by one of `leads` has a negative reduced cost; note these groups.

    A group is led by its first record, so each group is searched once. The leads are visited from the last
    to the first: whoever comes later has been charged already. The whole violation is charged to the lead.
    near[c, q]: sum of c's q smallest squared distances (not asked for under weights). rows (len(leads) x so
    many x 2k-1, filled up with -1) and costs hold the best groups of each lead, costs 0 where none. weighed:
    candidates weighed for each lead; beyond `budget` its search stops, it pays the lower bound of what was
    not searched, and weighed is negative.
    """
    n = len(X)
    distance, among = np.empty(n), np.empty(n, np.int64)
    tally = cuts, np.zeros(len(cuts[6]), np.int64), np.zeros((2, n))
    count, every = np.zeros(1, np.int64), np.bool_(False)
    table = _table(X, prices, near, k, leads[0] if V is None and len(leads) else n)
    for t in range(len(leads) - 1, -1, -1):
        i = leads[t]
        count[0] = 0
        found = rows[t], costs[t], count, every
        given = X, V, i, prices, near, k, tally, 0.0, found, budget
        unsearched, work = _lead(*given, table, distance, among)
        costs[t, count[0] :] = 0.0
        least = costs[t].min()
        weighed[t] = work if unsearched >= least else -work
        prices[i] += min(least, unsearched, 0.0)


@kernel
def list_groups(X, leads, prices, near, k, cuts, goal, rows, costs):
    """Write the groups led by one of `leads` with rc below the goal into `rows`; returns how many."""
    n = len(X)
    distance, among = np.empty(n), np.empty(n, np.int64)
    tally = cuts, np.zeros(len(cuts[6]), np.int64), np.zeros((2, n))
    count = np.zeros(1, np.int64)
    found, budget = (rows, costs, count, np.bool_(True)), np.int64(2**62)  # plain constants compile anew
    table = _table(X, prices, near, k, leads[0] if len(leads) else n)
    for i in leads:
        _lead(X, None, i, prices, near, k, tally, goal, found, budget, table, distance, among)
        if count[0] > len(costs):
            break
    return count[0]


@kernel
def charge_list(rows, excess, prices):
    """Lower `prices` until no listed group undercuts them: a group's first record pays what is missing.

    excess: cost less prices plus penalties of each group.
    """
    before = prices.copy()
    for g in range(len(rows)):
        if excess[g] < 0.0:
            missing = excess[g]
            for r in rows[g]:
                if r < 0:
                    break
                missing += before[r] - prices[r]
            if missing < 0.0:
                prices[rows[g, 0]] += missing
