"""Groups that are t-close, by Soria-Comas, Domingo-Ferrer, Sanchez and Martinez (arXiv 1512.02909).

Each ends by merging what still is too far. In the paper values are not tied and lie a rank apart; then the
last way needs no merging. Here the distance is that of the requirement `closeness`: between the levels that
occur, or, where these have no order, total variation.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms._pool import group_means
from shoal.algorithms.mdav import mdav
from shoal.arrays import Floats, Ints
from shoal.grouping.partition import rows_of
from shoal.grouping.registry import Confidential, method
from shoal.kernels.search.closeness import distances
from shoal.kernels.search.gather import one_of_each, swapped

PAPER = "Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015"


@method(title="Merging to t-closeness", paper=PAPER, sizes="k..", cost="n^2/k", mixed=True, needs="closeness")
def tclose_merge(X, k, *, confidential):
    """MDAV; then the group of greatest distance joins the nearest group, until all lie within t."""
    return merged(X, mdav(X, k), confidential)


@method(title="k-anonymity first", paper=PAPER, sizes="k..", cost="n^2", mixed=True, needs="closeness")
def tclose_k_first(X, k, *, confidential):
    """MDAV whose groups swap a member for the next nearest record while that brings them closer to t.

    Groups that are still too far are merged.
    """
    return merged(X, swapped(X - X.mean(axis=0), k, confidential), confidential)


@method(title="t-closeness first", paper=PAPER, sizes="k..", cost="n^2/k", mixed=True, needs="closeness")
def tclose_t_first(X, k, *, confidential):
    """MDAV whose groups take one record of each of as many equal parts of the ranked records as t asks for.

    Groups that are too far (values are tied, or have no order) are merged.
    """
    levels = 0 if confidential.ordered else len(confidential.one)
    return merged(X, t_first(X, k, confidential.codes, confidential.t, levels), confidential)


def t_first(X: Floats, k: int, codes: Ints | Floats, t: float, levels: int = 0) -> Ints:
    """Labels of groups with one record of each of as many parts of the ranks as t asks for.

    `levels` is how many there are, if they have no order (ours): then of the parts that hold several levels,
    half may be wrong.
    """
    n = len(X)
    enough = min((levels - 1) / (2 * t), n) if levels else n / (2 * (n - 1) * t + 1)
    parts = max(k, int(np.ceil(enough)))
    return dealt(X, codes, parts + n % parts // (n // parts))


def dealt(X: Floats, codes: Ints | Floats, parts: int) -> Ints:
    """Labels of groups with one record of each of so many parts of the ranks; a central part has more."""
    n = len(X)
    sizes = np.full(parts, n // parts)
    sizes[(parts - 1) // 2] += n % parts // 2
    sizes[parts // 2] += n % parts - n % parts // 2
    subset = np.empty(n, np.int64)
    subset[np.argsort(codes, kind="stable")] = np.repeat(np.arange(parts), sizes)
    return one_of_each(X - X.mean(axis=0), subset, parts)


def merged(X: Floats, labels: Ints, confidential: Confidential) -> Ints:
    """Labels after the group of greatest distance joined the nearest, until all are within t."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    groups = rows_of(labels)
    centroids, far = group_means(X, labels), _far(order, sizes, confidential)
    for _ in range(len(groups) - 1):
        g = int(np.argmax(far))
        if far[g] <= confidential.t:
            break
        away = np.square(centroids - centroids[g]).sum(axis=1)
        away[g] = np.inf
        h = int(np.argmin(away))
        groups[h] = np.concatenate([groups[h], groups[g]])
        centroids[h], centroids[g] = X[groups[h]].mean(axis=0), np.inf
        far[h], far[g] = _far(groups[h], np.array([len(groups[h])]), confidential)[0], -1.0
        labels[groups[g]], groups[g] = h, groups[g][:0]
    return labels


def _far(order: Ints, sizes: Ints, confidential: Confidential) -> Floats:
    """The distance of groups of these sizes, whose members stand one group after another."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return distances(order, starts, *confidential[:4])
