"""Spanning trees and their partition, k-Ward, mu-Approx, against plain references."""

import numpy as np
import pytest
from benchmarks.plain_trees import PLAIN, prim
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.k_ward import k_ward
from shoal.algorithms.mu_approx import mu_approx
from shoal.algorithms.trees import mst, mst_c, mst_d, preorder, spanning_tree
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.kernels.neighbours.spanning_tree import cut_edges, form_clusters


def lengths(X, tree):
    return np.sqrt(np.square(X[tree[:, 0]] - X[tree[:, 1]]).sum(1))


@pytest.mark.parametrize("columns", [1, 2, 10, 70])
def test_tree_is_as_short_as_prims(columns):
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(1500, columns)) + 5 * rng.integers(0, 3, (1500, 1))
    tree = spanning_tree(X)
    assert len(tree) == 1499
    assert lengths(X, tree).sum() == pytest.approx(lengths(X, prim(X)).sum(), rel=1e-12)
    assert (np.diff(lengths(X, tree)) <= 0).all()


def test_tree_of_5000_points_is_as_short_as_prims():
    rng = np.random.default_rng(0)
    X = rng.normal(rng.uniform(-1, 1, (50, 10))[rng.integers(0, 50, 5000)], 0.1)
    assert lengths(X, spanning_tree(X)).sum() == pytest.approx(lengths(X, prim(X)).sum(), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 90), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_tree_under_ties_is_exact_and_the_same_for_any_row_offset(n, columns, values, seed):
    X = np.random.default_rng(seed).integers(0, values, (n, columns)).astype(float)
    tree = spanning_tree(X)
    assert lengths(X, tree).sum() == pytest.approx(lengths(X, prim(X)).sum())
    assert np.array_equal(tree, spanning_tree(X + 4))
    assert np.array_equal(np.unique(tree), np.arange(n))
    assert len(preorder(tree)[0]) == n  # connected


def test_the_tree_does_not_depend_on_the_number_of_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    monkeypatch.setenv("SHOAL_THREADS", "1")
    alone = spanning_tree(X)
    monkeypatch.setenv("SHOAL_THREADS", "3")
    assert np.array_equal(alone, spanning_tree(X))


def random_tree(n, rng):
    """Edges of a random tree, in random order, with shuffled names."""
    name = rng.permutation(n)
    reach = rng.integers(1, n + 1)
    edges = [(name[i], name[rng.integers(max(0, i - reach), i)]) for i in range(1, n)]
    return rng.permutation(np.array(edges, np.int64).reshape(-1, 2))


def sides(edges, e, n):
    """Records on the first and the second side of edge e."""
    around = [[] for _ in range(n)]
    for f, (a, b) in enumerate(edges):
        if f != e:
            around[a].append(b)
            around[b].append(a)
    counts = []
    for start in edges[e]:
        seen = {start}
        todo = [start]
        while todo:
            for w in around[todo.pop()]:
                if w not in seen:
                    seen.add(w)
                    todo.append(w)
        counts.append(len(seen))
    return counts


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_cutting_is_the_papers_cutting(n, k, seed):
    edges = random_tree(n, np.random.default_rng(seed))
    order, parent = preorder(edges)
    labels, sequence = form_clusters(parent, cut_edges(edges, order, parent, k))
    assert np.array_equal(np.sort(sequence), np.arange(n))
    kept = [tuple(edge) for edge in edges]
    for edge in [tuple(edge) for edge in edges]:
        if min(sides(kept, kept.index(edge), n)) >= k:
            kept.remove(edge)
    expected = np.arange(n)
    for a, b in kept:
        expected[expected == expected[a]] = expected[b]
    assert np.array_equal(Partition(labels).labels, Partition(expected).labels)


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 30), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_irreducible_trees_are_exactly_the_star_shaped(n, k, seed):
    """Laszlo and Mukherjee 2005, appendix B: no edge is removable if and only if there is a centre."""
    edges = [tuple(edge) for edge in random_tree(n, np.random.default_rng(seed))]
    counts = [sides(edges, e, n) for e in range(len(edges))]
    irreducible = all(min(count) < k for count in counts)
    # A centre is a vertex all of whose neighbours' subtrees, seen from it, have fewer than k nodes.
    star = any(
        all(count[1 if a == v else 0] < k for (a, b), count in zip(edges, counts) if v in (a, b))
        for v in range(n)
    )
    assert irreducible == star
    assert irreducible == (cut_edges(np.array(edges), *preorder(np.array(edges)), k).sum() == 1)


@pytest.mark.parametrize("key", sorted(PLAIN))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_each_method_is_its_plain_version(key, k):
    function = {"mst": mst, "mst_d": mst_d, "mst_c": mst_c, "k_ward": k_ward, "mu_approx": mu_approx}[key]
    rng = np.random.default_rng(k)
    X = rng.normal(rng.normal(size=(8, 4))[rng.integers(0, 8, 220)], 0.4)
    assert np.array_equal(Partition(function(X, k)).labels, Partition(PLAIN[key](X, k)).labels)


@pytest.mark.parametrize("function", [mst, mst_d, mst_c, k_ward, mu_approx])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_equal_rows_and_small_tables(function, k):
    rng = np.random.default_rng(0)
    for X in (
        np.zeros((7 * k, 2)),
        np.repeat(rng.normal(size=(5, 3)), 2 * k, axis=0),
        rng.integers(0, 2, (50, 3)).astype(float),
        rng.normal(size=(2 * k, 1)),
        rng.normal(size=(3 * k, 2)),
    ):
        Partition(function(X, k)).check(k, len(X), None if function is mst else 2 * k - 1)


def test_a_tree_must_span_the_records():
    X = np.random.default_rng(0).normal(size=(20, 2))
    tree = spanning_tree(X)
    broken = tree.copy()
    broken[0] = broken[1]
    for wrong in (tree[1:], broken, tree + 1, tree.astype(float)):
        with pytest.raises(InputError, match="spanning_tree"):
            mst(X, 3, tree=wrong)
