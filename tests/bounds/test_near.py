"""A search for a bound may end as soon as it shows enough."""

import shoal
from shoal.datasets import survey


def test_the_search_ends_when_a_release_is_shown_to_lie_near_enough(monkeypatch):
    from shoal.bounds.program import Program

    rounds = []
    once = Program.converge
    monkeypatch.setattr(Program, "converge", lambda *a, **k: rounds.append(0) or once(*a, **k))
    release = shoal.microaggregate(survey(60, 3), 3, columns=["turnover", "wages"])
    best = release.bound(20)
    most = len(rounds)
    rounds.clear()
    near = release.bound(20, near=1.0)
    assert len(rounds) == 1 < most
    assert near.verify(release.original, ["turnover", "wages"])
    assert near.information_loss <= best.information_loss <= release.information_loss
    assert near.gap(release.information_loss) <= 1.0
