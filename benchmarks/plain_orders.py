"""Plain numpy versions of the methods that order records and cut the sequence (see `benchmarks.plain`).

`SAME` are those that give the very partition of the registered method. The plain tour is another one: best
improvement by 2-opt over all pairs of edges, without neighbour lists, Or-opt and kicks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks.plain import cbfs, farthest, md, mdav, squares, sse

Labels = NDArray[np.int64]


def cut_along(X: NDArray, k: int, order: list[int]) -> Labels:
    """The optimal partition of the sequence."""
    n = len(order)
    V = X[order]
    best = [0.0] + [np.inf] * n
    size = [0] * (n + 1)
    for end in range(k, n + 1):
        for m in range(k, min(2 * k - 1, end) + 1):
            cost = best[end - m] + (sse(V[end - m : end]) if best[end - m] < np.inf else 0.0)
            if cost < best[end]:
                best[end], size[end] = cost, m
    labels = np.empty(n, np.int64)
    end = n
    while end > 0:
        labels[order[end - size[end] : end]] = end
        end -= size[end]
    return labels


def walk(X: NDArray, start: int, records: NDArray) -> list[int]:
    """From `start` always to the nearest of the records left."""
    path, left = [start], records[records != start]
    while len(left):
        best = int(np.argmin(squares(X[left], X[path[-1]])))
        path.append(int(left[best]))
        left = np.delete(left, best)
    return path


def insert(X: NDArray, start: int, records: NDArray, rule: str) -> list[int]:
    """From `start` to the record farthest from it; the others inserted, the nearest or the cheapest first."""
    left = records[records != start]
    if not len(left):
        return [start]
    D = np.sqrt(np.square(X[records][:, None] - X[records]).sum(2))
    at = {int(record): i for i, record in enumerate(records)}
    far = int(left[np.argmax(D[at[start], [at[int(i)] for i in left]])])
    path, arrival = [at[start], at[far]], {at[start]: 0, at[far]: 1}
    left = np.array([at[int(i)] for i in left if i != far], np.int64)
    while len(left):
        a, b = np.array(path[:-1]), np.array(path[1:])
        detour = D[np.ix_(left, a)] + D[np.ix_(left, b)] - D[a, b]
        worth = D[np.ix_(left, path)].min(1) if rule == "nearest" else detour.min(1)
        t = int(np.argmin(worth))
        edge = min(range(len(a)), key=lambda e: (detour[t, e], arrival[path[e]]))
        arrival[int(left[t])] = len(path)
        path.insert(edge + 1, int(left[t]))
        left = np.delete(left, t)
    return records[path].tolist()


def group_by_group(X: NDArray, labels: Labels, rule: str = "walk") -> list[int]:
    """Through the group of the record farthest from the centroid, then of the nearest record left."""
    path: list[int] = []
    left = np.arange(len(X))
    here = farthest(X, left, X.mean(0))
    while True:
        group = left[labels[left] == labels[here]]
        path += walk(X, here, group) if rule == "walk" else insert(X, here, group, rule)
        left = left[labels[left] != labels[here]]
        if not len(left):
            return path
        here = int(left[np.argmin(squares(X[left], X[path[-1]]))])


def npn_mhm(X: NDArray, k: int) -> Labels:
    everyone = np.arange(len(X))
    return cut_along(X, k, walk(X, farthest(X, everyone, X.mean(0)), everyone))


def pca_mhm(X: NDArray, k: int) -> Labels:
    centred = X - X.mean(0)
    weights = np.linalg.svd(centred)[2][0]
    weights = weights * np.sign(weights[np.argmax(np.abs(weights))])
    return cut_along(X, k, np.argsort(centred @ weights, kind="stable").tolist())


def zscore_mhm(X: NDArray, k: int) -> Labels:
    return cut_along(X, k, np.argsort(X.sum(1), kind="stable").tolist())


def mdav_mhm(X: NDArray, k: int) -> Labels:
    return cut_along(X, k, group_by_group(X, mdav(X, k)))


def md_mhm(X: NDArray, k: int) -> Labels:
    return cut_along(X, k, group_by_group(X, md(X, k)))


def cbfs_mhm(X: NDArray, k: int) -> Labels:
    return cut_along(X, k, group_by_group(X, cbfs(X, k)))


def tsp_mhm(X: NDArray, k: int) -> Labels:
    """Nearest insertion, then the best of all 2-opt exchanges until none helps."""
    tour = np.array(group_by_group(X, np.zeros(len(X), np.int64), "nearest"))
    D = np.sqrt(np.square(X[:, None] - X).sum(2))
    while True:
        after = np.roll(tour, -1)
        step = D[tour, after]
        gain = step[:, None] + step - D[np.ix_(tour, tour)] - D[np.ix_(after, after)]
        np.fill_diagonal(gain, 0.0)
        i, j = sorted(np.unravel_index(np.argmax(gain), gain.shape))
        if gain[i, j] < 1e-9:
            return cut_along(X, k, tour.tolist())
        tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1].copy()


def means(X: NDArray, labels: Labels) -> NDArray:
    return np.array([X[labels == g].mean(0) for g in range(labels.max() + 1)])


def loss(X: NDArray, labels: Labels) -> float:
    return sum(sse(X[labels == g]) for g in np.unique(labels))


def imhm(X: NDArray, k: int, choices: int = 32) -> Labels:
    """Re-assignment as an assignment to places: k of each group that must be filled, and k-1 more."""
    labels = mdav_mhm(X, k)
    last = np.inf
    while last - loss(X, labels) >= 1e-7:
        last = loss(X, labels)
        labels = np.unique(labels, return_inverse=True)[1]
        costs = np.array([squares(X, centre) for centre in means(X, labels)]).T
        rank = np.argsort(np.argsort(costs, axis=1, kind="stable"), axis=1)
        allowed = np.where((rank < choices) | (np.arange(costs.shape[1]) == labels[:, None]), costs, np.inf)
        must = 1 + len(X) * costs.max()
        places = np.hstack([np.repeat(allowed - must, k, axis=1), np.repeat(allowed, k - 1, axis=1)])
        place = linear_sum_assignment(places)[1]
        groups = costs.shape[1]
        again = np.where(place < groups * k, place // k, (place - groups * k) // (k - 1))
        labels = cut_along(X, k, group_by_group(X, again, "nearest"))
    return labels


def kmeans(X: NDArray, uniform: NDArray) -> Labels:
    """Lloyd's k-means from a k-means++ start made with these draws."""
    n = len(X)
    chosen = [min(int(uniform[0] * n), n - 1)]
    for draw in uniform[1:]:
        nearest = np.min([squares(X, X[c]) for c in chosen], axis=0)
        beyond = np.flatnonzero(nearest.cumsum() > draw * nearest.sum())
        chosen.append(int(beyond[0]) if len(beyond) else min(int(draw * n), n - 1))
    centres = X[chosen]
    labels = np.full(n, -1)
    for _ in range(100):
        fresh = np.argmin([squares(X, centre) for centre in centres], axis=0)
        if (fresh == labels).all():
            break
        labels = fresh
        for g in np.unique(labels):
            centres[g] = X[labels == g].mean(0)
    return labels


