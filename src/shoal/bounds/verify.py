"""Proofs of a bound from the records and the certificate alone. Nothing here is shared with the search.

Plain code on purpose: margins, sums and the fingerprint are written out again, and a test reads the imports.
Each proof recomputes the stated value; a bound is verified if no group undercuts its prices, and the value
proven is the value stated.
"""

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.bounds.certificate import Bound
from shoal.kernels.runtime.jit import kernel

#: What a proof takes off every price, and adds to every penalty. Rounding is below 1e-12 of the same numbers.
MARGIN = 1e-9
#: The arrays of whole numbers.
WHOLE = ("cuts", "weights", "divisors", "block", "labels", "pairs", "owed_start", "owed_cut")
#: Candidates that a proof weighs at most, some minutes' work: false prices could make it endless.
WORK = 10**11
#: The largest divisor of a cut; ours are below 6.
LARGEST_DIVISOR = 100
#: Candidates for one group up to which their distances among themselves are summed again, and only if they
#: are fewer than this share of those before. This trades the square of their number against a smaller search;
#: what is proven does not depend on it.
AMONG, FEWER = 300, 0.8


def verify(bound: Bound, X: NDArray[np.float64]) -> bool:
    """Does the certificate prove the stated figures for these standardised records?"""
    certificate, n = bound.certificate, len(X)
    k, arrays = certificate.k, certificate.arrays
    if (
        certificate.fingerprint != _fingerprint(X, k)
        or not 1 <= k <= n
        or certificate.proof not in (*PROOFS, "tree")
    ):
        return False
    if certificate.proof != "one group" and not 2 <= k <= n // 2:
        return False  # fewer than 2k records form one group
    try:
        for name, array in arrays.items():
            if array.dtype.kind != ("i" if name in WHOLE else "f") or not np.isfinite(array).all():
                return False
        if certificate.proof == "tree":
            from shoal.bounds.verify_tree import by_tree

            value = by_tree(X, k, **arrays)
        else:
            value = PROOFS[certificate.proof](X, k, **arrays)
    except (TypeError, ValueError, IndexError):
        return False  # arrays missing, or of a wrong shape
    total = _total(X)
    loss = 100 * value / total if total > 0 else 0.0
    return math.isclose(value, bound.sse, rel_tol=1e-9, abs_tol=1e-12 * total) and math.isclose(
        loss, bound.information_loss, rel_tol=1e-8, abs_tol=1e-10
    )


def by_one_group(X: NDArray[np.float64], k: int) -> float:
    """k = 1 loses nothing; fewer than 2k records form one group, whatever one does."""
    if k == 1:
        return 0.0
    if len(X) >= 2 * k:
        raise ValueError("more than one group is possible")
    return _total(X) * (1 - MARGIN)


def by_neighbours(X: NDArray[np.float64], k: int) -> float:
    """Each record pays half of its distances to its nearest, at the best size."""
    return _value_of_prices(_paid_to_neighbours(X, k), np.empty(0))


def by_prices(
    X: NDArray[np.float64],
    k: int,
    prices: NDArray[np.float64],
    cuts: NDArray[np.int64],
    weights: NDArray[np.int64],
    divisors: NDArray[np.int64],
    penalties: NDArray[np.float64],
) -> float:
    """No group may be worth more than it costs: search for one, and find none."""
    table = cut_table(len(X), cuts, weights, divisors)
    if prices.shape != (len(X),):
        raise ValueError("arrays do not fit the records")
    value = _value_of_prices(prices, limit_penalties(weights, divisors, penalties))
    lowered = prices - MARGIN * np.abs(prices)
    if groups_below(X, k, lowered, table, penalties * (1 + MARGIN), 0.0, 0) is None:
        raise ValueError("a group costs less than its prices")
    return value


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
    return start, cut, weights[cut, place], divisors


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
    near = _near_sums(X, min(2 * k - 2, n - 1))

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


def by_matrix(X: NDArray[np.float64], k: int, block: NDArray[np.int64], M: NDArray[np.float32]) -> float:
    """Rows under half the distances plus M, less the most that M can take back. Row by row, by sorting."""
    n, b = len(X), len(block)
    if M.shape != (b, b) or len(np.unique(block)) != b or block.min() < 0 or block.max() >= n:
        raise ValueError("arrays do not fit the records")
    paid = _paid_to_neighbours(X, k)
    S = M.astype(np.float64)
    sizes = np.arange(k, 2 * k)
    for row, i in enumerate(block):
        cost = np.square(X - X[i]).sum(axis=1) / 2
        cost[block] += S[row]
        itself, cost[i] = cost[i], np.inf
        sums = itself + np.cumsum(np.sort(np.partition(cost, 2 * k - 3)[: 2 * k - 2]))
        paid[i] = (sums[sizes - 2] / sizes).min()
    size = np.linalg.norm(S)
    S = (S + S.T) / 2
    taken = 0.0
    if b == n:
        centring = np.eye(n) - 1 / n
        taken = S.sum() / n
        S = centring @ S @ centring
    rank = n // k - 1 if b == n else b / k
    values = np.sort(np.linalg.eigvalsh(S))[::-1]
    taken += np.maximum(values[: math.ceil(rank)], 0).sum() + 1e-12 * (rank + 1) * b * size
    value = math.fsum(paid) - taken - 1e-12 * n * size
    return max(0.0, float(value - MARGIN * (math.fsum(np.abs(paid)) + abs(taken))))


def _fingerprint(X: NDArray[np.float64], k: int) -> str:
    """The name of k and the records to eight decimals."""
    rounded = np.ascontiguousarray(np.round(X, 8) + 0.0)  # no negative zero
    return hashlib.sha256(f"{k} {X.shape}".encode() + rounded.tobytes()).hexdigest()


def _total(X: NDArray[np.float64]) -> float:
    """Sum of squared distances to the common mean."""
    return float(np.square(X - X.mean(axis=0)).sum())


def _value_of_prices(prices: NDArray[np.float64], penalties: NDArray[np.float64]) -> float:
    """What feasible prices and penalties prove."""
    value = math.fsum(prices) - MARGIN * math.fsum(np.abs(prices)) - (1 + MARGIN) * math.fsum(penalties)
    return max(0.0, value)


def _paid_to_neighbours(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """What each record pays at least, in a group of the size that suits it best."""
    near = _near_sums(X, 2 * k - 2)
    return np.min([near[:, s - 1] / (2 * s) for s in range(k, 2 * k)], axis=0)


def _near_sums(X: NDArray[np.float64], most: int) -> NDArray[np.float64]:
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
    for i in leads:
        for c in range(i + 1, n):
            distance[c] = _d2(X, i, c)
        for s in range(k, 2 * k):
            depth = 1
            _take(i, 1, cuts, held)
            cost[1] = -prices[i]
            count[1] = n - 1 - i
            for c in range(i + 1, n):
                pool[1, c - i - 1] = c
                added[1, c - i - 1] = distance[c] / s - prices[c]
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


PROOFS: dict[str, Callable[..., float]] = {
    "one group": by_one_group,
    "neighbours": by_neighbours,
    "prices": by_prices,
    "matrix": by_matrix,
}
