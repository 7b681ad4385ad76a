"""Reports of releases that leave little to show."""

import numpy as np
import pytest

import shoal

pytestmark = pytest.mark.filterwarnings("error")


def test_a_report_of_huge_doubles(tmp_path):
    X = np.array([[1.7e308, -1.7e308, 1.0, 2, 3, -1.7e308] * 2, range(12)], float).T
    release = shoal.microaggregate(X, 3)
    for edition in ("internal", "public"):
        release.report(tmp_path / "report.html", edition=edition, bound_time=None)
        assert "<svg" in (tmp_path / "report.html").read_text()


def test_a_release_whose_records_all_have_gaps_gets_its_report(tmp_path):
    nan = np.nan
    X = np.array([[1, nan], [2, nan], [3, nan], [nan, 4], [nan, 5], [nan, 6]])
    release = shoal.microaggregate(X, 3)
    release.report(tmp_path / "report.txt", bound_time=None)
    assert "6 records have a gap" in (tmp_path / "report.txt").read_text()


def test_a_report_of_one_record_without_gaps(tmp_path):
    X = np.array([[1, 2, 3], [1, np.nan, 3], [np.nan, 2, 4]])
    shoal.microaggregate(X, 2).report(tmp_path / "report.html", bound_time=None)
