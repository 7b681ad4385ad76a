"""Records to groups at least total cost, with a least and a greatest group size: a transportation problem.

Its linear program has whole-number optima. Begin with every record in its cheapest group, whatever the sizes;
then repair the sizes record by record, each along the cheapest chain of moves: from a group that is too
large to the nearest that lacks a record or has room for one, then to each group that is too small from the
nearest that can spare one. Every such search ends near its group. Chains are shortest paths under prices of
the groups, and by these prices no other move gains: so the last assignment is the cheapest.
"""

import heapq

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def _search(choices, costs, lists, state, source, limit, distance, via):
    """Dijkstra from a group to the nearest node that ends its chain; returns that node.

    Nodes 0..g-1 are the groups, g is the outside, which receives every group's records: `state` holds each
    group's flow to it, what each node has too many (below 0: lacks), and the prices. If the source has too
    many, records move away from it, and groups below `limit` lead outside; else records move towards it, and
    groups above `limit` have one from outside. `via[node]` is (node before, record that moves, choice).
    """
    listed, begin, group, cost, head, after = lists
    flow, excess, price = state
    groups, m = len(head), choices.shape[1]
    sign = 1.0 if excess[source] > 0 else -1.0
    distance[source] = 0.0
    heap, seen, final = [(0.0, source)], [source], [source]
    node, far = source, 0.0
    while len(heap) > 0:
        far, node = heapq.heappop(heap)
        if far > distance[node]:
            continue
        if node == groups or (sign > 0 and excess[node] < 0):
            break
        final.append(node)
        base = far + sign * price[node]
        i = head[node] if sign > 0 else begin[node]
        while i >= 0 if sign > 0 else i < begin[node + 1]:
            record = i if sign > 0 else listed[i] // m
            for choice in range(m) if sign > 0 else range(listed[i] % m, listed[i] % m + 1):
                g = choices[record, choice] if sign > 0 else group[record]
                reach = max(base + costs[record, choice] - cost[record] - sign * price[g], far)
                if reach < distance[g]:
                    if distance[g] == np.inf:
                        seen.append(g)
                    distance[g] = reach
                    via[g, 0], via[g, 1], via[g, 2] = node, record, choice
                    heapq.heappush(heap, (reach, g))
            i = after[i] if sign > 0 else i + 1
        if sign * flow[node] < sign * limit:
            reach = max(base - sign * price[groups], far)
            if reach < distance[groups]:
                seen.append(groups)
                distance[groups] = reach
                via[groups, 0], via[groups, 1] = node, -1
                heapq.heappush(heap, (reach, groups))
    for other in final[1:]:
        price[other] += sign * (distance[other] - far)
    for other in seen:
        distance[other] = np.inf
    return node


@kernel
def _move(i, source, target, head, after, before):
    """The members of a group are chained, both ways: take i out of one chain, put it first into another."""
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[source] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]
    before[i], after[i] = -1, head[target]
    if head[target] >= 0:
        before[head[target]] = i
    head[target] = i


@kernel
def transport(choices, costs, groups, low, high):
    """The group of each record, at least total cost, so that every group has low..high records.

    choices (n x m): the groups each record may go to; costs (n x m): what that costs. There must be an
    assignment that keeps the sizes. Returns labels.
    """
    n, m = choices.shape
    group, cost = np.empty(n, np.int64), np.empty(n)
    size = np.zeros(groups, np.int64)
    head, after, before = np.full(groups, -1), np.full(n, -1), np.full(n, -1)
    begin = np.zeros(groups + 2, np.int64)  # where the choices of each group begin in `listed`
    for i in range(n):
        best = np.argmin(costs[i])
        group[i], cost[i] = choices[i, best], costs[i, best]
        size[group[i]] += 1
        after[i] = head[group[i]]
        if head[group[i]] >= 0:
            before[head[group[i]]] = i
        head[group[i]] = i
        for choice in range(m):
            begin[choices[i, choice] + 2] += 1
    begin = np.cumsum(begin)
    listed = np.empty(n * m, np.int64)
    for i in range(n):
        for choice in range(m):
            g = choices[i, choice]
            listed[begin[g + 1]] = i * m + choice
            begin[g + 1] += 1
    flow = np.minimum(np.maximum(size, low), high)
    excess = np.append(size - flow, flow.sum() - n)
    price = np.zeros(groups + 1)
    distance = np.full(groups + 1, np.inf)
    via = np.empty((groups + 1, 3), np.int64)
    for sign, limit in ((1, high), (-1, low)):  # first the groups that are too large, then the small ones
        for source in range(groups):
            while sign * excess[source] > 0:
                state = flow, excess, price
                lists = listed, begin, group, cost, head, after
                node = _search(choices, costs, lists, state, source, limit, distance, via)
                excess[source] -= sign
                excess[node] += sign
                while node != source:
                    last, i, choice = via[node]
                    if node == groups:
                        flow[last] += sign
                    else:
                        left, to = (last, node) if sign > 0 else (node, last)
                        _move(i, left, to, head, after, before)
                        group[i], cost[i] = to, costs[i, choice]
                    node = last
    return group
