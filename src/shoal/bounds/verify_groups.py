"""What proofs ask about groups: which cost less than a goal, and what cuts charge them.

Plain code on purpose. Nothing here is shared with the search.
"""

import os
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
#: Records of a node at most that is not divided. The leads are dealt out to so many pieces that are searched
#: side by side, so many neighbours at a time. What is proven depends on none of them.
LEAF, PIECES, HAND = 24, 8, 256


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


def groups_below(X, k, prices, table, penalties, goal: float, most: int, V=None) -> NDArray[np.int32] | None:
    """Every group whose cost, less prices, plus penalties, is below the goal; None if more than `most`.

    The dearest record of a group leads it, and each lead is searched by itself. Records lie leaf by leaf.
    V: the weights of the values, where not all are 1.
    """
    n = len(X)
    order, *nodes = _tree(X)
    rank = np.empty(n, np.int64)
    rank[np.argsort(-prices, kind="stable")] = np.arange(n)
    start, cut, weight, divisors = table
    lists = np.repeat(start[order], np.diff(start)[order]) + _counted(np.diff(start)[order])
    start = np.concatenate([[0], np.cumsum(np.diff(start)[order])])
    cuts = start, cut[lists], weight[lists], divisors, penalties
    X, prices, rank = np.ascontiguousarray(X[order]), prices[order], rank[order]
    V = None if V is None else np.ascontiguousarray(V[order], np.float64)
    near = near_sums(X, min(2 * k - 2, n - 1))
    best, last = _best_of_nodes(*nodes[:3], k, prices, near, rank)
    tree = (*nodes, best, last)

    def search(leads):
        rows = np.empty((most, 2 * k - 1), np.int32)
        count = _below(X, V, k, leads, prices, near, rank, tree, cuts, goal, rows, WORK // PIECES)
        return rows[:count].copy() if count <= most else None

    hand = np.arange(n) // min(HAND, 1 + n // (8 * PIECES)) % PIECES
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(search, [np.flatnonzero(hand == piece) for piece in range(PIECES)]))
    if any(rows is None for rows in found):
        return None
    rows = np.concatenate(found)
    return np.where(rows >= 0, order[rows], -1).astype(np.int32) if len(rows) <= most else None


