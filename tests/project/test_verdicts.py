"""How the benchmarks judge a measured figure beside a printed one."""

import pytest
from benchmarks._published import Printed, beside, verdict


@pytest.mark.parametrize(
    ("dataset", "loss", "decimals", "measured", "word"),
    [
        ("tarragona", 15.60, 2, 15.6049, "same"),
        ("tarragona", 15.60, 2, 15.6051, "close"),
        ("tarragona", 15.60, 2, 15.2, "lower"),
        ("tarragona", 15.60, 2, 16.0, "higher"),
        ("tarragona", 9.8572, 4, 17.2, "impossible"),
        ("sim_1", 0.013, 3, 0.01349, "same"),
    ],
)
def test_verdict(dataset, loss, decimals, measured, word):
    assert verdict(Printed("D", dataset, 3, loss, decimals, "001 Table 5"), measured) == word


def test_beside_has_a_margin_of_two_percent():
    assert [beside(100.0, x) for x in (97.9, 98.1, 101.9, 102.1)] == ["lower", "close", "close", "higher"]
