"""Multi-DSort's sorting."""

import numpy as np

from shoal.algorithms.pairwise import rank_sums, value_orders


def test_multi_dsort_sorts_the_papers_five_rows():
    # Multi-DSort paper, Tables 1 to 3: rank sums 9, 8, 4, 3, 6; the rows in order are 4, 3, 5, 2, 1.
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    sums = rank_sums(value_orders(rows), 5, np.ones(5, np.bool_))
    assert sums.tolist() == [9, 8, 4, 3, 6]
    assert (np.argsort(sums) + 1).tolist() == [4, 3, 5, 2, 1]


def test_ranks_are_counted_among_the_free_records_only():
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    orders = value_orders(rows)
    free = np.array([True, True, False, False, True])
    assert rank_sums(orders, 5, free).tolist() == [5, 4, 0, 0, 3]
    free[4] = False
    assert rank_sums(orders, 3, free).tolist() == [3, 3, 0, 0, 0]
