"""The tree methods written once more, plainly, in numpy (see `benchmarks.plain`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain import Labels, finish, gathered_group, squares


def prim(X: NDArray) -> NDArray[np.int64]:
    """The minimum spanning tree by Prim's method, longest edge first."""
    n = len(X)
    outside = np.arange(n) > 0
    distance, inside = squares(X, X[0]), np.zeros(n, np.int64)
    edges = []
    for _ in range(n - 1):
        v = int(np.argmin(np.where(outside, distance, np.inf)))
        edges.append((distance[v], *sorted((inside[v], v))))
        outside[v] = False
        from_v = squares(X, X[v])
        nearer = from_v < distance
        distance[nearer], inside[nearer] = from_v[nearer], v
    edges.sort(key=lambda edge: (-edge[0], *edge[1:]))
    return np.array([edge[1:] for edge in edges], np.int64).reshape(-1, 2)


def cut(X: NDArray, k: int) -> tuple[list[int], list[int]]:
    """The paper's phases 1 to 3: each record's root, and the sequence in which records were classified."""
    edges = [tuple(edge) for edge in prim(X).tolist()]
    around: list[list[int]] = [[] for _ in X]
    for a, b in edges:
        around[a].append(b)
        around[b].append(a)
    parent, walk = {0: -1}, [0]
    for u in walk:
        for v in around[u]:
            if v != parent[u]:
                parent[v] = u
                walk.append(v)
    count = [1] * len(X)
    for u in walk[:0:-1]:
        count[parent[u]] += count[u]
    for a, b in edges:
        org = a if parent[a] == b else b
        root = org
        while parent[root] >= 0:
            root = parent[root]
        if count[org] >= k and count[root] - count[org] >= k:
            u, parent[org] = parent[org], -1
            while u >= 0:
                count[u] -= count[org]
                u = parent[u]
    group, sequence = [-1] * len(X), []
    for p in range(len(X)):
        path = [p]
        while group[path[-1]] < 0 and parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        top = path[-1]
        for v in path[::-1]:
            if group[v] < 0:
                group[v] = group[top] if group[top] >= 0 else top
                sequence.append(v)
    return group, sequence


def mst(X: NDArray, k: int) -> Labels:
    return np.array(cut(X, k)[0])


def diameter(X: NDArray, k: int) -> Labels:
    """D on a few records: all pairs, every time."""
    free, groups = np.arange(len(X)), []
    while len(free) >= 2 * k:
        away = np.array([squares(X[free], X[i]) for i in free])
        for p in free[list(np.unravel_index(np.argmax(away), away.shape))]:
            if p in free:
                groups.append(gathered_group(X, free, int(p), k))
                free = np.setdiff1d(free, groups[-1])
    if len(free) >= k:
        groups.append(free.tolist())
        free = free[:0]
    return finish(X, groups, free)


def centroid(X: NDArray, k: int) -> Labels:
    free, groups = np.arange(len(X)), []
    while len(free) >= k:
        extreme = int(free[np.argmax(squares(X[free], X[free].mean(0)))])
        groups.append(gathered_group(X, free, extreme, k))
        free = np.setdiff1d(free, groups[-1])
    return finish(X, groups, free)


def refined(X: NDArray, k: int, split: Callable[[NDArray, int], Labels]) -> Labels:
    group, sequence = cut(X, k)
    labels = np.array(group)
    for root in np.unique(labels):
        members = np.array([v for v in sequence if group[v] == root])
        if len(members) >= 2 * k:
            labels[members] = labels.max() + 1 + split(X[members], k)
    return labels


def costs(means: NDArray, sizes: NDArray, i: int, k: int) -> NDArray:
    """SSE that uniting group i with each other group adds; infinite where both have k."""
    cost = squares(means, means[i]) * (sizes * sizes[i] / (sizes + sizes[i]))
    cost[(sizes >= k) & (sizes[i] >= k)] = np.inf
    cost[i] = np.inf
    return cost


