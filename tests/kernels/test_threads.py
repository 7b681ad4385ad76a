"""The threads that are kept: order, errors, and no waiting for one another."""

import os
import threading

import pytest

from shoal.kernels.runtime.threads import map_threads, together


def test_results_come_in_the_order_of_the_items():
    assert map_threads(lambda i: i * i, range(50), threads=4) == [i * i for i in range(50)]
    assert map_threads(str, [], threads=4) == []


def test_several_work_at_the_same_time():
    meeting = threading.Barrier(3)
    assert sorted(map_threads(lambda i: meeting.wait(10), range(3), threads=3)) == [0, 1, 2]


def test_threads_within_threads_never_wait_for_a_free_one():
    def tree(depth):
        return sum(map_threads(tree, [depth - 1] * 4, threads=4)) if depth else 1

    assert tree(4) == 4**4


def test_the_first_error_is_raised_and_what_has_not_begun_does_not_begin():
    begun = []

    def work(i):
        begun.append(i)
        raise ValueError(i)

    with pytest.raises(ValueError, match="0"):
        map_threads(work, range(1000), threads=3)
    assert len(begun) <= 3
    assert together(lambda: 1, lambda: 2) == [1, 2]  # those threads are there again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    map_threads(str, range(4), threads=4)
    child = os.fork()
    if child == 0:
        meeting = threading.Barrier(2)
        try:
            map_threads(lambda i: meeting.wait(10), range(2), threads=2)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
