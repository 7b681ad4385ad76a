"""Proofs of a bound from the records and the certificate alone. Nothing here is shared with the search.

Plain code on purpose: margins, sums and the fingerprint are written out again, and a test reads the imports.
Each proof recomputes the stated value; a bound is verified if no group undercuts its prices, and the value
proven is the value stated.
"""

import hashlib
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.bounds.certificate import Bound
from shoal.bounds.verify_groups import cut_table, groups_below, limit_penalties
from shoal.bounds.verify_tree import by_tree

#: What a proof takes off every price, and adds to every penalty. Rounding is below 1e-12 of the same numbers.
MARGIN = 1e-9
#: Records that are looked at together: all that is made of them is small beside the table.
STEP = 100_000
#: The arrays of whole numbers.
WHOLE = ("cuts", "weights", "divisors", "block", "triples", "pairs", "owed_start", "owed_cut")

#: Certificates made before triples were charged have none.
NO_TRIPLES, NO_CHARGES = np.empty((0, 3), np.int64), np.empty(0)
#: The cuts of prices without any, and their divisors.
NO_CUTS, NO_DIVISORS = np.empty((0, 1), np.int64), np.empty(0, np.int64)


def verify(bound: Bound, X: NDArray[np.float64], V: NDArray[np.float64] | None = None) -> bool:
    """Does the certificate prove the stated figures for these standardised records?

    V: the weights of the values, where not all are 1.
    """
    certificate, n = bound.certificate, len(X)
    k, arrays = certificate.k, certificate.arrays
    proofs, weights = (PROOFS, {}) if V is None else (WEIGHTED, {"V": V})
    if certificate.fingerprint != _fingerprint(X, k, V) or not 1 <= k <= n or certificate.proof not in proofs:
        return False
    if certificate.proof != "one group" and not 2 <= k <= n // 2:
        return False  # fewer than 2k records form one group
    try:
        for name, array in arrays.items():
            if array.dtype.kind != ("i" if name in WHOLE else "f") or not np.isfinite(array).all():
                return False
        value = proofs[certificate.proof](X, k, **weights, **arrays)
    except (TypeError, ValueError, IndexError):
        return False  # arrays missing, or of a wrong shape
    total = _total(X, V)
    loss = 100 * value / total if total > 0 else 0.0
    return math.isclose(value, bound.sse, rel_tol=1e-9, abs_tol=1e-12 * total) and math.isclose(
        loss, bound.information_loss, rel_tol=1e-8, abs_tol=1e-10
    )


def by_one_group(X: NDArray[np.float64], k: int, V: NDArray[np.float64] | None = None) -> float:
    """k = 1 loses nothing; fewer than 2k records form one group, whatever one does."""
    if k == 1:
        return 0.0
    if len(X) >= 2 * k:
        raise ValueError("more than one group is possible")
    return _total(X, V) * (1 - MARGIN)


def by_neighbours(X: NDArray[np.float64], k: int) -> float:
    """Each record pays half of its distances to its nearest, at the best size. The table may be large."""
    return _value_of_prices(_paid_to_neighbours(X, k), np.empty(0))


def by_prices(
    X: NDArray[np.float64],
    k: int,
    prices: NDArray[np.float64],
    cuts: NDArray[np.int64],
    weights: NDArray[np.int64],
    divisors: NDArray[np.int64],
    penalties: NDArray[np.float64],
    V: NDArray[np.float64] | None = None,
) -> float:
    """No group may be worth more than it costs: search for one, and find none.

    Half of the margin is left for the rounding of this search.
    """
    table = cut_table(len(X), cuts, weights, divisors)
    if prices.shape != (len(X),):
        raise ValueError("arrays do not fit the records")
    value = _value_of_prices(prices, limit_penalties(weights, divisors, penalties))
    lowered, raised = prices - MARGIN / 2 * np.abs(prices), penalties * (1 + MARGIN / 2)
    if groups_below(X, k, lowered, table, raised, 0.0, 0, V) is None:
        raise ValueError("a group costs less than its prices")
    return value


def by_blocks(X: NDArray[np.float64], k: int, prices: NDArray[np.float64]) -> float:
    """The same without cuts, as tables of any size have it."""
    return by_prices(X, k, prices, NO_CUTS, NO_CUTS, NO_DIVISORS, NO_CHARGES)


