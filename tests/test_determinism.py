"""The same answer everywhere: threads, kinds of tables, chunks, order of rows, once more from a plan."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.grouping.registry import methods
from shoal.pipeline import run

KEYS = list(methods())

#: Methods whose groups may depend on the order of the rows even if no two values are equal, and why.
PAIR = "of the two records farthest apart, the earlier row is served first"
DRAWN = "it draws at random, and so by row"
BY_ORDER = {
    **dict.fromkeys(["diameter", "md", "md_mhm", "k_ward"], PAIR),
    **dict.fromkeys(["fuzzy", "repordmic", "optimise", "auto"], DRAWN),
    "tsp_mhm": "its tour is improved from row to row, and ends at another local optimum",
    "multi_dsort": "sums of ranks are tied even where values are not",
}


def column_of(key):
    return 1 if methods()[key].columns == "one" else 3


@cache
def shuffled(seed):
    return np.random.default_rng(seed).permutation(1_000_000)


def untied(n, d, seed=0):
    """Whole numbers without ties."""
    return shuffled(seed)[: n * d].reshape(n, d).astype(float)


@pytest.mark.parametrize("key", KEYS)
def test_one_and_two_threads_give_the_same_labels_values_and_loss(key, monkeypatch):
    n = {"univariate": 150_000, "univariate_integer": 150_000, "exact": 40}.get(key, 600)  # exact is proven
    X = untied(n, column_of(key), 3)
    asked = {"columns": [0, 1], "closeness": {2: 0.3}} if methods()[key].needs else {}
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("SHOAL_THREADS", threads)
        found.append(shoal.microaggregate(X, 4, method=key, **asked))
    one, two = found
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.table, two.table)
    assert one.information_loss == two.information_loss


@pytest.mark.parametrize("key", ["auto", "mdav", "multi_dsort", "univariate"])
def test_every_kind_of_table_gives_the_same_labels_and_values(key):
    X = untied(80, column_of(key), 1)
    names = [f"c{j}" for j in range(X.shape[1])]
    columns = {name: X[:, j] for j, name in enumerate(names)}
    expected = shoal.microaggregate(X, 4, method=key)
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        release = shoal.microaggregate(table, 4, method=key)
        assert np.array_equal(release.labels, expected.labels)
        assert release.information_loss == expected.information_loss
        assert all(
            np.array_equal(np.asarray(release.table[n]), expected.table[:, j]) for j, n in enumerate(names)
        )


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_any_row_chunking_of_arrow_gives_the_same_labels(cuts, empty):
    X = untied(60, 2, 2)
    names = np.array(["x", "y", "z"])[np.arange(60) % 3]
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": names, "d": pa.array([None, 1.5] * 30)})
    edges = [0, *sorted(cuts), 60]
    parts = [table.slice(begin, end - begin) for begin, end in pairwise(edges)]
    chunked = pa.concat_tables([*parts, table.slice(0, 0)] if empty else parts)
    options = {"columns": ["a", "b", "c", "d"], "types": {"c": "nominal"}, "method": "mdav_generic"}
    one, other = shoal.microaggregate(table, 3, **options), shoal.microaggregate(chunked, 3, **options)
    assert np.array_equal(one.labels, other.labels)
    assert one.table.equals(other.table)


@pytest.mark.parametrize("key", [key for key in KEYS if key not in BY_ORDER])
def test_the_order_of_rows_does_not_matter_without_ties(key):
    """Up to the names of the groups, for methods that draw nothing at random and scan in no order."""
    for seed in range(3):
        X = untied(60, column_of(key), seed)
        order = np.random.default_rng(seed).permutation(60)
        asked = {"columns": [0, 1], "closeness": {2: 0.3}} if methods()[key].needs else {}
        first = shoal.microaggregate(X, 3, method=key, **asked).labels
        second = shoal.microaggregate(X[order], 3, method=key, **asked).labels
        pairs = set(zip(first[order].tolist(), second.tolist()))
        assert len(pairs) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "csv.zst"])
def test_a_release_is_made_again_from_its_plan_bit_for_bit(tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.normal(size=60),
            "b": rng.integers(0, 9, 60),
            "s": ["x", "y"] * 30,
            "c": ["p", "q", "r"] * 20,
        }
    )
    source = tmp_path / f"in.{ending}"
    shoal.write(table, source)
    plan = shoal.Plan(
        3, columns=["a", "b", "c"], seed=7, strata=["s"], types={"c": "nominal"}, centroids={"a": "median"}
    )
    first = run(plan, source)
    first.write(tmp_path / f"first.{ending}")
    (tmp_path / "plan.toml").write_text(first.plan.toml())
    second = run(shoal.Plan.read(tmp_path / "plan.toml"), source)
    second.write(tmp_path / f"second.{ending}")
    assert np.array_equal(first.labels, second.labels)
    assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()
