"""The check of groups sees gaps and strata."""

import numpy as np
import pytest

from shoal.errors import CheckFailed
from shoal.frame.column import Column
from shoal.verify.files import check
from shoal.verify.groups import check_groups


def test_the_check_of_columns_sees_gaps_and_strata():
    labels = np.array([0, 0, 1, 1])
    values, gaps = np.zeros(4), np.array([True, False, False, False])
    column = Column("a", "continuous", values, gaps)
    with pytest.raises(CheckFailed, match="different values in column 'a'"):
        check_groups({"a": column}, labels, 2)
    with pytest.raises(CheckFailed, match="crosses strata"):
        check_groups({"a": Column("a", "continuous", values)}, labels, 2, np.array([0, 1, 1, 1]))


def test_a_gap_counts_as_a_value_in_the_check_of_a_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("x,y\n1,1\n1,1\n,1\n,1\n1,\n")
    (finding,) = check(path, 2, ["x", "y"])
    assert (finding.groups, finding.short_groups, finding.smallest_group) == (3, 1, 1)


def test_a_group_of_few_units_is_short_though_it_has_k_records():
    column, labels = Column("a", "continuous", np.zeros(4)), np.array([0, 0, 1, 1])
    check_groups({"a": column}, labels, 2, units=np.array([7, 8, 7, 9]))
    with pytest.raises(CheckFailed, match="a group of 1 units is short of k=2"):
        check_groups({"a": column}, labels, 2, units=np.array([7, 8, 9, 9]))
