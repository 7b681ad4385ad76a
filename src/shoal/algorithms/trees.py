"""Partitioning a minimum spanning tree: M, M-d, M-c."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.algorithms.fixed_size import centroid, diameter
from shoal.errors import InputError
from shoal.grouping.registry import method
from shoal.kernels.neighbours import spanning_tree as kernels
from shoal.kernels.neighbours.kd_tree import build_tree
from shoal.kernels.runtime.threads import map_threads

PAPER = "Laszlo and Mukherjee 2005"
#: Parts of a Boruvka round that may run at the same time. The tree does not depend on it. In more parts fewer
#: searches profit from a bound that another one has lowered.
CHUNKS = 8


def spanning_tree(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """The Euclidean minimum spanning tree of the rows: n-1 pairs of rows, longest edge first.

    Build it once and give it to `mst`, `mst_d` and `mst_c` as `tree=` for every k. Of equally long edges the
    one with the lower rows is preferred. Equal rows are linked in a chain, not to one of them, so that they
    can be cut into groups (our choice: the length is the same).
    """
    X = np.ascontiguousarray(X, np.float64)
    _, first, number = np.unique(X, axis=0, return_index=True, return_inverse=True)
    number = number.ravel()
    by_value = np.lexsort((np.arange(len(X)), number))
    chained = np.flatnonzero(np.diff(number[by_value]) == 0)
    rows = np.sort(first)
    edges, squares = _boruvka(X[rows])
    edges = np.concatenate([rows[edges], np.column_stack([by_value[chained], by_value[chained + 1]])])
    squares = np.concatenate([squares, np.zeros(len(chained))])
    return edges[np.lexsort((edges[:, 1], edges[:, 0], -squares))]


def _boruvka(X: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Edges and squared lengths for distinct rows: each component adds its shortest way out, and again."""
    n = len(X)
    tree = build_tree(X)
    columns = kernels.leaf_columns(X, tree)
    X = X[tree.order]
    leaves = np.flatnonzero(tree.child < 0)
    chunks = np.array_split(leaves[np.argsort(tree.start[leaves])], CHUNKS)
    component, parent, near = np.arange(n), np.arange(n), np.full(n, -1)
    length, bound = np.zeros(n), np.empty(n)
    colour = np.empty(len(tree.child), np.int64)
    edges, squares = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    made = 0

    def search(chunk: NDArray[np.int64]) -> None:
        kernels.nearest_outside(X, columns, tree, colour, component, bound.copy(), near, length, chunk)

    while made < n - 1:
        kernels.colour_nodes(component, tree, colour)
        kernels.seed_bounds(component, near, length, bound)
        map_threads(search, chunks)
        made = kernels.join(tree.order, component, near, length, parent, edges, made, squares)
    return edges, squares


def _checked(tree: ArrayLike, n: int) -> NDArray[np.int64]:
    """The tree that a caller gives, if it is one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = np.ascontiguousarray(tree)
    if edges.shape == (n - 1, 2) and edges.dtype.kind in "iu" and edges.min() >= 0 and edges.max() < n:
        graph = coo_array((np.ones(n - 1), edges.T), shape=(n, n))
        if connected_components(graph, directed=False)[0] == 1:
            return edges.astype(np.int64)
    raise InputError(
        f"tree must be what spanning_tree returns for these {n} records: n-1 edges that connect them"
    )


def _partition(X: NDArray, k: int, tree: ArrayLike | None) -> tuple[NDArray, NDArray]:
    """Cut the tree, longest edges first, wherever k or more records stay on either side.

    Returns the labels, and the sequence in which records were classified.
    """
    tree = spanning_tree(X) if tree is None else _checked(tree, len(X))
    parent, first, last = kernels.preorder(tree)
    return kernels.form_clusters(parent, kernels.cut_edges(tree, parent, first, last, k))


def _refine(X: NDArray, k: int, tree: ArrayLike | None, split: Callable) -> NDArray[np.int64]:
    """M, then each group of 2k or more records partitioned on its own."""
    labels, sequence = _partition(X, k, tree)
    sizes = np.bincount(labels)
    groups = len(sizes)
    by_group = sequence[np.argsort(labels[sequence], kind="stable")]
    for members in np.split(by_group, np.cumsum(sizes)[:-1]):
        if len(members) >= 2 * k:
            parts = split(X[members], k)
            labels[members] = groups + parts
            groups += parts.max() + 1
    return labels


@method(title="M (minimum spanning tree)", paper=PAPER, sizes="k..", cost="n log n on clustered data")
def mst(X, k, *, tree=None):
    """Cut the minimum spanning tree, longest edges first, wherever both parts keep k records.

    `tree` is what `spanning_tree(X)` returned, if it is at hand. A group can be as large as its tree is
    star-shaped: groups of 2k or more are left as they are.
    """
    return _partition(X, k, tree)[0]


@method(title="M-d", paper=PAPER, sizes="k..2k-1", cost="n log n on clustered data")
def mst_d(X, k, *, tree=None):
    """M, then D (diameter-based fixed size) on the records of each group of 2k or more."""
    return _refine(X, k, tree, diameter)


@method(title="M-c", paper=PAPER, sizes="k..2k-1", cost="n log n on clustered data")
def mst_c(X, k, *, tree=None):
    """M, then C (centroid-based fixed size) on the records of each group of 2k or more."""
    return _refine(X, k, tree, centroid)
