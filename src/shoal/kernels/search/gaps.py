"""Moves that lower the SSE over the values that are there, and break no requirement that a group holds.

Column by column that SSE is the sum of (x - y)^2 over all pairs of a group that both have the column, divided
by how many have it. Gaps do not enter it. The members of a
group stand in a ring: `after` and `before` tell each record's neighbours in it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.required import holds_after

#: What is told of a group, as long as it does not change.
NOT_ASKED, HOLDS, FAILS = 0, 1, 2


class Groups(NamedTuple):
    """Records in groups. The last row of P and `has` stands for no record: it has no value."""

    P: Floats
    has: NDArray[np.int8]
    C: Floats  # means of the values that are there, and how many they are
    counts: Ints
    sizes: Ints
    labels: Ints
    after: Ints
    before: Ints
    changed: Ints  # at which move a group last changed; below 0 if it did not
    fails: Bools  # the groups that do not hold what is required
    worth: Floats  # the loss at which it pays to make such a group hold
    told: NDArray[np.int8]  # whether it holds with a record of one kind in the place of one of another


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
def _swap(P, has, C, counts, A, B, x, z, whole, shares):
    """Change of the SSE when x of group A and z of group B change places.

    Where records have no gap (`whole`) that is a short sum; `shares` is 1 / size of A + 1 / size of B.
    """
    if not whole or z == len(P) - 1:
        return change(P, has, C, counts, B, z, x) + change(P, has, C, counts, A, x, z)
    along = away = 0.0
    for j in range(P.shape[1]):
        apart = P[z, j] - P[x, j]
        along += apart * (C[B, j] - C[A, j])
        away += apart * apart
    return 2 * along - away * shares


@kernel
def _breaks(told, fails, kinds, A, B, x, z):
    """Whether A or B is known to fail when x of A and z of B change places, and does not fail now."""
    if len(told) == 0:
        return False
    in_A, in_B = told[A, kinds[x], kinds[z]], told[B, kinds[z], kinds[x]]
    return (in_A == FAILS and not fails[A]) or (in_B == FAILS and not fails[B])


@kernel
def _gain(gs, A, B, x, y, z, holds, asked, members):
    """What the groups are worth that hold when x of A and z of B change places; -inf if one breaks.

    y is a member of B.
    """
    gain, kinds, kept = 0.0, asked.kinds, len(gs.told) > 0
    for g, begin, out, into in ((A, x, x, z), (B, y, z, x)):
        answer = gs.told[g, kinds[out], kinds[into]] if kept else NOT_ASKED
        if answer == NOT_ASKED:
            answer = HOLDS if holds_after(holds, asked, members, gs.after, begin, out, into) else FAILS
            if kept:
                gs.told[g, kinds[out], kinds[into]] = answer
        if answer == HOLDS:
            gain += gs.fails[g] * gs.worth[g]
        elif not gs.fails[g]:
            return -np.inf
    return gain


@kernel
def _forget(told, g):
    """Group g has changed: what was told of it no longer holds."""
    for i in range(told.shape[1] if len(told) > 0 else 0):
        for j in range(told.shape[2]):
            told[g, i, j] = NOT_ASKED


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
def _transfer(gs, x, B, beside):
    """Move x to group B: the means too."""
    A, nobody = gs.labels[x], len(gs.labels)
    _exchange(gs.P, gs.has, gs.C, gs.counts, A, x, nobody)
    _exchange(gs.P, gs.has, gs.C, gs.counts, B, nobody, x)
    _move(x, B, beside, gs.labels, gs.sizes, gs.after, gs.before)


@kernel
def descend(gs, neighbours, k, most, least, seen, now, holds, asked, members):
    """Visit each record once and make the move of it that lowers the SSE most, if by more than `least`.

    It may go to the group of one of its neighbours, alone or for a member of that group, unless that leaves
    a group with fewer than k or more than `most` records, or breaks what it holds. What a group is worth that
    then holds is taken off. `seen` tells after how many moves a record was last visited: what has not
    changed since is not tried again. Returns the number of moves so far.
    """
    P, has, C, counts, sizes, labels, after = gs.P, gs.has, gs.C, gs.counts, gs.sizes, gs.labels, gs.after
    changed, fails, worth, told, nobody = gs.changed, gs.fails, gs.worth, gs.told, len(labels)
    looked, rules, kinds, whole = np.full(len(sizes), -1), len(asked.which) > 0, asked.kinds, True
    for x in range(nobody):
        for j in range(P.shape[1]):
            whole &= has[x, j] > 0
    for x in range(nobody):
        A = labels[x]
        best = -least
        place = partner = -1
        for near in neighbours[x]:
            y = np.int64(near)
            B = labels[y]
            if A == B or looked[B] == x or max(changed[A], changed[B]) <= seen[x]:
                continue
            looked[B] = x
            owed, shares = fails[A] * worth[A] + fails[B] * worth[B], 1 / sizes[A] + 1 / sizes[B]
            z, last = nobody if sizes[A] > k and sizes[B] < most else y, gs.before[y]
            if sizes[B] > min(most, 4 * k):  # a larger group need not take one back
                last = nobody
            while z == nobody or last != nobody:
                alike = not rules or kinds[x] == kinds[z]  # then both groups hold what they held
                if alike or not _breaks(told, fails, kinds, A, B, x, z):
                    promised = _swap(P, has, C, counts, A, B, x, z, whole, shares)
                    if promised - owed < best and not (
                        leaves_one(has, counts, A, x, z) or leaves_one(has, counts, B, z, x)
                    ):
                        if not alike:
                            promised -= _gain(gs, A, B, x, y, z, holds, asked, members)
                        if promised < best:
                            best, place, partner = promised, y, z
                if z == last:
                    break
                z = y if z == nobody else after[z]
        seen[x] = now
        if place < 0:
            continue
        B = labels[place]
        _exchange(P, has, C, counts, A, x, partner)
        _exchange(P, has, C, counts, B, partner, x)
        beside = gs.before[x]
        _move(x, B, place, labels, sizes, after, gs.before)
        if partner != nobody:
            _move(partner, A, beside, labels, sizes, after, gs.before)
        now += 1
        changed[A] = changed[B] = now
        _forget(told, A)
        _forget(told, B)
        if fails[A]:
            fails[A] = not holds_after(holds, asked, members, after, beside, nobody, nobody)
        if fails[B]:
            fails[B] = not holds_after(holds, asked, members, after, x, nobody, nobody)
    return now


@kernel
def dissolve(gs, neighbours, least, since, now, holds, asked, members):
    """Visit each group that changed after `since` moves, and send its members where each adds least.

    If the SSE does not fall by that, or a member finds no group that still holds with it, all return.
    Returns the number of moves so far.
    """
    nobody = len(gs.labels)
    tried = gs.changed < since
    for first in range(nobody):
        A = gs.labels[first]
        if tried[A]:
            continue
        tried[A] = True
        gone, moved, gain = np.empty(gs.sizes[A], np.int64), 0, 0.0
        x = first
        for t in range(len(gone)):
            gone[t] = x
            for j in range(gs.P.shape[1]):
                gain -= gs.has[x, j] * (gs.P[x, j] - gs.C[A, j]) ** 2
            x = gs.after[x]
        for x in gone:
            goal, beside, cost = -1, -1, np.inf
            for y in neighbours[x]:
                B = gs.labels[y]
                if B != A and goal != B:
                    price = change(gs.P, gs.has, gs.C, gs.counts, B, nobody, x)
                    if price < cost and holds_after(holds, asked, members, gs.after, y, nobody, x):
                        goal, beside, cost = B, y, price
            gain += cost
            if gain >= -least:
                break
            _transfer(gs, x, goal, beside)
            moved += 1
        for t in range(moved):
            if moved < len(gone):
                _transfer(gs, gone[t], A, gone[-1])
            else:
                now += 1
                gs.changed[gs.labels[gone[t]]] = now
                _forget(gs.told, gs.labels[gone[t]])
    return now
