"""Exact cover at least cost, by depth-first search within what a linear program leaves open."""

import numpy as np

from shoal.kernels._jit import kernel


@kernel
def _fits(members, covered, column):
    clash = False
    for s in range(members.shape[1]):
        clash |= members[column, s] >= 0 and covered[members[column, s]]
    return not clash


@kernel
def _mark(members, covered, column, value):
    for s in range(members.shape[1]):
        if members[column, s] >= 0:
            covered[members[column, s]] = value


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
def cover(members, reduced, records, gap, limit):
    """Columns that hold each record 0..records-1 exactly once, their reduced costs summing to least below `gap`.

    Rows of `members` are the columns' records, filled up with -1; reduced costs are not negative. Always
    branches on the record with the fewest columns left. Returns the columns chosen (none: nothing below
    the gap was found) and whether the search was finished within `limit` nodes.
    """
    columns, width = members.shape
    start = np.zeros(records + 1, np.int64)
    for c in range(columns):
        for s in range(width):
            if members[c, s] >= 0:
                start[members[c, s] + 1] += 1
    start = np.cumsum(start)
    holders = np.empty(start[records], np.int64)
    filled = start[:-1].copy()
    for c in np.argsort(reduced, kind="mergesort"):
        for s in range(width):
            if members[c, s] >= 0:
                holders[filled[members[c, s]]] = c
                filled[members[c, s]] += 1
    covered = np.zeros(records, np.bool_)
    branch = np.empty(records + 1, np.int64)
    position = np.empty(records + 1, np.int64)
    chosen = np.empty(records + 1, np.int64)
    best = np.empty(0, np.int64)
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
            _mark(members, covered, c, True)
            depth += 1
            r = _scarcest(members, reduced, start, holders, covered, gap - spent)
            if r >= 0:
                branch[depth] = r
                position[depth] = start[r]
            else:
                gap = spent
                best = chosen[:depth].copy()
                back = True
        if back:
            depth -= 1
            if depth < 0:
                return best, True
            spent -= reduced[chosen[depth]]
            _mark(members, covered, chosen[depth], False)
            position[depth] += 1
    return best, False
