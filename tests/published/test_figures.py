"""How a measured figure is judged beside a printed one."""

import pytest
from benchmarks._published import BOUNDS, KEYS, Printed, beside, printed_losses, verdict

from shoal.grouping.registry import methods
from tests.benchmark_data import FOLDER


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


def test_every_printed_method_is_registered_and_trailing_zeros_count():
    folder = FOLDER.parent / "published"
    if not folder.exists():
        pytest.skip(f"printed figures {folder} are absent")
    figures = printed_losses(folder)
    assert {KEYS[figure.method] for figure in figures if figure.method != "UB"} <= methods().keys()
    decimals = {(f.table, f.method, f.dataset, f.k): f.decimals for f in figures}
    assert decimals["001 Table 5", "D", "tarragona", 3] == 2  # 15.60, in the file 15.6
    assert decimals["004 Table 6", "TFRP-1", "tarragona", 5] == 3  # 22.110
    assert decimals["004 Table 7", "MDAV-1", "census", 10] == 8  # ten digits in all
    assert decimals["000 Table 2", "RepOrdMic", "eia", 3] == 3
    below = {f.method for f in figures if f.loss < BOUNDS.get((f.dataset, f.k), 0)}
    assert below == {"Multi-DSort"}
