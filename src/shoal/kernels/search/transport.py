"""Records to groups at least total cost, with a least and a greatest group size: a transportation problem.

Its linear program has whole-number optima, and successive shortest paths find one: begin with every record
in its cheapest group, whatever the sizes, then repair one unit of one size after the other along the
cheapest chain of record moves.
"""

import heapq

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def _search(choices, costs, cost, head, after, flow, excess, potential, source, low, high, distance, via):
    """Dijkstra from `source` to the nearest node that lacks a unit; returns that node.

    Nodes 0..g-1 are the groups, g is the outside, which must receive every group's records. `via[node]`
    is the move that leads to the node: (node before, record, choice), record -1 for a step to or from
    the outside. Potentials of the nodes whose distance is final are updated.
    """
    groups = len(head)
    final = np.zeros(groups + 1, np.bool_)
    order = [source]
    distance[:] = np.inf
    distance[source] = 0.0
    heap = [(0.0, source)]
    end = -1
    while len(heap) > 0:
        far, node = heapq.heappop(heap)
        if final[node]:
            continue
        final[node] = True
        order.append(node)
        if excess[node] < 0:
            end = node
            break
        base = far + potential[node]
        if node == groups:
            for g in range(groups):
                if flow[g] > low and not final[g]:
                    reach = max(base - potential[g], far)
                    if reach < distance[g]:
                        distance[g] = reach
                        via[g, 0], via[g, 1], via[g, 2] = node, -1, 0
                        heapq.heappush(heap, (reach, g))
            continue
        if flow[node] < high and not final[groups]:
            reach = max(base - potential[groups], far)
            if reach < distance[groups]:
                distance[groups] = reach
                via[groups, 0], via[groups, 1], via[groups, 2] = node, -1, 0
                heapq.heappush(heap, (reach, groups))
        i = head[node]
        while i >= 0:
            for choice in range(choices.shape[1]):
                g = choices[i, choice]
                if not final[g]:
                    reach = max(base + costs[i, choice] - cost[i] - potential[g], far)
                    if reach < distance[g]:
                        distance[g] = reach
                        via[g, 0], via[g, 1], via[g, 2] = node, i, choice
                        heapq.heappush(heap, (reach, g))
            i = after[i]
    for node in order[1:]:
        potential[node] += distance[node] - distance[end]
    return end


@kernel
def transport(choices, costs, groups, low, high):
    """The group of each record, at least total cost, so that every group has low..high records.

    choices (n x m): the groups each record may go to; costs (n x m): what that costs. There must be an
    assignment that keeps the sizes. Returns labels.
    """
    n = len(choices)
    group = np.empty(n, np.int64)
    cost = np.empty(n)
    size = np.zeros(groups, np.int64)
    head = np.full(groups, -1)
    after = np.full(n, -1)  # the members of a group are chained, both ways
    before = np.full(n, -1)
    for i in range(n):
        best = np.argmin(costs[i])
        group[i] = choices[i, best]
        cost[i] = costs[i, best]
        size[group[i]] += 1
        after[i] = head[group[i]]
        if head[group[i]] >= 0:
            before[head[group[i]]] = i
        head[group[i]] = i
    flow = np.minimum(np.maximum(size, low), high)
    excess = np.empty(groups + 1, np.int64)
    excess[:groups] = size - flow
    excess[groups] = flow.sum() - n
    potential = np.zeros(groups + 1)
    distance = np.empty(groups + 1)
    via = np.empty((groups + 1, 3), np.int64)
    for source in range(groups + 1):
        while excess[source] > 0:
            node = _search(
                choices, costs, cost, head, after, flow, excess, potential, source, low, high, distance, via
            )
            excess[source] -= 1
            excess[node] += 1
            while node != source:
                last, i, choice = via[node]
                if last == groups:
                    flow[node] -= 1
                elif node == groups:
                    flow[last] += 1
                else:
                    if before[i] >= 0:
                        after[before[i]] = after[i]
                    else:
                        head[last] = after[i]
                    if after[i] >= 0:
                        before[after[i]] = before[i]
                    before[i], after[i] = -1, head[node]
                    if head[node] >= 0:
                        before[head[node]] = i
                    head[node] = i
                    group[i], cost[i] = node, costs[i, choice]
                node = last
    return group
