"""Groups that must hold requirements: repairs, and moves that lower the SSE and keep what holds.

The SSE is that of `shoal.kernels.search.gaps`: over the values that are there. Whether a group holds is asked of
kernels with one common signature, `holds(members, count, codes, values, parameters)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import typeof_impl
from numpy.typing import NDArray

from shoal.kernels.neighbours.distance import between
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.search.gaps import change

#: Kernels of different requirements that one search can ask: a fixed number, so that it compiles only once.
SLOTS = 8
_FLOATS = types.float64[::1]
_SIGNATURE = types.boolean(types.int64[::1], types.int64, types.int64[::1], _FLOATS, _FLOATS)


class Kernels(tuple):
    """Kernels of requirements, as a search takes them.

    numba would look at the members of an ordinary tuple at each call, and warn that this is experimental.
    """


@typeof_impl.register(Kernels)
def _type_of_kernels(value, context):
    return types.UniTuple(types.FunctionType(_SIGNATURE), SLOTS)


class Asked(NamedTuple):
    """The requirements, one row each: by which of the kernels, and what it is asked about."""

    which: NDArray[np.int64]
    codes: NDArray[np.int64]
    values: NDArray[np.float64]
    parameters: NDArray[np.float64]


class Groups(NamedTuple):
    """Records in groups. The last row of P and `has` stands for no record: it has no value.

    Members of a group stand in a ring: `after` and `before` tell each record's neighbours in it, `head` one
    member of each group. A group of size 0 is free to be used.
    """

    P: NDArray[np.float64]
    has: NDArray[np.int8]
    C: NDArray[np.float64]  # means of the values that are there
    counts: NDArray[np.int64]  # how many are there, by group and coordinate
    sizes: NDArray[np.int64]
    labels: NDArray[np.int64]
    after: NDArray[np.int64]
    before: NDArray[np.int64]
    head: NDArray[np.int64]
    fails: NDArray[np.int8]  # whether a group does not hold all requirements
    worth: NDArray[np.float64]  # what it may cost to make a group hold that fails
    changed: NDArray[np.int64]  # at which change a group last changed


@lru_cache
def _compiled(function: Callable[..., bool]) -> Any:
    return function if numba.config.DISABLE_JIT else numba.cfunc(_SIGNATURE, cache=True)(function)


def _always(members, count, codes, values, parameters):
    return True


def compiled(functions: Sequence[Callable[..., bool]]) -> Kernels:
    """These functions, compiled on their first use."""
    return Kernels(map(_compiled, [*functions, *[_always] * (SLOTS - len(functions))]))


@kernel
def _hold(holds, asked, members, count):
    for j in range(len(asked.which)):
        answer = holds[asked.which[j]](members, count, asked.codes[j], asked.values[j], asked.parameters[j])
        if not answer:
            return False
    return True


@kernel
def _hold_part(holds, asked, members, line, first, last):
    for t in range(first, last):
        members[t - first] = line[t]
    return _hold(holds, asked, members, last - first)


@kernel
def failing(holds, asked, members, order, starts, fails):
    """Which of the groups order[starts[g] : starts[g + 1]] fail."""
    for g in range(len(fails)):
        fails[g] = not _hold_part(holds, asked, members, order, starts[g], starts[g + 1])


@kernel
def _holds_after(holds, asked, members, gs, g, out, into):
    """Whether group g holds when `out` has left it and `into` has come."""
    nobody = len(gs.labels)
    count, x = 0, gs.head[g]
    for _ in range(gs.sizes[g]):
        if x != out:
            members[count] = x
            count += 1
        x = gs.after[x]
    if into != nobody:
        members[count] = into
        count += 1
    return _hold(holds, asked, members, count)


@kernel
def _exchange(gs, g, x, sign):
    """Means, counts and size of group g after x has come (sign 1) or left (-1)."""
    gs.sizes[g] += sign
    for j in range(gs.P.shape[1]):
        if gs.has[x, j]:
            gs.counts[g, j] += sign
            if gs.counts[g, j] > 0:
                gs.C[g, j] += sign * (gs.P[x, j] - gs.C[g, j]) / gs.counts[g, j]
            else:
                gs.C[g, j] = 0.0


@kernel
def _leave(gs, x):
    A = gs.labels[x]
    gs.head[A] = gs.after[x]
    gs.after[gs.before[x]], gs.before[gs.after[x]] = gs.after[x], gs.before[x]
    _exchange(gs, A, x, -1)


@kernel
def enter(gs, x, B):
    """Put x, which is in no ring, into group B."""
    gs.after[x] = gs.before[x] = x
    if gs.sizes[B] > 0:
        beside = gs.head[B]
        gs.after[x], gs.before[x] = gs.after[beside], beside
        gs.before[gs.after[x]] = gs.after[beside] = x
    gs.head[B] = x
    gs.labels[x] = B
    _exchange(gs, B, x, 1)


@kernel
def fill(gs):
    """All that follows from the labels."""
    for g in range(len(gs.sizes)):
        gs.sizes[g] = 0
        for j in range(gs.P.shape[1]):
            gs.C[g, j] = 0.0
            gs.counts[g, j] = 0
    for x in range(len(gs.labels)):
        enter(gs, x, gs.labels[x])


@kernel
def _merging(gs, A, B):
    """What the SSE gains when two groups become one."""
    total = 0.0
    for j in range(gs.P.shape[1]):
        a, b = gs.counts[A, j], gs.counts[B, j]
        total += a * b / max(a + b, 1) * (gs.C[A, j] - gs.C[B, j]) ** 2
    return total


@kernel
def _nearest_group(holds, asked, members, gs, A, neighbours, holding):
    """The group that is cheapest to merge with A: near its members, or any if there is none near; and its cost.

    With `holding`, groups with which it would then hold go first.
    """
    best, cost, good = -1, np.inf, False
    looked = np.zeros(len(gs.sizes), np.bool_)
    for everywhere in range(2):
        x = gs.head[A]
        for t in range(len(gs.sizes) if everywhere else gs.sizes[A] * neighbours.shape[1]):
            if everywhere:
                B = t
            else:
                B = gs.labels[neighbours[x, t % neighbours.shape[1]]]
                if (t + 1) % neighbours.shape[1] == 0:
                    x = gs.after[x]
            if B == A or looked[B] or gs.sizes[B] == 0:
                continue
            looked[B] = True
            price = _merging(gs, A, B)
            if good and price >= cost:
                continue
            held = False
            if holding:
                count = 0
                for g in (A, B):
                    y = gs.head[g]
                    for _ in range(gs.sizes[g]):
                        members[count] = y
                        count += 1
                        y = gs.after[y]
                held = _hold(holds, asked, members, count)
            if (held and not good) or (held == good and price < cost):
                best, cost, good = B, price, held
        if best >= 0:
            break
    return best, cost


@kernel
def value(holds, asked, members, gs, neighbours):
    """What it is worth to make each group hold that fails: the cost of the cheapest merger."""
    for g in range(len(gs.sizes)):
        gs.worth[g] = 0.0
        if gs.sizes[g] > 0 and gs.fails[g]:
            gs.worth[g] = _nearest_group(holds, asked, members, gs, g, neighbours, False)[1]


@kernel
def merge(holds, asked, members, gs, neighbours, now):
    """Merge each group that fails with the cheapest other one, until none fails or one is left."""
    nobody = len(gs.labels)
    for A in range(len(gs.sizes)):
        while gs.sizes[A] > 0 and gs.fails[A]:
            B = _nearest_group(holds, asked, members, gs, A, neighbours, True)[0]
            if B < 0:
                break
            while gs.sizes[A] > 0:
                x = gs.head[A]
                _leave(gs, x)
                enter(gs, x, B)
            now += 1
            gs.changed[B] = now
            gs.fails[B] = not _holds_after(holds, asked, members, gs, B, nobody, nobody)
            A = B
    return now


@kernel
def _gain(holds, asked, members, gs, A, B, x, z, best):
    """Change of SSE when x of A and z of B change places, less what a group is worth that then holds.

    `best` if it is not below it, or a group that holds would fail.
    """
    P, has, C, counts = gs.P, gs.has, gs.C, gs.counts
    promised = change(P, has, C, counts, B, z, x) + change(P, has, C, counts, A, x, z)
    if promised - gs.worth[A] * gs.fails[A] - gs.worth[B] * gs.fails[B] >= best:
        return best
    for g in (A, B):
        out, into = (x, z) if g == A else (z, x)
        if _holds_after(holds, asked, members, gs, g, out, into):
            promised -= gs.worth[g] * gs.fails[g]
        elif not gs.fails[g]:
            return best
    return min(promised, best)


@kernel
def descend(holds, asked, members, gs, neighbours, k, least, seen, now):
    """Visit each record once and make the move of it that gains most, if more than `least`.

    It may go to the group of one of its neighbours, alone or for a member of that group (of groups up to 4k).
    `seen` tells after how many changes a record was last visited: what has not changed since is not tried.
    """
    nobody = len(gs.labels)
    looked = np.full(len(gs.sizes), -1)
    for x in range(nobody):
        A = gs.labels[x]
        best, place, partner = -least, -1, -1
        for y in neighbours[x]:
            B = gs.labels[y]
            if A == B or looked[B] == x or max(gs.changed[A], gs.changed[B]) <= seen[x]:
                continue
            looked[B] = x
            if gs.sizes[A] > k:
                promised = _gain(holds, asked, members, gs, A, B, x, nobody, best)
                if promised < best:
                    best, place, partner = promised, B, nobody
            z = y
            while gs.sizes[B] <= 4 * k:
                promised = _gain(holds, asked, members, gs, A, B, x, z, best)
                if promised < best:
                    best, place, partner = promised, B, z
                z = gs.after[z]
                if z == y:
                    break
        seen[x] = now
        if place < 0:
            continue
        _leave(gs, x)
        enter(gs, x, place)
        if partner != nobody:
            _leave(gs, partner)
            enter(gs, partner, A)
        now += 1
        for g in (A, place):
            gs.changed[g] = now
            gs.fails[g] = gs.fails[g] and not _holds_after(holds, asked, members, gs, g, nobody, nobody)
    return now


@kernel
def _apart(gs, x, g):
    """Squared distance of x to the mean of group g, over the values that x has."""
    total = 0.0
    for j in range(gs.P.shape[1]):
        total += gs.has[x, j] * (gs.P[x, j] - gs.C[g, j]) ** 2
    return total


@kernel
def _sort(line, key):
    """Put the records of the line in the order of their keys, equal ones by row (Shell's sort)."""
    step = len(line) // 2
    while step > 0:
        for t in range(step, len(line)):
            x, own, at = line[t], key[t], t
            while at >= step and (key[at - step], line[at - step]) > (own, x):
                line[at], key[at] = line[at - step], key[at - step]
                at -= step
            line[at], key[at] = x, own
        step //= 2


@kernel
def _members(gs, g):
    """The members of a group, by row."""
    line = np.empty(gs.sizes[g], np.int64)
    x = gs.head[g]
    for t in range(len(line)):
        line[t] = x
        x = gs.after[x]
    _sort(line, np.zeros(len(line)))
    return line


@kernel
def _spread(gs, line, out, backwards):
    """out[t] = the SSE of the first t records of the line, or of the last."""
    d = gs.P.shape[1]
    mean, count = np.zeros(d), np.zeros(d)
    out[0] = 0.0
    for t in range(len(line)):
        x = line[len(line) - 1 - t] if backwards else line[t]
        out[t + 1] = out[t]
        for j in range(d):
            if gs.has[x, j]:
                count[j] += 1
                difference = gs.P[x, j] - mean[j]
                mean[j] += difference / count[j]
                out[t + 1] += difference * (gs.P[x, j] - mean[j])


@kernel
def split(holds, asked, members, gs, A, free, k):
    """Divide group A into two that hold, at the least SSE of those tried; the rest goes to the group `free`.

    Tried are all cuts of two orders: by the distance to its outermost member x, and from x to the one
    farthest from it.
    """
    line, size, best, cut = _members(gs, A), gs.sizes[A], np.inf, 0
    far = other = line[0]
    for x in line:
        if _apart(gs, x, A) > _apart(gs, far, A):
            far = x
    for x in line:
        if between(gs.P, far, x) > between(gs.P, far, other):
            other = x
    key, gone = np.empty(size), np.empty(size, np.int64)
    front, back = np.empty(size + 1), np.empty(size + 1)
    for both in range(2):
        for t in range(size):
            key[t] = between(gs.P, far, line[t]) - both * between(gs.P, other, line[t])
        _sort(line, key)
        _spread(gs, line, front, False)
        _spread(gs, line, back, True)
        for t in range(k, size - k + 1):
            if front[t] + back[size - t] < best and _hold_part(holds, asked, members, line, 0, t):
                if _hold_part(holds, asked, members, line, t, size):
                    best, cut = front[t] + back[size - t], size - t
                    for i in range(cut):
                        gone[i] = line[t + i]
    for i in range(cut):
        _leave(gs, gone[i])
        enter(gs, gone[i], free)
    gs.fails[free] = 0
    return cut > 0


@kernel
def dissolve(holds, asked, members, gs, A, neighbours, least, now):
    """Send each member of A to the near group where it adds least, if that lowers the SSE; else leave all."""
    gone, size, moved, gain = _members(gs, A), gs.sizes[A], 0, 0.0
    for x in gone:
        gain -= _apart(gs, x, A)
    for x in gone:
        goal, cost = -1, np.inf
        for y in neighbours[x]:
            B = gs.labels[y]
            if B != A and B != goal:
                price = change(gs.P, gs.has, gs.C, gs.counts, B, len(gs.labels), x)
                if price < cost and _holds_after(holds, asked, members, gs, B, len(gs.labels), x):
                    goal, cost = B, price
        gain += cost
        if gain >= -least:
            break
        _leave(gs, x)
        enter(gs, x, goal)
        moved += 1
    for t in range(moved):
        if moved == size:
            gs.changed[gs.labels[gone[t]]] = now
        else:
            _leave(gs, gone[t])
            enter(gs, gone[t], A)
    return moved == size


@kernel
def reshape(holds, asked, members, gs, neighbours, k, least, tried, now):
    """Split or dissolve each group that changed since it was last tried."""
    free = 0
    for A in range(len(gs.sizes)):
        if gs.sizes[A] == 0 or gs.fails[A] or gs.changed[A] <= tried[A]:
            continue
        tried[A] = now
        while free < len(gs.sizes) and gs.sizes[free] > 0:
            free += 1
        if gs.sizes[A] >= 2 * k and free < len(gs.sizes) and split(holds, asked, members, gs, A, free, k):
            now += 1
            gs.changed[A] = gs.changed[free] = now
            tried[free] = -1
            continue
        if dissolve(holds, asked, members, gs, A, neighbours, least, now + 1):
            now += 1
            free = 0
    return now


@kernel
def gather_units(P, rows, codes, units_in_all, k, labels, first):
    """Groups of k records of k distinct units: the record farthest from the mean of all, and those nearest to it.

    They are numbered from `first` on. When fewer than k units are left, their records join the nearest group.
    Returns the first number that is not used.
    """
    d, m, g = P.shape[1], len(rows), first
    free, left = rows.copy(), np.zeros(units_in_all, np.int64)
    units = 0
    for x in rows:
        units += left[codes[x]] == 0
        left[codes[x]] += 1
    near, squares, mean = np.empty(k, np.int64), np.empty(k), np.empty(d)
    while units >= k:
        for j in range(d):
            mean[j] = 0.0
            for t in range(m):
                mean[j] += P[free[t], j]
            mean[j] /= m
        far, most = free[0], -1.0
        for t in range(m):
            square = 0.0
            for j in range(d):
                square += (P[free[t], j] - mean[j]) ** 2
            if square > most:
                far, most = free[t], square
        count = 0
        for t in range(m):
            x = free[t]
            square = between(P, far, x) if x != far else -1.0
            if count == k and square >= squares[k - 1]:
                continue
            at = 0  # its place, or that of its unit, if that has one in the list
            while at < count and codes[near[at]] != codes[x]:
                at += 1
            if at < count and squares[at] <= square:
                continue
            if at == count:
                count = min(count + 1, k)
                at = count - 1
            while at > 0 and squares[at - 1] > square:
                near[at], squares[at] = near[at - 1], squares[at - 1]
                at -= 1
            near[at], squares[at] = x, square
        for x in near:
            labels[x] = g
            left[codes[x]] -= 1
            units -= left[codes[x]] == 0
        kept = 0
        for t in range(m):
            if labels[free[t]] < 0:
                free[kept] = free[t]
                kept += 1
        m, g = kept, g + 1
    centre = np.zeros((g - first, d))
    for x in rows:
        if labels[x] >= 0:
            for j in range(d):
                centre[labels[x] - first, j] += P[x, j] / k
    for t in range(m):
        goal, least = -1, np.inf
        for c in range(g - first):
            square = 0.0
            for j in range(d):
                square += (P[free[t], j] - centre[c, j]) ** 2
            if square < least:
                goal, least = c, square
        labels[free[t]] = first + goal
    return g
