"""mu-Approx: grow a forest whose trees have k or more records, then cut its trees into small ones."""

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.arrays import Floats
from shoal.grouping.registry import method

# Neighbours of each node. Nodes from n on are Steiner nodes: they hold subtrees together, and count as none.
Forest = list[dict[int, None]]


def _grow(X: Floats, k: int) -> Forest:
    """While a record's tree is short of k, an edge leads from the tree's sink to the nearest record outside.

    A tree of s records has s-1 edges, each from another record. The one record without an edge of its own is
    the sink, and names the tree.
    """
    pool = Pool(X)
    forest: Forest = [{} for _ in X]
    tree = list(range(len(X)))  # the sink of each record's tree
    members = [[i] for i in tree]
    for i in np.argsort(np.square(X - X.mean(0)).sum(1), kind="stable"):
        while len(members[sink := tree[i]]) < k:
            v = next(v for v in pool.nearest(sink, k - 1).tolist() if tree[v] != sink)
            forest[sink][v] = forest[v][sink] = None
            for w in members[sink]:
                tree[w] = tree[v]
            members[tree[v]] += members[sink]
    return forest


def _walk(forest: Forest, start: int) -> dict[int, int]:
    """The nodes of a tree, parents first: node -> parent."""
    parent = {start: -1}
    todo = [start]
    while todo:
        u = todo.pop()
        for v in forest[u]:
            if v != parent[u]:
                parent[v] = u
                todo.append(v)
    return parent


def _bundle(forest: Forest, u: int, children: list[int]) -> int:
    """Take these subtrees from u and hang them on a new Steiner node."""
    steiner = len(forest)
    forest.append(dict.fromkeys(children))
    for v in children:
        del forest[u][v], forest[v][u]
        forest[v][steiner] = None
    return steiner


def _split(forest: Forest, u: int, s: int, k: int, n: int) -> list[int]:
    """Cut a tree of s records; one node of each part, or nothing if it cannot be cut."""
    parent = _walk(forest, u)
    size = {v: int(v < n) for v in parent}
    for v in reversed(parent):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    while True:  # move towards the largest subtree v, of f records
        below = {v: size[v] if parent[v] == u else s - size[u] for v in forest[u]}
        v = max(below, key=lambda v: (below[v], -v))
        f = below[v]
        if s - f >= k or (s - f == k - 1 and v < n):
            break
        u = v
    if f >= k and s - f >= k:
        del forest[u][v], forest[v][u]
        return [u, v]
    if f >= k:  # s-f = k-1: v joins u's side, and v's other subtrees stay together
        return [v, _bundle(forest, v, [w for w in forest[v] if w != u])]
    if f == k - 1 and u < n:  # u joins v's side
        return [u, _bundle(forest, u, [w for w in forest[u] if w != v])]
    parts = [u]
    waiting = list(below)
    while s > max(2 * k - 1, 3 * k - 5):
        taken, total = [], 0
        while total < k - (u < n):
            taken.append(waiting.pop())
            total += below[taken[-1]]
        if s - max(total, k) < k:
            break
        if total < k:  # u joins the bundle, and the rest stays together
            parts.append(_bundle(forest, u, waiting))
            break
        parts.append(_bundle(forest, u, taken))
        s -= total
    return parts[1:] and parts


@method(
    title="mu-Approx",
    paper="Domingo-Ferrer, Sebe and Solanas 2008",
    sizes="k..2k-1",
    cost="n log n on clustered data",
)
def mu_approx(X, k):
    """Link records to near ones until every tree has k; cut trees above max(2k-1, 3k-5), then above 2k-1.

    From the summary in later papers and the k-anonymity forest of Aggarwal et al. that it builds on. Ours
    (of some 40 readings the one that lost least on Tarragona and Census): records are linked from the centre
    outwards, and the way to a tree's cut starts at the record farthest from its centroid. The last cut: the
    record farthest from the centroid with its k-1 nearest, and the rest.
    """
    n = len(X)
    forest = _grow(X, k)
    labels = np.full(n, -1)
    groups = 0
    for i in range(n):
        todo = [i] if labels[i] < 0 else []
        while todo:
            records = np.sort([v for v in _walk(forest, todo.pop()) if v < n])
            centred = X[records] - X[records].mean(0)
            far = int(np.argmax(np.square(centred).sum(1)))
            parts = []
            if len(records) > max(2 * k - 1, 3 * k - 5):
                parts = _split(forest, int(records[far]), len(records), k, n)
            todo += parts
            if not parts:
                labels[records] = groups
                groups += 1
                if len(records) > 2 * k - 1:
                    away = np.square(centred - centred[far]).sum(1)
                    labels[records[np.argsort(away, kind="stable")[:k]]] = groups
                    groups += 1
    return labels
