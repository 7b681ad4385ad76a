"""Exact cover at least cost, by depth-first search within what a linear program leaves open."""

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def _fits(members, covered, column):
    clash = False
    for s in range(members.shape[1]):
        clash |= members[column, s] >= 0 and covered[members[column, s]]
    return not clash


@kernel
def _flip(members, covered, column):
    """Cover the members of a column that fits, or uncover them again."""
    for s in range(members.shape[1]):
        if members[column, s] >= 0:
            covered[members[column, s]] = not covered[members[column, s]]


@kernel
def _scarcest(members, reduced, start, holders, covered, room):
    """The record with the fewest columns that fit and cost less than `room`; -1 if all are covered."""
    scarcest = -1
    fewest = len(reduced) + 1
    for r in range(len(covered)):
        if covered[r]:
            continue
        count = 0
        for h in range(start[r], start[r + 1]):
            if count >= fewest or reduced[holders[h]] >= room:
                break
            if _fits(members, covered, holders[h]):
                count += 1
        if count < fewest:
            fewest = count
            scarcest = r
            if count <= 1:
                break
    return scarcest


@kernel
def cover(members, reduced, start, holders, gap, limit, best):
    """Columns that hold each record exactly once and whose reduced costs have the least sum below `gap`.

    Rows of `members` are the columns' records, filled up with -1; reduced costs are not negative. The
    columns that hold record r are holders[start[r]:start[r + 1]], cheapest first. Always branches on the
    record with the fewest columns left. Fills `best` and returns how many columns that is (0: nothing
    is below the gap) and whether the search was finished within `limit` steps.
    """
    records = len(start) - 1
    count = 0
    covered = np.empty(records, np.bool_)
    for r in range(records):
        covered[r] = False
    branch = np.empty(records + 1, np.int64)
    position = np.empty(records + 1, np.int64)
    chosen = np.empty(records + 1, np.int64)
    spent = 0.0
    depth = 0
    branch[0] = _scarcest(members, reduced, start, holders, covered, gap)
    position[0] = start[branch[0]]
    for _ in range(limit):
        end = start[branch[depth] + 1]
        while position[depth] < end and not _fits(members, covered, holders[position[depth]]):
            position[depth] += 1
        back = position[depth] == end or spent + reduced[holders[position[depth]]] >= gap
        if not back:
            c = holders[position[depth]]
            chosen[depth] = c
            spent += reduced[c]
            _flip(members, covered, chosen[depth])
            depth += 1
            r = _scarcest(members, reduced, start, holders, covered, gap - spent)
            if r >= 0:
                branch[depth] = r
                position[depth] = start[r]
            else:
                gap = spent
                count = depth
                for c in range(depth):
                    best[c] = chosen[c]
                back = True
        if back:
            depth -= 1
            if depth < 0:
                return count, True
            spent -= reduced[chosen[depth]]
            _flip(members, covered, chosen[depth])
            position[depth] += 1
    return count, False