def by_matrix(
    X: NDArray[np.float64],
    k: int,
    block: NDArray[np.int64],
    M: NDArray[np.float32],
    triples: NDArray[np.int64] = NO_TRIPLES,
    charges: NDArray[np.float64] = NO_CHARGES,
) -> float:
    """Rows under half the distances, M and charges, less the most that M can take back: row by row, sorted.

    A charge is on three records: if the first is with both others, these are with one another.
    """
    n, b = len(X), len(block)
    if M.shape != (b, b) or len(np.unique(block)) != b or block.min() < 0 or block.max() >= n:
        raise ValueError("arrays do not fit the records")
    if triples.shape != (len(charges), 3) or (charges < 0).any():
        raise ValueError("a charge has no triple, or is negative")
    if len(triples) and (triples.min() < 0 or triples.max() >= b or not _apart(triples)):
        raise ValueError("a triple is not three records of the block")
    paid = _paid_to_neighbours(X, k)
    S = M.astype(np.float64)
    rows = S.copy()
    for (i, j, l), charge in zip(triples.tolist(), charges.tolist()):  # noqa: E741
        for one, other in ((i, j), (j, i), (i, l), (l, i)):
            rows[one, other] += charge / 2
        rows[j, l] -= charge / 2
        rows[l, j] -= charge / 2
        rows[i, i] -= charge
    sizes = np.arange(k, 2 * k)
    for row, i in enumerate(block):
        cost = np.square(X - X[i]).sum(axis=1) / 2
        cost[block] += rows[row]
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
    value = math.fsum(paid) - taken - 1e-12 * n * (size + charges.sum())
    return max(0.0, float(value - MARGIN * (math.fsum(np.abs(paid)) + abs(taken))))


def _apart(triples: NDArray[np.int64]) -> bool:
    """Whether the three records of each triple are three."""
    i, j, l = triples.T  # noqa: E741
    return bool(((i != j) & (i != l) & (j != l)).all())


def by_shares(X: NDArray[np.float64], k: int, V: NDArray[np.float64], prices: NDArray[np.float64]) -> float:
    """The neighbours' prices of values with weights."""
    if prices.shape != (len(X),) or not each_pays(X, V, k, prices - MARGIN / 2 * np.abs(prices)):
        raise ValueError("a record pays less than its price")
    return _value_of_prices(prices, np.empty(0))


def each_pays(X: NDArray[np.float64], V: NDArray[np.float64], k: int, prices: NDArray[np.float64]) -> bool:
    """Does each record pay its price in any group?

    In the group G, record i pays half of e(i, G) / w(G), where w is no less than a record's weight in any
    column. That is its price p at least, if e(i, c) - 2 p w(c), summed over any k-1..2k-2 others, is not
    below 2 p w(i): so if the least ones are not.
    """
    w = V.max(axis=1)
    if not w.any():
        return not prices.any()
    for i in np.flatnonzero(prices):
        rest = (V * V[i] * np.square(X - X[i])).sum(axis=1) - 2 * prices[i] * w
        rest[i] = np.inf
        sums = np.cumsum(np.sort(np.partition(rest, 2 * k - 3)[: 2 * k - 2]))
        if not sums[k - 2 :].min() >= 2 * prices[i] * w[i]:
            return False
    return bool((prices >= 0).all())


def _fingerprint(X: NDArray[np.float64], k: int, V: NDArray[np.float64] | None = None) -> str:
    """The name of k, the records to eight decimals, and the weights of their values."""
    named = hashlib.sha256(f"{k} {X.shape}".encode())
    for begin in range(0, len(X), STEP):
        named.update((np.round(X[begin : begin + STEP], 8) + 0.0).tobytes())  # no negative zero
    named.update(b"" if V is None else np.ascontiguousarray(V).tobytes())
    return named.hexdigest()


def _total(X: NDArray[np.float64], V: NDArray[np.float64] | None) -> float:
    """Sum of squared distances to the common mean; under weights V column by column."""
    if V is None:
        mean, some = X.mean(axis=0), (X[begin : begin + STEP] for begin in range(0, len(X), STEP))
        return sum((float(np.square(rows - mean).sum()) for rows in some), 0.0)
    columns = [(x, v) for x, v in zip(X.T, V.T) if v.any()]
    return sum((float(v @ np.square(x - (v @ x) / v.sum())) for x, v in columns), 0.0)


def _value_of_prices(prices: NDArray[np.float64], penalties: NDArray[np.float64]) -> float:
    """What feasible prices and penalties prove."""
    value = math.fsum(prices) - MARGIN * math.fsum(np.abs(prices)) - (1 + MARGIN) * math.fsum(penalties)
    return max(0.0, value)


def _paid_to_neighbours(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """What each record pays at least, in a group of the size that suits it best."""
    tree, paid = cKDTree(X), np.empty(len(X))
    for begin in range(0, len(X), STEP):
        rows = tree.indices[begin : begin + STEP]  # they lie together
        distances, _ = tree.query(X[rows], k=list(range(1, 2 * k)), workers=-1)
        near = np.cumsum(np.square(distances), axis=1)
        paid[rows] = np.min([near[:, s - 1] / (2 * s) for s in range(k, 2 * k)], axis=0)
    return paid


PROOFS: dict[str, Callable[..., float]] = {
    "one group": by_one_group,
    "neighbours": by_neighbours,
    "prices": by_prices,
    "blocks": by_blocks,
    "matrix": by_matrix,
    "tree": by_tree,
}


#: Those of records whose values have weights, which they are given too.
WEIGHTED: dict[str, Callable[..., float]] = {
    "one group": by_one_group,
    "neighbours": by_shares,
    "prices": by_prices,
}
