"""`method="exact"` in releases: the least loss, and a sentence that says no more than what is proven."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.engines.disk import engine
from shoal.stages.encode import standardise
from shoal.testing import brute_force

PROVEN = "proven: no grouping of these records{} on these standardised columns into groups of at least {}, "


def table(n=11, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.normal(size=n),
            "b": rng.exponential(size=n),
            "s": ["x", "y"] * (n // 2) + ["x"] * (n % 2),
            "w": rng.uniform(1, 3, n),
            "u": np.arange(n) % 8,
        }
    )


def least(data, k, strata=None):
    """The least loss in percent, by brute force: of all records, or within strata."""
    Z = standardise([np.asarray(data["a"]), np.asarray(data["b"])])[0]
    parts = [Z] if strata is None else [Z[np.asarray(strata) == s] for s in sorted(set(strata))]
    return 100 * sum(brute_force(part, k) for part in parts) / np.square(Z - Z.mean(0)).sum()


def exact(data, k=3, **fields):
    return shoal.microaggregate(data, k, columns=["a", "b"], method="exact", **fields)


@pytest.mark.parametrize("seed", range(3))
def test_it_loses_least_and_says_that_it_is_proven(seed):
    data = table(seed=seed)
    release = exact(data)
    assert release.information_loss == pytest.approx(least(data, 3), rel=1e-9)
    assert release.outcome.proven
    assert release.outcome.bound == pytest.approx(release.information_loss, rel=3e-9)
    assert release.notes[0] == (
        f"lost {release.information_loss:.4g} %; " + PROVEN.format("", 3) + "published as means, loses less"
    )


def test_strata_are_proven_by_their_sum():
    data = table(16, 4)
    release = exact(data, 2, strata="s")
    assert release.information_loss == pytest.approx(least(data, 2, data["s"].to_pylist()), rel=1e-9)
    assert release.outcome.proven
    assert PROVEN.format(" within their strata", 2) in release.notes[0]


def test_a_stratum_of_one_group_is_proven_too():
    data = table(10)  # two strata of five records
    assert exact(data, 3, strata="s").outcome.proven
    assert exact(data, 1).outcome.proven


@pytest.mark.parametrize(
    "fields",
    [
        {"unit": "u"},
        {"unit": ["s", "u"]},
        {"diversity": {"s": 2}},
        {"centroids": {"a": "median"}},
        {"round": {"a": 0}},
    ],
    ids=str,
)
def test_units_requirements_and_other_centroids_get_the_bound_only(fields):
    data = table(12, 1)
    release = exact(data, 2, **fields)
    assert not release.outcome.proven
    assert "proven: no" not in release.notes[0]
    assert release.outcome.bound == pytest.approx(least(data, 2), rel=3e-9)
    assert release.notes[0].endswith(
        f"into groups of at least 2 loses less than {release.outcome.bound:.4g} %"
    )


@pytest.mark.parametrize(
    "fields", [{"weight": "w"}, {"scaling": "range"}, {"log": ["b"]}, {"column_weights": {"a": 2.0}}], ids=str
)
def test_where_the_loss_is_measured_otherwise_nothing_is_proven_and_it_is_said(fields):
    release = exact(table(12, 1), 2, **fields)
    assert release.outcome.bound is None
    assert not release.outcome.proven
    assert "; nothing is proven: that needs whole, unweighted records" in release.notes[0]


def test_gaps_prove_nothing():
    data = table(12, 1)
    data = data.set_column(0, "a", pa.array([None, *data["a"].to_pylist()[1:]]))
    assert exact(data, 2).outcome.bound is None


def test_columns_by_themselves_are_proven_at_once_whatever_their_length():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    release = shoal.microaggregate(X, 3, method="exact", per_column=True)
    other = shoal.microaggregate(X, 3, method="univariate", per_column=True)
    assert release.information_loss == pytest.approx(other.information_loss, rel=1e-12)
    assert release.outcome.proven
    assert "records, each column by itself, on" in release.notes[0]


def test_other_methods_say_nothing():
    release = shoal.microaggregate(table(), 3, columns=["a", "b"], method="mdav")
    assert (release.outcome.bound, release.outcome.proven) == (None, False)
    assert not any("grouping" in note for note in release.notes)


def test_disk_says_it_of_a_table_in_one_block_only(tmp_path):
    source = tmp_path / "in.parquet"
    data = table(40).select(["a", "b"])
    pq.write_table(data, source)
    plan = shoal.Plan(3, method="exact")
    one = engine.run(plan, source, tmp_path / "one.parquet")
    two = engine.run(plan, source, tmp_path / "two.parquet", block_records=20)
    assert one.proven
    assert one.notes[0] == exact(data).notes[0]
    assert (two.bound, two.proven) == (None, False)
    assert "nothing is proven" in two.notes[0]


def test_the_command_line_says_it(tmp_path):
    pq.write_table(table().select(["a", "b"]), tmp_path / "in.parquet")
    words = ["protect", str(tmp_path / "in.parquet"), "-k", "3", "-m", "exact", "--json"]
    done = CliRunner().invoke(app, words)
    told = json.loads(done.stdout)
    assert told["proven"]
    assert PROVEN.format("", 3) in told["notes"][0]
    assert "proven: no grouping" in " ".join(done.stderr.split())
