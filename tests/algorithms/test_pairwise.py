"""Multi-DSort's sorting."""

import numpy as np

from shoal.algorithms.pairwise import rank_sums


def test_multi_dsort_sorts_the_papers_five_rows():
    # Multi-DSort paper, Tables 1 to 3: rank sums 9, 8, 4, 3, 6; the rows in order are 4, 3, 5, 2, 1.
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    sums, _ = rank_sums(rows.argsort(axis=0).T, np.ones(5, np.bool_))
    assert sums.tolist() == [9, 8, 4, 3, 6]
    assert (np.argsort(sums) + 1).tolist() == [4, 3, 5, 2, 1]


def test_ranks_are_counted_among_the_free_records_only():
    rows = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    free = np.array([True, True, False, False, True])
    sums, orders = rank_sums(rows.argsort(axis=0).T, free)
    assert sums.tolist() == [5, 4, 0, 0, 3]
    free[4] = False
    assert rank_sums(orders, free)[0].tolist() == [3, 3, 0, 0, 0]
