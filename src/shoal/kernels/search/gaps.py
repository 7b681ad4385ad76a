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
def _better(
    P, has, C, counts, after, fails, worth, A, B, x, y, z, told, turns, promised, best, holds, asked, members
):
    """Change of SSE when x of group A and z of group B change places, which changes that of B by `promised`.

    Or `best` if it is not below it, or if that breaks what a group holds. What a group is worth that then
    holds is taken off. y is a member of B. `told` keeps whether A and B hold with a record of each kind in
    the place of x and without one of each: with the sign of yes or no, in which of the `turns` it was asked.
    """
    promised += change(P, has, C, counts, A, x, z)
    if promised - fails[A] * worth[A] - fails[B] * worth[B] >= best:
        return best
    if leaves_one(has, counts, A, x, z) or leaves_one(has, counts, B, z, x):
        return best
    if len(asked.which) == 0 or asked.kinds[x] == asked.kinds[z]:  # both groups hold what they held
        return promised
    for i, g, begin, out, into in ((0, A, x, x, z), (1, B, y, z, x)):
        kind = asked.kinds[z]
        if abs(told[i, kind]) != turns[i]:
            held = holds_after(holds, asked, members, after, begin, out, into)
            told[i, kind] = turns[i] if held else -turns[i]
        if told[i, kind] > 0:
            promised -= fails[g] * worth[g]
        elif not fails[g]:
            return best
    return promised


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
    a group with fewer than k or more than `most` records, or breaks what it holds. `seen` tells after how
    many moves a record was last visited: what has not changed since is not tried again. Returns the number
    of moves so far.
    """
    P, has, C, counts, sizes, labels, after = gs.P, gs.has, gs.C, gs.counts, gs.sizes, gs.labels, gs.after
    changed, fails, worth, nobody = gs.changed, gs.fails, gs.worth, len(labels)
    looked = np.full(len(sizes), -1)
    turns, told = np.zeros(2, np.int64), np.zeros((2, len(asked.kinds)), np.int64)
    for x in range(len(labels)):
        A = labels[x]
        turns[0] += 1
        best = -least
        place = partner = -1
        freed = change(P, has, C, counts, A, x, nobody)
        for near in neighbours[x]:
            y = np.int64(near)
            B = labels[y]
            if A == B or looked[B] == x or max(changed[A], changed[B]) <= seen[x]:
                continue
            looked[B] = x
            turns[1] += 1
            # The SSE of A falls by no more than if only x left it.
            hoped = freed - fails[A] * worth[A] - fails[B] * worth[B]
            z = nobody if sizes[A] > k and sizes[B] < most else y
            while z == nobody or sizes[B] <= min(most, 4 * k):  # a larger group need not take one back
                promised = change(P, has, C, counts, B, z, x)
                if promised + hoped < best:
                    promised = _better(
                        *(P, has, C, counts, after, fails, worth, A, B, x, y, z, told, turns, promised, best),
                        *(holds, asked, members),
                    )
                    if promised < best:
                        best, place, partner = promised, y, z
                if z != nobody and after[z] == y:
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
    return now
