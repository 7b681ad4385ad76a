"""Groups never cross strata."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import CheckFailed, InputError
from shoal.verify.files import check


def regions(sizes):
    rng = np.random.default_rng(1)
    where = np.repeat(list(sizes), list(sizes.values()))
    means = np.repeat(np.arange(len(sizes)) * 10.0, list(sizes.values()))
    return pa.table({"region": where, "x": rng.normal(means), "y": rng.normal(size=len(where))})


def test_groups_never_cross_strata():
    table = regions({"a": 17, "b": 9, "c": 30})
    release = shoal.microaggregate(table, 4, columns=["x", "y"], strata="region", method="mdav")
    where = np.array(table["region"])
    for g in range(release.labels.max() + 1):
        assert len(set(where[release.labels == g])) == 1
    assert "within its stratum" in release.promise
    for name in "abc":
        alone = table.filter(pa.compute.equal(table["region"], name))
        assert len(np.unique(release.labels[where == name])) == len(alone) // 4
    (finding,) = check(release.table, 4, ["x", "y"], strata=["region"])
    assert finding.passed


def test_a_stratum_short_of_k_is_named_or_merged_with_the_most_similar():
    table = regions({"a": 17, "b": 3, "c": 30, "d": 2})
    with pytest.raises(InputError, match="k=4 needs at least 4 records, but stratum 'b' has 3, 'd' has 2"):
        shoal.microaggregate(table, 4, columns=["x", "y"], strata="region")
    release = shoal.microaggregate(
        table, 4, columns=["x", "y"], strata="region", merge_small_strata=True, method="mdav"
    )
    assert release.notes[0] == "stratum 'd' (2 records) was merged with 'c'"
    assert "stratum 'b' (3 records) was merged with" in release.notes[1]
    where = np.array(table["region"])
    assert set(release.strata[where == "d"]) == set(release.strata[where == "c"])
    assert np.bincount(release.labels).min() >= 4


def test_strata_of_several_columns_and_gaps():
    table = pa.table({"a": ["x", None] * 6, "b": [1, 1, 2, 2] * 3, "v": np.arange(12.0)})
    release = shoal.microaggregate(table, 3, columns="v", strata=["a", "b"])
    assert len(release.group_sizes) == 4
    with pytest.raises(InputError, match="stratum 'no a / 1' has 3"):
        shoal.microaggregate(table, 4, columns="v", strata=["a", "b"])


def test_a_release_in_strata_is_checked_in_its_file(tmp_path):
    table = regions({"a": 17, "b": 3, "c": 30})
    release = shoal.microaggregate(
        table, 4, columns=["x", "y"], strata="region", merge_small_strata=True, method="mdav"
    )
    release.write(tmp_path / "out.csv")
    with pytest.raises(CheckFailed, match="50 records went in, 49 came out"):
        release.require(release.table[:-1])
    with pytest.raises(CheckFailed, match="shared by fewer than"):
        release.require(table)