def _counted(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, .. for each length, one after another."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _tree(X: NDArray[np.float64]):
    """The records leaf by leaf; then of each node its first place, its end, its first child (or -1: a leaf),
    and the corners of its box. The second child follows the first; a node comes before its children.
    """
    order = np.arange(len(X))
    places, child, low, high = [(0, len(X))], [], [], []
    for first, end in places:  # grows as it goes
        rows = order[first:end]
        low.append(X[rows].min(axis=0))
        high.append(X[rows].max(axis=0))
        child.append(-1)
        if len(rows) > LEAF:
            child[-1] = len(places)
            middle = len(rows) // 2
            order[first:end] = rows[np.argpartition(X[rows, np.argmax(high[-1] - low[-1])], middle)]
            places += [(first, first + middle), (first + middle, end)]
    start, stop = np.array(places).T.copy()
    return order, start, stop, np.array(child), np.array(low), np.array(high)


def near_sums(X: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The sums of each record's 0, 1, .., most smallest squared distances to others."""
    distances, _ = cKDTree(X).query(X, k=list(range(1, most + 2)), workers=-1)
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
def _keep_least(least, count, v):
    """Put v among the `count` least values, which are in order, if it is one of them."""
    p = count - 1
    if v < least[p]:
        while p > 0 and least[p - 1] > v:
            least[p] = least[p - 1]
            p -= 1
        least[p] = v


@kernel
def _best_of_nodes(start, end, child, k, prices, near, rank):
    """Of each node the most that a record is worth in groups of k, k + 1, .., and the last rank.

    A record of a group of s pays at least half of its s - 2 smallest distances besides that to the lead.
    """
    best, last = np.full((len(start), k), -np.inf), np.full(len(start), -1)
    for node in range(len(start) - 1, -1, -1):
        if child[node] >= 0:
            for one in range(child[node], child[node] + 2):
                last[node] = max(last[node], last[one])
                for q in range(k):
                    best[node, q] = max(best[node, q], best[one, q])
            continue
        for c in range(start[node], end[node]):
            last[node] = max(last[node], rank[c])
            for q in range(k):
                best[node, q] = max(best[node, q], prices[c] - near[c, k + q - 2] / (2 * (k + q)))
    return best, last


@kernel
def _to_box(point, low, high):
    """The squared distance of a point to a box."""
    total = 0.0
    for j in range(len(point)):
        total += max(low[j] - point[j], point[j] - high[j], 0.0) ** 2
    return total


@kernel
def _candidates(X, i, k, prices, near, rank, tree, goal, left):
    """The records that come after i by rank and may share a group below the goal with it; the work left.

    In a group of s, c adds its distance to i, less its price, and half of its s - 2 smallest others. The
    s - 1 who add least must reach below the goal, and whoever cannot with the s - 2 who add least is left
    out. A first walk down the tree finds who adds least in groups of each size, a second all candidates.
    """
    start, end, child, low, high, best, last = tree
    point, room = X[i], np.full(k, np.inf)
    least = np.full((k, 2 * k), np.inf)
    waiting, away = np.empty(200, np.int64), np.empty(200)
    pool = np.empty(64, np.int64)
    count = 0
    for second in (False, True):
        waiting[0], away[0], depth = 0, 0.0, 1
        while depth > 0:
            depth -= 1
            node, matters = waiting[depth], False
            for q in range(k):
                matters |= away[depth] / (k + q) - best[node, q] < room[q]
            if last[node] <= rank[i] or not matters:
                continue
            a = child[node]
            if a >= 0:
                first, other = _to_box(point, low[a], high[a]), _to_box(point, low[a + 1], high[a + 1])
                nearer = int(first <= other)  # it is looked at first, so it comes last
                waiting[depth + nearer], away[depth + nearer] = a, first
                waiting[depth + 1 - nearer], away[depth + 1 - nearer] = a + 1, other
                depth += 2
                continue
            left -= end[node] - start[node]
            for c in range(start[node], end[node]):
                if rank[c] <= rank[i]:
                    continue
                d2, stays = _d2(X, i, c), False
                for q in range(k):
                    s = k + q
                    v = d2 / s - (prices[c] - near[c, s - 2] / (2 * s))
                    if v < room[q]:
                        stays = True
                        if not second:
                            _keep_least(least[q], s - 1, v)
                            room[q] = least[q, s - 2]
                if second and stays:
                    if count == len(pool):
                        pool = np.append(pool, pool)
                    pool[count] = c
                    count += 1
        if second or left < 0:
            break
        hope = False
        for q in range(k):
            s = k + q
            allowed = goal + prices[i] - least[q, : s - 2].sum()
            room[q] = allowed if room[q] < allowed else -np.inf
            hope |= room[q] > -np.inf
        if not hope:
            break
    return pool[:count], left


@kernel
def _hopeful(away, prices, sums, k, own, goal):
    """Who of a pool may share a group below the goal with the lead, with these sums of their distances."""
    stays, worth, least = np.zeros(len(away), np.bool_), np.empty(len(away)), np.empty(2 * k)
    for s in range(k, 2 * k):
        least[: s - 1] = np.inf
        for q in range(len(away)):
            worth[q] = away[q] / s - (prices[q] - sums[q, s - 2] / (2 * s))
            _keep_least(least, s - 1, worth[q])
        room = goal + own - least[: s - 2].sum()
        if least[s - 2] < room:
            for q in range(len(away)):
                stays[q] |= worth[q] < room
    return np.flatnonzero(stays)


@kernel
def _apart(X, pool):
    """The squared distances of the pool's records."""
    D = np.zeros((len(pool), len(pool)))
    for a in range(len(pool)):
        for b in range(a):
            D[a, b] = D[b, a] = _d2(X, pool[a], pool[b])
    return D


@kernel
def _sums_among(D, most):
    """The sums of each one's 0, 1, .., most smallest squared distances to the others."""
    sums, least = np.zeros((len(D), most + 1)), np.empty(most)
    for a in range(len(D)):
        least[:] = np.inf
        for b in range(len(D)):
            if a != b:
                _keep_least(least, most, D[a, b])
        for q in range(most):
            sums[a, q + 1] = sums[a, q] + least[q]
    return sums


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
def _led(X, V, i, s, own, pool, alone, D, sums, cuts, held, goal, rows, found, left):
    """Write the groups of s below the goal, i and s - 1 of the pool, into `rows`, behind those found.

    Returns how many are found by now, and how many candidates may still be weighed. Depth-first. At each
    depth `here` lists who may still come, `added` what each adds to the cost of those chosen. With r to come,
    each also has half its distances to the r - 1 others before it, at least those to its nearest, and its
    share of the penalties it brings on: that is its worth. The r who add least must reach below the goal, and
    whoever cannot with the r - 1 who add least is left out. The others are tried, those who add least first:
    each with those behind it, until it and the r - 1 next ones cannot reach below the goal. Where values have
    weights V, what each adds at least is found anew at each depth (`_raised`).
    """
    size = len(pool)
    here, added, worth = np.empty((s, size), np.int64), np.empty((s, size)), np.empty((s, size))
    count, at, cost = np.zeros(s, np.int64), np.zeros(s, np.int64), np.zeros(s)
    group, least = np.full(s, i), np.empty(s)
    total, mean = np.zeros((s, X.shape[1])), np.zeros((s, X.shape[1]))  # of those chosen, under V
    here[1], added[1], count[1], at[1], cost[1] = np.arange(size), alone, size, -1, -own
    if V is not None:
        total[1], mean[1] = V[i], X[i]
    depth = 1
    while depth > 0:
        r, some = s - depth, here[depth]
        if at[depth] < 0:
            at[depth] = 0
            left -= count[depth]
            if left < 0:
                return found, left
            least[:r] = np.inf
            for a in some[: count[depth]]:
                if V is not None:
                    added[depth, a] = alone[a] + _raised(X, V, pool[a], r, total[depth], mean[depth])
                worth[depth, a] = added[depth, a] + _due(pool[a], r, cuts, held) + sums[a, r - 1] / (2 * s)
                _keep_least(least, r, worth[depth, a])
            room = goal - cost[depth] - least[: r - 1].sum()
            hopeful = 0
            for a in some[: count[depth]]:
                if worth[depth, a] < room:
                    p = hopeful
                    hopeful += 1
                    while p > 0 and worth[depth, some[p - 1]] > worth[depth, a]:
                        some[p] = some[p - 1]
                        p -= 1
                    some[p] = a
            count[depth] = hopeful
            if r == 1:
                for a in some[:hopeful]:
                    group[depth] = pool[a]
                    found += 1
                    if found > len(rows):
                        return found, left
                    rows[found - 1, :s] = group
                    rows[found - 1, s:] = -1
                count[depth] = 0
        t = at[depth]
        least_of_all = np.inf
        if t + r <= count[depth]:
            least_of_all = cost[depth]
            for a in some[t : t + r]:
                least_of_all += worth[depth, a]
        if least_of_all >= goal:
            depth -= 1
            if depth > 0:
                _take(group[depth], -1, cuts, held)
            continue
        at[depth] = t + 1
        a = some[t]
        c = pool[a]
        group[depth] = c
        adds = added[depth, a] if V is None else alone[a] + _raised(X, V, c, 1, total[depth], mean[depth])
        cost[depth + 1] = cost[depth] + adds + _due(c, 1, cuts, held)
        depth += 1
        count[depth], at[depth] = count[depth - 1] - t - 1, -1
        here[depth, : count[depth]] = some[t + 1 : t + 1 + count[depth]]
        if V is None:
            for b in here[depth, : count[depth]]:
                d2 = D[a, b] if len(D) else _d2(X, c, pool[b])
                added[depth, b] = added[depth - 1, b] + d2 / s
        else:
            for j in range(X.shape[1]):
                total[depth, j] = total[depth - 1, j] + V[c, j]
                share = V[c, j] / total[depth, j] if V[c, j] > 0.0 else 0.0
                mean[depth, j] = mean[depth - 1, j] + share * (X[c, j] - mean[depth - 1, j])
        _take(c, 1, cuts, held)
    return found, left


@kernel
def _below(X, V, k, leads, prices, near, rank, tree, cuts, goal, rows, work):
    """Write the groups below the goal, led by one of these records and otherwise of later ones, into `rows`.

    Returns how many there are; it stops at one more than fit, or when it has weighed `work` candidates, and
    then says one more than fit. Candidates who are few are looked at again with the nearest among themselves,
    who are farther, as long as that leaves out many. Under weights V all later records are candidates.
    """
    found, left = 0, work
    held = np.zeros(len(cuts[3]), np.int64)
    for i in leads:
        if V is None:
            pool, left = _candidates(X, i, k, prices, near, rank, tree, goal, left)
            away, sums = np.array([_d2(X, i, c) for c in pool]), near[pool]
        else:
            pool = np.flatnonzero(rank > rank[i])
            away, sums = np.zeros(len(pool)), np.zeros((len(pool), 2 * k))
        if left < 0:
            return len(rows) + 1
        D, before = np.empty((0, 0)), 2 * AMONG
        while V is None and k - 1 <= len(pool) <= AMONG and len(pool) < FEWER * before:
            before = len(pool)
            D = _apart(X, pool)
            sums = _sums_among(D, 2 * k - 2)
            stay = _hopeful(away, prices[pool], sums, k, prices[i], goal)
            pool, away, sums, D = pool[stay], away[stay], sums[stay], D[stay][:, stay]
        _take(i, 1, cuts, held)
        for s in range(k, min(2 * k - 1, len(pool) + 1) + 1):
            added = away / s - prices[pool]
            found, left = _led(
                X, V, i, s, prices[i], pool, added, D, sums, cuts, held, goal, rows, found, left
            )
            if found > len(rows) or left < 0:
                return len(rows) + 1
        _take(i, -1, cuts, held)
    return found
