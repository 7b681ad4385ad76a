"""The degree sequence of a graph, published with k-degree anonymity."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "graph_degrees.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("networkx")
    return runpy.run_path(str(SCRIPT))


def test_it_runs_and_prints_its_outcome(example, capsys):
    example["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("Zachary's karate club, 34 vertices, k=2: each degree is shared by at least 2")


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_each_degree_is_shared_by_k_and_the_sum_is_even(example, k):
    rng = np.random.default_rng(k)
    for n in range(2 * k, 40):
        degrees = rng.integers(0, n, n)
        published = example["anonymous_degrees"](degrees, k)
        assert np.unique(published, return_counts=True)[1].min() >= k
        assert published.sum() % 2 == 0
        assert published.min() >= 0
        assert published.max() < n
