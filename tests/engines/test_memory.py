"""Tables in memory: how the time that a plan allows is shared out."""

import pytest

import shoal
from shoal.engines import memory


def test_a_time_limit_counts_what_goes_before_the_method_and_what_follows(monkeypatch):
    monkeypatch.setattr(memory.time, "perf_counter", lambda: 100.0)
    left = lambda limit, parts: memory.time_left(  # noqa: E731
        shoal.Plan(3, time_limit=limit), began=96.0, loaded=99.8, parts=parts
    )
    assert left(None, 1) is None
    assert left(10.0, 1) == pytest.approx(10 - 4 - 0.3)
    assert left(10.0, 2) == pytest.approx((10 - 4 - 0.3) / 2)
    assert left(2.0, 1) == 1e-3  # reading took longer: still the best that can be had at once
