"""IGD: any partition, improved by dissolving groups and by moving records out of large ones."""

import numpy as np
from numpy.typing import ArrayLike

from shoal.algorithms._split import by_falling_sse, split_large, start_labels
from shoal.algorithms.fixed_size import centroid
from shoal.grouping.partition import Partition
from shoal.grouping.registry import method
from shoal.kernels.search.dissolve import dissolve, shrink


@method(
    title="IGD",
    paper="Iterative group decomposition: Symmetry 10(7), 262 (2018)",
    sizes="k..2k-1",
    cost="n^2/k",
)
def igd(X, k, *, start: str | ArrayLike = "mdav"):
    """Improve a partition: dissolve, shrink and split groups, again and again until the SSE stops falling.

    `start` is another method's key, or the labels of a partition. Ours: the default start (the paper's
    figures name none); groups are dissolved by falling SSE and shrunk in the order of their labels.
    """
    labels = split_large(X, start_labels(X, k, start, excluded=("igd",)), k, centroid)
    best = np.inf
    while (sse := Partition(labels).sse(X)) < best * (1 - 1e-12):
        best, best_labels = sse, labels
        labels = dissolve(X, labels, by_falling_sse(X, labels), len(X))
        labels = split_large(X, labels, k, centroid)
        labels = split_large(X, shrink(X, labels, k), k, centroid)
    return best_labels
