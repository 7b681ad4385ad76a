"""What several methods do to a finished partition: order its groups, dissolve some, split the large ones."""

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import ArrayLike

from shoal.algorithms._pool import group_means
from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.grouping.partition import Partition, rows_of
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method

Labels = Ints


def by_falling_sse(X: Floats, labels: Labels) -> Labels:
    """The groups, that with the largest SSE first."""
    squares = np.square(X - group_means(X, labels)[labels]).sum(1)
    return np.argsort(-np.bincount(labels, squares), kind="stable")


def split_large(X: Floats, labels: Labels, k: int, how: Callable[[Floats, int], Labels]) -> Labels:
    """Labels 0, 1, ... where each group of 2k or more records is partitioned by `how` on its own records."""
    fresh = np.empty_like(labels)
    count = 0
    for members in filter(len, rows_of(labels)):
        parts = how(X[members], k) if len(members) >= 2 * k else np.zeros(len(members), np.int64)
        fresh[members] = count + parts
        count += int(parts.max()) + 1
    return fresh


def divide(X: Floats, k: int, how: Callable[[Floats, int], Labels]) -> Labels:
    """Labels 0, 1, ... where `how` divides parts of 2k or more records, until there are none."""
    labels = np.empty(len(X), np.int64)
    parts, groups = [np.arange(len(X))], 0
    while parts:
        part = parts.pop()
        if len(part) >= 2 * k:
            inside = how(X[part], k)
            parts += [part[inside == g] for g in np.unique(inside)]
        else:
            labels[part] = groups
            groups += 1
    return labels


def start_labels(
    X: Floats,
    k: int,
    start: str | ArrayLike,
    excluded: Collection[str] = (),
    rng: np.random.Generator | None = None,
    any_size: bool = False,
) -> Labels:
    """The partition that a method starts from: another method's key (none of those `excluded`), or labels.

    Labels must be of groups of k or more, unless `any_size` will do.
    """
    if isinstance(start, str):
        info = get_method(start)
        if start in excluded:
            raise InputError(f"start={start!r} would start from itself: name another method, or give labels")
        return run_method(info, X, k, seed=int(rng.integers(2**31)) if rng else 0).labels
    labels = np.asarray(start)
    if labels.shape != (len(X),) or labels.dtype.kind not in "iu":
        raise InputError(f"start must be a method's key or one whole number for each of the {len(X)} records")
    if any_size:
        return labels
    partition = Partition(labels)
    if partition.sizes.min() < k:
        raise InputError(
            f"start has a group of {partition.sizes.min()} records, but k={k}: give groups of k or more"
        )
    return partition.labels
