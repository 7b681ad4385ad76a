"""Odd tables that once broke a release or its report."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_nominal_column_has_no_ranks_and_keeps_its_own_scale():
    table = pa.table({"c": list("aabbccab"), "x": np.arange(8.0)})
    release = shoal.microaggregate(table, 2, columns=["c", "x"], types={"c": "nominal"}, scaling="rank")
    assert np.bincount(release.labels).min() >= 2


@pytest.mark.parametrize(("kind", "top"), [(np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)])
def test_weighted_means_of_whole_numbers_that_no_double_holds(kind, top):
    values = np.array([top - i for i in range(6)], kind)
    table = pa.table({"x": values, "w": np.ones(6)})
    release = shoal.microaggregate(table, 3, columns=["x"], weight="w")
    assert release.table["x"].to_pylist() == [top - 1] * 3 + [top - 4] * 3


def test_weighted_means_lose_no_digits_to_far_values():
    table = pa.table({"x": [0.125, 0.25, 0.375, -1e17, -1e17, -1e17], "w": [1.0, 2, 1, 1, 1, 1]})
    release = shoal.microaggregate(table, 3, columns=["x"], weight="w")
    assert release.table["x"].to_pylist() == [0.25] * 3 + [-1e17] * 3


def test_weighted_means_of_the_largest_doubles_are_finite():
    table = pa.table({"x": [1.7e308, 1.7e308, -1.7e308, -1.7e308], "w": [1e9, 2.0, 0.0, 1.0]})
    release = shoal.microaggregate(table, 2, columns=["x"], weight="w")
    assert release.table["x"].to_pylist() == pytest.approx([1.7e308] * 2 + [-1.7e308] * 2, rel=1e-12)


def test_totals_of_whole_numbers_beyond_int64_are_kept():
    values = [2**63 + v for v in (0, 1, 5, 9, 10, 12, 20)]
    table = pa.table({"x": pa.array(values, pa.uint64())})
    release = shoal.microaggregate(table, 2, preserve="totals")
    assert sum(release.table["x"].to_pylist()) == sum(values)


def test_a_report_of_huge_doubles(tmp_path):
    X = np.array([[1.7e308, -1.7e308, 1.0, 2, 3, -1.7e308] * 2, range(12)], float).T
    release = shoal.microaggregate(X, 3)
    for edition in ("internal", "public"):
        release.report(tmp_path / "report.html", edition=edition, bound_time=None)
        assert "<svg" in (tmp_path / "report.html").read_text()


def test_measures_of_whole_numbers_beyond_2_to_the_53():
    table = pa.table({"x": pa.array([2**63 + 3 * i for i in range(8)], pa.uint64())})
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert shoal.utility(frame, frame, ["x"])["information_loss"].overall == 0


def test_a_gap_is_not_a_text_of_one_space():
    table = pa.table({"c": [" ", " ", None, None, None, "a", "a", "a"]})
    assert shoal.risk(table, table, ["c"])["k"].overall == 2


def test_a_long_text_takes_no_memory_in_every_row():
    texts = ["x" * 10**6, "x" * 10**6 + "y", *["z"] * 50_000]  # as fixed-width texts: 200 GB
    table = pa.table({"c": texts})
    assert shoal.risk(table, table, ["c"], sample=50)["k"].overall == 1


def test_a_release_whose_records_all_have_gaps_gets_its_report(tmp_path):
    nan = np.nan
    X = np.array([[1, nan], [2, nan], [3, nan], [nan, 4], [nan, 5], [nan, 6]])
    release = shoal.microaggregate(X, 3)
    release.report(tmp_path / "report.txt", bound_time=None)
    assert "every record has a gap" in (tmp_path / "report.txt").read_text()


def test_whole_numbers_of_a_stata_file_stay_whole(tmp_path):
    table = pa.table({"x": np.arange(6.0), "n": pa.array([1, 2, None, 4, 5, 2_000_000_000], pa.int32())})
    shoal.write(table, tmp_path / "a.dta")
    shoal.microaggregate(tmp_path / "a.dta", 3, columns=["x"]).write(tmp_path / "b.dta")
    before, after = shoal.read(tmp_path / "a.dta"), shoal.read(tmp_path / "b.dta")
    assert pa.types.is_integer(before["n"].type)
    assert before["n"].equals(after["n"])


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        ([1.7e308, -1.7e308, 1.0, 2.0], {"scaling": "none"}, "squares overflow"),
        (list("aabb"), {"types": {"c": "nominal"}, "log": ["c"]}, "no logarithm"),
        ([[1], [2], [3], [4]], {"types": {"c": "nominal"}}, "no categories"),
    ],
)
def test_what_cannot_be_grouped_is_said_in_one_sentence(cells, options, said):
    table = pa.table({"c": cells, "x": np.arange(4.0)})
    with pytest.raises(shoal.ShoalError, match=said):
        shoal.microaggregate(table, 2, columns=["c", "x"], **options)


def test_a_confidential_column_of_gaps_only():
    table = pa.table({"x": np.arange(4.0), "c": pa.array([None] * 4, pa.float64())})
    assert shoal.risk(table, table, ["x"], confidential=["c"])["k"].overall == 1


def test_the_gaps_of_every_pandas_type_are_gaps_in_measures():
    column = pa.array(["a", "a", None, None])
    for frame in (
        pd.DataFrame({"c": column.to_pandas(types_mapper=pd.ArrowDtype)}),
        pd.DataFrame({"c": pd.array(["a", "a", None, None], "string")}),
    ):
        assert shoal.risk(frame, frame, ["c"])["k"].overall == 2


def test_a_report_of_one_record_without_gaps(tmp_path):
    X = np.array([[1, 2, 3], [1, np.nan, 3], [np.nan, 2, 4]])
    shoal.microaggregate(X, 2).report(tmp_path / "report.html", bound_time=None)
