"""The file of printed figures that `make reproduce` goes through."""

import pytest
from benchmarks._published import BOUNDS, KEYS, printed_losses

from shoal.grouping.registry import methods
from tests.published.data import printed


@pytest.mark.figures(0)
def test_every_printed_method_is_registered_and_trailing_zeros_count():
    figures = printed_losses(printed("information_loss.csv").parent)
    assert {KEYS[figure.method] for figure in figures if figure.method != "UB"} <= methods().keys()
    decimals = {(f.table, f.method, f.dataset, f.k): f.decimals for f in figures}
    assert decimals["001 Table 5", "D", "tarragona", 3] == 2  # 15.60, in the file 15.6
    assert decimals["004 Table 6", "TFRP-1", "tarragona", 5] == 3  # 22.110
    assert decimals["004 Table 7", "MDAV-1", "census", 10] == 8  # ten digits in all
    assert decimals["000 Table 2", "RepOrdMic", "eia", 3] == 3
    below = {f.method for f in figures if f.loss < BOUNDS.get((f.dataset, f.k), 0)}
    assert below == {"Multi-DSort"}
