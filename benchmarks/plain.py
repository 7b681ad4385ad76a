"""Every method written once more, plainly, in numpy: the measure of speed, and the tests' slow reference.

Nothing here is clever: full distance computations, full sorts, one record at a time. `PLAIN` maps a
method's key to such a function `f(X, k) -> labels`, which must give the very partition that the
registered method gives (with its default parameters).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


def squares(X: NDArray, point: NDArray) -> NDArray:
    """Squared distances of all rows to a point."""
    return np.square(X - point).sum(1)


def sse(X: NDArray) -> float:
    """Sum of squared distances to the mean; differences from one row, so that equal rows give exactly 0."""
    D = X - X[0]
    return float(np.square(D - D.mean(0)).sum(0).sum())


def farthest(X: NDArray, free: NDArray, point: NDArray) -> int:
    return int(free[np.argmax(squares(X[free], point))])


def nearest(X: NDArray, free: NDArray, r: int, count: int) -> list[int]:
    """The records of `free`, other than r, that are nearest to r."""
    others = free[free != r]
    return others[np.argsort(squares(X[others], X[r]), kind="stable")[:count]].tolist()


def knn_group(X: NDArray, free: NDArray, r: int, k: int) -> list[int]:
    return [r, *nearest(X, free, r, k - 1)]


def gathered_group(X: NDArray, free: NDArray, r: int, k: int) -> list[int]:
    """Grown one by one: always the record nearest to the centroid of those taken (paper 001)."""
    group = [r]
    while len(group) < k:
        others = np.setdiff1d(free, group)
        group.append(int(others[np.argmin(squares(X[others], X[group].mean(0)))]))
    return group


def finish(X: NDArray, groups: list[list[int]], free: NDArray) -> Labels:
    """Labels of the groups; records left over join the group of the nearest centroid."""
    labels = np.full(len(X), -1)
    centroids = np.array([X[group].mean(0) for group in groups])
    for g, group in enumerate(groups):
        labels[group] = g
    for r in free:
        labels[r] = np.argmin(squares(centroids, X[r]))
    return labels


def rest(free: NDArray, *groups: list[int]) -> NDArray:
    """The free records without those of the groups."""
    return np.setdiff1d(free, [r for group in groups for r in group])


def mdav_pairs(X: NDArray, k: int, least: int) -> tuple[list[list[int]], NDArray]:
    groups, free = [], np.arange(len(X))
    while len(free) >= least:
        r = farthest(X, free, X[free].mean(0))
        s = farthest(X, free, X[r])
        for seed in (r, s):
            if seed in free:
                groups.append(knn_group(X, free, seed, k))
                free = rest(free, groups[-1])
    return groups, free


def mdav(X: NDArray, k: int) -> Labels:
    groups, free = mdav_pairs(X, k, 2 * k)
    if len(free) >= k:
        groups, free = [*groups, free.tolist()], free[:0]
    return finish(X, groups, free)


def mdav1(X: NDArray, k: int) -> Labels:
    groups, free = mdav_pairs(X, k, 2 * k)
    if len(free) >= k:
        groups.append(knn_group(X, free, farthest(X, free, X[free].mean(0)), k))
    return finish(X, groups, rest(free, *groups))


def mdav_generic(X: NDArray, k: int) -> Labels:
    groups, free = mdav_pairs(X, k, 3 * k)
    if len(free) >= 2 * k:
        groups.append(knn_group(X, free, farthest(X, free, X[free].mean(0)), k))
    return finish(X, [*groups, rest(free, *groups).tolist()], free[:0])


def farthest_pair(X: NDArray, k: int, make_group: Callable) -> Labels:
    groups, free = [], np.arange(len(X))
    while len(free) >= 2 * k:
        reach = [squares(X[free], X[r]) for r in free]
        a = int(np.argmax([distances.max() for distances in reach]))
        for seed in (free[a], free[np.argmax(reach[a])]):
            if seed in free:
                groups.append(make_group(X, free, int(seed), k))
                free = rest(free, groups[-1])
    if len(free) >= k:
        groups, free = [*groups, free.tolist()], free[:0]
    return finish(X, groups, free)


def from_centroid(X: NDArray, k: int, make_group: Callable) -> Labels:
    groups, free = [], np.arange(len(X))
    while len(free) >= k:
        groups.append(make_group(X, free, farthest(X, free, X[free].mean(0)), k))
        free = rest(free, groups[-1])
    return finish(X, groups, free)


def vmdav(X: NDArray, k: int, gamma: float = 0.2) -> Labels:
    groups, free = [], np.arange(len(X))
    while len(free) >= k:
        group = knn_group(X, free, farthest(X, free, X.mean(0)), k)
        free = rest(free, group)
        while len(group) < 2 * k - 1 and len(free):
            to_group = np.min([squares(X[free], X[r]) for r in group], axis=0)
            x = int(free[np.argmin(to_group)])
            others = free[free != x]
            outside = squares(X[others], X[x]).min(initial=np.inf)
            if not to_group.min() < gamma**2 * outside:
                break
            group.append(x)
            free = others
        groups.append(group)
    return finish(X, groups, free)


def tfrp1(X: NDArray, k: int) -> Labels:
    groups, free = [], np.arange(len(X))
    while len(free) >= k:
        reference = np.full(X.shape[1], X.max() if len(groups) % 2 else X.min())
        groups.append(knn_group(X, free, farthest(X, free, reference), k))
        free = rest(free, groups[-1])
    return finish(X, groups, free)


def dba1(X: NDArray, k: int) -> Labels:
    groups, free = [], np.arange(len(X))
    while len(free) >= k:
        neighbourhoods = [knn_group(X, free, r, k) for r in free.tolist()]
        groups.append(neighbourhoods[np.argmin([sse(X[group]) for group in neighbourhoods])])
        free = rest(free, groups[-1])
    return finish(X, groups, free)


def members(labels: Labels) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]


def falling_sse(X: NDArray, labels: Labels) -> list[int]:
    return np.argsort([-sse(X[group]) for group in members(labels)], kind="stable").tolist()


def dissolve(X: NDArray, labels: Labels, order: list[int], limit: int) -> Labels:
    """The dissolving pass of notes/methods.md, with every SSE computed anew."""
    groups = members(labels)
    for a in order:
        alive = [g for g, group in enumerate(groups) if group and g != a]
        centroids = {g: X[groups[g]].mean(0) for g in alive}
        after = {g: list(groups[g]) for g in alive}
        for r in sorted(groups[a]):
            room = [g for g in alive if len(after[g]) < limit]
            if not room:
                break
            after[min(room, key=lambda g: (squares(X[r], centroids[g][None])[0], g))].append(r)
        changed = [g for g in alive if len(after[g]) > len(groups[g])]
        growth = sum(sse(X[after[g]]) - sse(X[groups[g]]) for g in changed)
        everyone = sum(len(after[g]) for g in alive) == len(X)
        if everyone and growth < sse(X[groups[a]]) * (1 - 1e-12):
            groups = [after.get(g, []) for g in range(len(groups))]
    return finish(X, [group for group in groups if group], np.arange(0))


def split(X: NDArray, labels: Labels, k: int, how: Callable) -> Labels:
    groups = []
    for group in members(labels):
        parts = how(X[group], k) if len(group) >= 2 * k else np.zeros(len(group), np.int64)
        groups += [[group[i] for i in part] for part in members(parts)]
    return finish(X, groups, np.arange(0))


def tfrp2(X: NDArray, k: int) -> Labels:
    labels = tfrp1(X, k)
    return split(X, dissolve(X, labels, falling_sse(X, labels), 4 * k - 1), k, tfrp1)


def dba2(X: NDArray, k: int) -> Labels:
    labels = dba1(X, k)
    return split(X, dissolve(X, labels, list(range(labels.max(), -1, -1)), len(X)), k, mdav1)


def mdav2(X: NDArray, k: int) -> Labels:
    labels = mdav1(X, k)
    return split(X, dissolve(X, labels, falling_sse(X, labels), len(X)), k, mdav1)


def shrink(X: NDArray, labels: Labels, k: int) -> Labels:
    """Out of each group above k, the record whose move lowers the SSE most, until none does."""
    groups = members(labels)
    for a in range(len(groups)):
        while len(groups[a]) > k:
            moves = []
            for r in sorted(groups[a]):
                gain = sse(X[groups[a]]) - sse(X[[x for x in groups[a] if x != r]])
                for b in range(len(groups)):
                    if b != a:
                        growth = sse(X[[*groups[b], r]]) - sse(X[groups[b]])
                        moves.append((growth - gain, r, b))
            change, r, b = min(moves)
            if change > -1e-12:
                break
            groups[a].remove(r)
            groups[b].append(r)
    return finish(X, groups, np.arange(0))


def igd(X: NDArray, k: int) -> Labels:
    labels, best = finish(X, sorted(members(mdav(X, k))), np.arange(0)), np.inf
    while (total := sum(sse(X[group]) for group in members(labels))) < best * (1 - 1e-12):
        best, kept = total, labels
        labels = split(X, dissolve(X, labels, falling_sse(X, labels), len(X)), k, centroid)
        labels = split(X, shrink(X, labels, k), k, centroid)
    return kept


def from_both_ends(X: NDArray, k: int, score: Callable[[NDArray], NDArray]) -> Labels:
    """P-S: sort the free records by a score of theirs; gather around the first and the last."""
    groups, free = [], np.arange(len(X))
    while len(free) >= 2 * k:
        order = free[np.argsort(score(X[free]), kind="stable")]
        for seed in order[[0, -1]] if len(free) >= 3 * k else order[:1]:
            if seed in free:
                groups.append(gathered_group(X, free, int(seed), k))
                free = rest(free, groups[-1])
    return finish(X, [*groups, free.tolist()], free[:0])


def deviations(X: NDArray) -> NDArray:
    return X.sum(1) - X.mean(0).sum()


def rank_sums(X: NDArray) -> NDArray:
    return np.argsort(np.argsort(X, axis=0, kind="stable"), axis=0).sum(1)


def diameter(X: NDArray, k: int) -> Labels:
    return farthest_pair(X, k, gathered_group)


def md(X: NDArray, k: int) -> Labels:
    return farthest_pair(X, k, knn_group)


def centroid(X: NDArray, k: int) -> Labels:
    return from_centroid(X, k, gathered_group)


def cbfs(X: NDArray, k: int) -> Labels:
    return from_centroid(X, k, knn_group)


def pairwise_systematic(X: NDArray, k: int) -> Labels:
    return from_both_ends(X, k, deviations)


def multi_dsort(X: NDArray, k: int) -> Labels:
    return from_both_ends(X, k, rank_sums)


PLAIN: dict[str, Callable[[NDArray, int], Labels]] = {
    "cbfs": cbfs,
    "centroid": centroid,
    "dba1": dba1,
    "dba2": dba2,
    "diameter": diameter,
    "igd": igd,
    "md": md,
    "mdav": mdav,
    "mdav1": mdav1,
    "mdav2": mdav2,
    "mdav_generic": mdav_generic,
    "multi_dsort": multi_dsort,
    "pairwise_systematic": pairwise_systematic,
    "tfrp1": tfrp1,
    "tfrp2": tfrp2,
    "vmdav": vmdav,
}
