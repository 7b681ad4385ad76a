"""Row by row work of the semidefinite bound."""

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.pricing import insert


@kernel
def row_bound(i, row, outside, k, smallest):
    """The least (1/s)(row[i] + the s-1 smallest others) over s = k..2k-1, others from row and outside."""
    most = 2 * k - 2
    smallest[:most] = np.inf
    for j in range(len(row)):
        if j != i:
            insert(smallest, most, row[j])
    for value in outside:
        insert(smallest, most, value)
    best = np.inf
    total = row[i]
    for s in range(2, 2 * k):
        total += smallest[s - 2]
        if s >= k:
            best = min(best, total / s)
    return best


@kernel
def row_bounds(half, outside, M, k):
    """row_bound of every row of half + M."""
    n = len(half)
    answer = np.empty(n)
    smallest = np.empty(2 * k)
    for i in range(n):
        answer[i] = row_bound(i, half[i] + M[i], outside[i], k, smallest)
    return answer


@kernel
def row_step(half, outside, M, Z, rho, k, first, last, Y):
    """Rows first..last of Y: cheap under costs half + M, near to Z, with entries 0..1/k and sum 1.

    Each entry is Z - (cost - level)/rho, clipped; an outside record is taken whole if it costs less than
    the level. The level that makes the sum 1 is found by halving.
    """
    n = len(half)
    top = 1.0 / k
    wish = np.empty(n)
    for i in range(first, last):
        low, high = np.inf, -np.inf
        for j in range(n):
            wish[j] = Z[i, j] - (half[i, j] + M[i, j]) / rho
            low = min(low, -wish[j] * rho)
            high = max(high, (top - wish[j]) * rho)
        for _ in range(40):
            level = 0.5 * (low + high)
            total = 0.0
            for j in range(n):
                total += min(top, max(0.0, wish[j] + level / rho))
            for j in range(outside.shape[1]):
                if outside[i, j] < level:
                    total += top
            if total > 1.0:
                high = level
            else:
                low = level
        for j in range(n):
            Y[i, j] = min(top, max(0.0, wish[j] + low / rho))


@kernel
def broken_triples(Z, least, each):
    """Triples (i, j, l), j < l, with Z_ij + Z_il - Z_jl - Z_ii above `least`: the worst `each` of every i."""
    n = len(Z)
    triples = np.empty((n * each, 3), np.int64)
    count = 0
    near = np.empty(n, np.int64)
    worst = np.empty(each)
    for i in range(n):
        m = 0
        for j in range(n):
            if j != i and Z[i, j] > least:
                near[m] = j
                m += 1
        kept = 0
        for a in range(m):
            for b in range(a + 1, m):
                j, l = near[a], near[b]  # noqa: E741
                broken = Z[i, j] + Z[i, l] - Z[j, l] - Z[i, i]
                if broken <= least or (kept == each and broken <= worst[each - 1]):
                    continue
                place = min(kept, each - 1)
                kept = min(kept + 1, each)
                while place > 0 and worst[place - 1] < broken:
                    worst[place] = worst[place - 1]
                    triples[count + place] = triples[count + place - 1]
                    place -= 1
                worst[place] = broken
                triples[count + place, 0], triples[count + place, 1], triples[count + place, 2] = i, j, l
        count += kept
    return triples[:count]