def repordmic(X: NDArray, k: int, starts: int = 20) -> Labels:
    rng = np.random.default_rng(0)
    best = (np.inf, np.zeros(len(X), np.int64))
    for draws in [rng.random(clusters) for clusters in range(1, min(starts, len(X)) + 1)]:
        labels = kmeans(X, draws)
        last, now = np.inf, np.inf
        while not last - now < 1e-7:
            labels = cut_along(X, k, group_by_group(X, labels, "nearest"))
            last, now = now, loss(X, labels)
        if now < best[0]:
            best = now, labels
    return best[1]


def fuzzy_c_means(X: NDArray, seeds: NDArray, m: float) -> Labels:
    centres = X[seeds]
    labels = np.full(len(X), -1)
    for _ in range(30):
        D = np.array([squares(X, centre) for centre in centres]).T
        fresh = D.argmin(1)
        if (fresh == labels).all():
            break
        labels = fresh
        least = D.min(1, keepdims=True)
        ratio = np.divide(least, D, out=np.ones_like(D), where=least != D)
        share = np.where(ratio > 1e-9 ** (m - 1), ratio, 0.0) ** (1 / (m - 1))
        weight = (share / share.sum(1, keepdims=True)) ** m
        used = weight.sum(0) > 0
        centres[used] = (weight.T @ X)[used] / weight.sum(0)[used, None]
    return labels


def fuzzy(X: NDArray, k: int) -> Labels:
    rng = np.random.default_rng(0)
    labels = np.empty(len(X), np.int64)
    groups, parts = 0, [np.arange(len(X))]
    while parts:
        part = parts.pop()
        c, m = len(part) // k, 1.1
        while c >= 2:
            clusters = fuzzy_c_means(X[part], np.sort(rng.choice(len(part), c, replace=False)), m)
            found, sizes = np.unique(clusters, return_counts=True)
            if len(found) > 1 and sizes.min() >= k:
                parts += [part[clusters == g] for g in found]
                break
            c, m = c // 2, m + 0.1
        else:
            inside = mdav(X[part], k) if len(part) >= 2 * k else np.zeros(len(part), np.int64)
            labels[part] = groups + inside
            groups += int(inside.max()) + 1
    return labels


SAME: dict[str, Callable[[NDArray, int], Labels]] = {
    "cbfs_mhm": cbfs_mhm,
    "fuzzy": fuzzy,
    "imhm": imhm,
    "md_mhm": md_mhm,
    "mdav_mhm": mdav_mhm,
    "npn_mhm": npn_mhm,
    "pca_mhm": pca_mhm,
    "repordmic": repordmic,
    "zscore_mhm": zscore_mhm,
}
PLAIN_ORDERS = SAME | {"tsp_mhm": tsp_mhm}
