"""Columns without some of their rows."""

import numpy as np

from shoal.frame.column import categories


def test_categories_keep_their_order_when_rows_are_left_out():
    grade = categories("g", "ordinal", np.array([2, 0, 1, 2]), np.array([False, False, False, True]))
    some = grade.rows(np.array([True, False, True, True]))
    assert some.values[:2].tolist() == [1, 0]  # the lowest of three does not occur any more
    assert some.gaps.tolist() == [False, False, True]
    assert len(some.first) == 2