def k_ward(X: NDArray, k: int) -> Labels:
    """All pairs of groups looked at before every union."""
    labels = np.full(len(X), -1)
    todo = [np.arange(len(X))]
    while todo:
        records = todo.pop()
        if len(records) < 2 * k:
            labels[records] = labels.max() + 1
            continue
        Y = X[records]
        away = np.array([squares(Y, y) for y in Y])
        a, b = map(int, np.unravel_index(np.argmax(away), away.shape))
        near_a = [i for i in np.argsort(away[a], kind="stable") if i not in (a, b)][: k - 1]
        near_b = [i for i in np.argsort(away[b], kind="stable") if i not in (a, b, *near_a)][: k - 1]
        groups = [[a, *near_a], [b, *near_b]]
        groups = sorted(
            [*groups, *([i] for i in range(len(Y)) if i not in (*groups[0], *groups[1]))], key=min
        )
        means = np.array([Y[group].mean(0) for group in groups])
        sizes = np.array([len(group) for group in groups])
        cost = np.array([costs(means, sizes, i, k) for i in range(len(groups))])
        while min(map(len, groups)) < k:
            i, j = sorted(map(int, np.unravel_index(np.argmin(cost), cost.shape)))
            groups[i] = groups[i] + groups.pop(j)
            means[i], sizes[i] = Y[groups[i]].mean(0), len(groups[i])
            means, sizes = np.delete(means, j, 0), np.delete(sizes, j)
            cost = np.delete(np.delete(cost, j, 0), j, 1)
            cost[i] = cost[:, i] = costs(means, sizes, i, k)
        todo += [records[np.sort(group)] for group in groups]
    return labels


def mu_approx(X: NDArray, k: int) -> Labels:
    """Nearest records by full sorts; subtrees walked anew whenever their size is asked for."""
    n = len(X)
    limit = max(2 * k - 1, 3 * k - 5)
    around: list[dict[int, None]] = [{} for _ in X]  # Steiner nodes follow the records
    tree = [{i} for i in range(n)]
    linked: set[int] = set()
    for i in np.argsort(squares(X, X.mean(0)), kind="stable"):
        while len(tree[i]) < k:
            u = next(w for w in tree[i] if w not in linked)
            v = next(int(w) for w in np.argsort(squares(X, X[u]), kind="stable") if w not in tree[i])
            around[u][v] = around[v][u] = None
            linked.add(u)
            whole = tree[u] | tree[v]
            for w in whole:
                tree[w] = whole

    def side(v: int, u: int = -1) -> list[int]:
        """Nodes that hang on v, seen from u."""
        return [v, *(x for w in around[v] if w != u for x in side(w, v))]

    def records(nodes: list[int]) -> list[int]:
        return sorted(w for w in nodes if w < n)

    def rehang(u: int, children: list[int]) -> int:
        around.append(dict.fromkeys(children))
        for v in children:
            del around[u][v], around[v][u]
            around[v][len(around) - 1] = None
        return len(around) - 1

    def split(u: int, s: int) -> list[int]:
        while True:
            below = {v: len(records(side(v, u))) for v in around[u]}
            v = max(below, key=lambda v: (below[v], -v))
            f = below[v]
            if s - f >= k or (s - f == k - 1 and v < n):
                break
            u = v
        if f >= k and s - f >= k:
            del around[u][v], around[v][u]
            return [u, v]
        if f >= k:
            return [v, rehang(v, [w for w in around[v] if w != u])]
        if f == k - 1 and u < n:
            return [u, rehang(u, [w for w in around[u] if w != v])]
        parts, waiting = [u], list(below)
        while s > limit:
            taken = []
            while sum(below[w] for w in taken) < k - (u < n):
                taken.append(waiting.pop())
            total = sum(below[w] for w in taken)
            if s - max(total, k) < k:
                break
            parts.append(rehang(u, waiting if total < k else taken))
            if total < k:
                break
            s -= total
        return parts if len(parts) > 1 else []

    labels = np.full(n, -1)
    for i in range(n):
        todo = [i] if labels[i] < 0 else []
        while todo:
            group = np.array(records(side(todo.pop())))
            far = int(group[np.argmax(squares(X[group], X[group].mean(0)))])
            parts = split(far, len(group)) if len(group) > limit else []
            todo += parts
            if not parts:
                labels[group] = labels.max() + 1
                if len(group) >= 2 * k:
                    near = np.argsort(squares(X[group], X[far]), kind="stable")[:k]
                    labels[group[near]] = labels.max() + 1
    return labels


PLAIN: dict[str, Callable[[NDArray, int], Labels]] = {
    "mst": mst,
    "mst_d": lambda X, k: refined(X, k, diameter),
    "mst_c": lambda X, k: refined(X, k, centroid),
    "k_ward": k_ward,
    "mu_approx": mu_approx,
}
