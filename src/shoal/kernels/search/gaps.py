"""Groups of records with gaps: moves that lower the SSE over the values that are there.

Column by column that SSE is the sum of (x - y)^2 over all pairs of a group that both have the column, divided
by how many have it. Gaps do not enter it. The members of a
group stand in a ring: `after` and `before` tell each record's neighbours in it.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def means(P, has, labels, C, counts):
    """Bring the means C of the values that are there, and their counts, up to date with the labels."""
    shifts = np.zeros(C.shape)
    counts[:] = 0
    for x in range(len(labels)):
        g = labels[x]
        for j in range(P.shape[1]):
            if has[x, j]:
                counts[g, j] += 1
                shifts[g, j] += P[x, j] - C[g, j]
    for g in range(len(C)):
        for j in range(P.shape[1]):
            C[g, j] += shifts[g, j] / max(counts[g, j], 1)


@kernel
def change(P, has, C, counts, g, out, into):
    """Change of the SSE of group g when `out` leaves it and `into` comes."""
    total = 0.0
    for j in range(P.shape[1]):
        left = has[out, j] * (P[out, j] - C[g, j])
        came = has[into, j] * (P[into, j] - C[g, j])
        count = counts[g, j] - has[out, j] + has[into, j]
        total += came * came - left * left - (came - left) * (came - left) / max(count, 1)
    return total


@kernel
def leaves_one(has, counts, g, out, into):
    """Whether a column of group g would then come to rest on one value: a mean of one value is that value."""
    for j in range(has.shape[1]):
        if counts[g, j] != 1 and counts[g, j] - has[out, j] + has[into, j] == 1:
            return True
    return False


@kernel
def _better(P, has, C, counts, A, B, x, z, freed, best):
    """Change of SSE when x of group A and z of group B change places; `best` if not below it, or forbidden.

    The SSE of A falls by no more than if only x left it, which changes it by `freed`.
    """
    promised = change(P, has, C, counts, B, z, x)
    if promised + freed < best:
        promised += change(P, has, C, counts, A, x, z)
        if promised < best and not leaves_one(has, counts, A, x, z) and not leaves_one(has, counts, B, z, x):
            return promised
    return best


@kernel
def _exchange(P, has, C, counts, g, out, into):
    """Means and counts of group g after `out` has left it and `into` has come."""
    for j in range(P.shape[1]):
        if has[into, j]:
            counts[g, j] += 1
            C[g, j] += (P[into, j] - C[g, j]) / counts[g, j]
        if has[out, j]:
            counts[g, j] -= 1
            if counts[g, j] > 0:
                C[g, j] += (C[g, j] - P[out, j]) / counts[g, j]


@kernel
def _move(x, B, beside, labels, sizes, after, before):
    """Put x into group B, beside one of its members in the ring."""
    after[before[x]], before[after[x]] = after[x], before[x]
    sizes[labels[x]] -= 1
    sizes[B] += 1
    labels[x] = B
    after[x], before[x] = after[beside], beside
    before[after[x]] = after[beside] = x


@kernel
def rings(labels, groups, after, before):
    """Each group's members in a ring, in order of their rows; the size of each group."""
    sizes = np.zeros(groups, np.int64)
    last = np.empty(groups, np.int64)
    for x in range(len(labels)):
        g = labels[x]
        after[x] = before[x] = x
        if sizes[g] > 0:
            beside = last[g]
            after[x], before[x] = after[beside], beside
            before[after[x]] = after[beside] = x
        last[g] = x
        sizes[g] += 1
    return sizes


@kernel
def descend(P, has, C, counts, sizes, labels, after, before, neighbours, k, least, changed, seen, now):
    """Visit each record once and make the move of it that lowers the SSE most, if by more than `least`.

    It may go to the group of one of its neighbours, alone or for a member of that group, unless that leaves
    a group with fewer than k or more than 2k-1 records. `changed` tells at which move a group last changed,
    `seen` after how many moves a record was last visited: what has not changed since is not tried again.
    The last row of P and `has` stands for no record: it has no value. Returns the number of moves so far.
    """
    nobody = len(labels)
    looked = np.full(len(sizes), -1)
    for x in range(len(labels)):
        A = labels[x]
        best = -least
        place = partner = -1
        freed = change(P, has, C, counts, A, x, nobody)
        for y in neighbours[x]:
            B = labels[y]
            if A == B or looked[B] == x or max(changed[A], changed[B]) <= seen[x]:
                continue
            looked[B] = x
            if sizes[A] > k and sizes[B] < 2 * k - 1:
                promised = _better(P, has, C, counts, A, B, x, nobody, freed, best)
                if promised < best:
                    best, place, partner = promised, y, nobody
            z = y
            while sizes[B] < 2 * k:  # a larger group need not take one back
                promised = _better(P, has, C, counts, A, B, x, z, freed, best)
                if promised < best:
                    best, place, partner = promised, y, z
                z = after[z]
                if z == y:
                    break
        seen[x] = now
        if place < 0:
            continue
        B = labels[place]
        _exchange(P, has, C, counts, A, x, partner)
        _exchange(P, has, C, counts, B, partner, x)
        beside = before[x]
        _move(x, B, place, labels, sizes, after, before)
        if partner != nobody:
            _move(partner, A, beside, labels, sizes, after, before)
        now += 1
        changed[A] = changed[B] = now
    return now
