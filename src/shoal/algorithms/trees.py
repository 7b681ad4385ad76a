"""Partitioning a minimum spanning tree: M, M-d, M-c."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.algorithms._split import split_large
from shoal.algorithms.fixed_size import centroid, diameter
from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.grouping.registry import method
from shoal.kernels.neighbours import spanning_tree as kernels
from shoal.kernels.neighbours.kd_tree import build_tree, fill_leaves
from shoal.kernels.runtime.threads import map_threads

PAPER = "Laszlo and Mukherjee 2005"
#: Parts of a Boruvka round that may run at the same time. The tree does not depend on it. In more parts fewer
#: searches profit from a bound that another one has lowered.
CHUNKS = 8


def spanning_tree(X: Floats) -> Ints:
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


def _boruvka(X: Floats) -> tuple[Ints, Floats]:
    """Edges and squared lengths for distinct rows: each component adds its shortest way out, and again."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(X)
    tree = build_tree(X)
    rows = tree.order
    columns = np.empty(X.size)
    fill_leaves(X, tree, columns, 0, len(tree.child))
    X = X[rows]
    leaves = np.flatnonzero(tree.child < 0)
    chunks = np.array_split(leaves[np.argsort(tree.start[leaves])], CHUNKS)
    ranges = np.column_stack([tree.start, tree.end]).ravel()
    component, near, length = np.arange(n), np.full(n, -1), np.zeros(n)
    edges, squares = [np.empty((0, 2), np.int64)], [np.empty(0)]

    def search(chunk: Ints) -> None:
        kernels.nearest_outside(X, columns, tree, colour, component, bound.copy(), near, length, chunk)

    while component.any():
        least, most = (f.reduceat(np.append(component, 0), ranges)[::2] for f in (np.minimum, np.maximum))
        colour = np.where(least == most, least, -1)  # the component of all points of a node, if there is one
        known = np.flatnonzero((near >= 0) & (component[near] != component))
        bound = np.full(n, np.inf)  # the shortest way out of each component that is known so far
        np.minimum.at(bound, component[known], length[known])
        map_threads(search, chunks)
        ways = np.flatnonzero(near >= 0)
        low, high = np.minimum(rows[ways], rows[near[ways]]), np.maximum(rows[ways], rows[near[ways]])
        order = np.lexsort((low * n + high, length[ways], component[ways]))
        first = order[np.flatnonzero(np.diff(component[ways][order], prepend=-1))]
        links = component[ways[first]], component[near[ways[first]]]
        once = first[np.unique((low * n + high)[first], return_index=True)[1]]  # two may choose the same
        edges.append(np.column_stack([low[once], high[once]]))
        squares.append(length[ways[once]])
        graph = coo_array((np.ones(len(first)), links), shape=(len(first), len(first)))
        component = connected_components(graph, directed=False)[1][component].astype(np.int64)
    return np.concatenate(edges), np.concatenate(squares)


def preorder(tree: Ints) -> tuple[Ints, Ints]:
    """Walk a tree from record 0: the records reached, parents first, and the parent of each record."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import depth_first_order

    graph = coo_array((np.ones(len(tree)), tree.T), shape=(len(tree) + 1,) * 2).tocsr()
    order, parent = depth_first_order(graph, 0, directed=False)
    return order.astype(np.int64), parent.astype(np.int64)


def _partition(X: NDArray, k: int, tree: ArrayLike | None) -> tuple[NDArray, NDArray]:
    """Cut the tree, longest edges first, wherever k or more records stay on either side.

    Returns the labels, and the sequence in which records were classified.
    """
    n = len(X)
    edges = spanning_tree(X) if tree is None else np.ascontiguousarray(tree)
    if edges.shape == (n - 1, 2) and edges.dtype.kind in "iu" and edges.min() >= 0 and edges.max() < n:
        edges = edges.astype(np.int64, copy=False)
        order, parent = preorder(edges)
        if len(order) == n:
            return kernels.form_clusters(parent, kernels.cut_edges(edges, order, parent, k))
    raise InputError(
        f"tree must be what spanning_tree returns for these {n} records: n-1 edges that connect them"
    )


def _refine(X: NDArray, k: int, tree: ArrayLike | None, split: Callable) -> Ints:
    """M, then each group of 2k or more records partitioned on its own."""
    labels, sequence = _partition(X, k, tree)
    labels[sequence] = split_large(X[sequence], labels[sequence], k, split)
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
