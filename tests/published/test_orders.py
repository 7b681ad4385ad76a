"""The optimal partition along an order: what the IMHMI and Multi-DSort papers print."""

import functools

import pytest
from benchmarks.integer_table import ORDERS, integer_sse
from benchmarks.integer_table import printed as printed_table

from tests.published.data import decimals, load, loss, printed

DATASETS = ["tarragona", "census", "eia"]


@functools.cache
def rows_along(dataset, order):
    return ORDERS[order](load(dataset))


def both(dataset, k, order):
    """The integer SSE of IMHM and of IMHMI: as measured, and as printed."""
    printed("imhmi_table3_sse.csv")
    return integer_sse(load(dataset), k, rows_along(dataset, order)), printed_table()[dataset, k, order]


# IMHMI paper (003), Table 3: the columns IMHM and IMHMI, exact integers.
@pytest.mark.figures(2)
@pytest.mark.parametrize("order", ["NPN", "PCA", "Z-score"])
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_integer_sse_table(dataset, order, k):
    measured, figures = both(dataset, k, order)
    assert measured == figures


# The same table's largest dataset. Sums of Z-scores differ by as little as 3e-12: the last
# digits order some neighbours, which is seen at k below 10.
@pytest.mark.figures(2)
@pytest.mark.parametrize(("order", "apart"), [("PCA", 0.0), ("Z-score", 5e-6)])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_integer_sse_of_the_forest(order, apart, k):
    measured, figures = both("forest", k, order)
    assert measured == pytest.approx(figures, rel=apart, abs=0)


# The same table's TSP columns: the paper's tour is another. Ours must come within 3 % of them, or below.
@pytest.mark.figures(2)
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_tour_against_the_printed_tours(dataset, k):
    for measured, figure in zip(*both(dataset, k, "TSP")):
        assert measured <= 1.03 * figure


# NPN from the record farthest from the centroid, as an independent version measured it.
@pytest.mark.parametrize(("k", "figure"), [(3, "17.5258"), (5, "28.17"), (10, "38.72")])
def test_npn_on_tarragona(k, figure):
    assert f"{loss('npn_mhm', 'tarragona', k):.{decimals(figure)}f}" == figure


# Multi-DSort paper (004), Tables 6 to 8, k = 3, 5, 10. The originals' chains are not known: ours come within
# 2 %, or below. NPN-MHM there is another path: see the test above.
CHAINED = {
    ("mdav_mhm", "tarragona"): (16.9326, 22.4617, 33.1923),
    ("mdav_mhm", "census"): (5.6523, 9.087, 14.2239),
    ("mdav_mhm", "eia"): (0.4081, 1.2563, 3.7725),
    ("md_mhm", "tarragona"): (16.9829, 22.5269, 33.1834),
    ("md_mhm", "census"): (5.69724, 8.98594, 14.3965),
    ("md_mhm", "eia"): (0.4422, 1.2627, 3.6374),
    ("cbfs_mhm", "tarragona"): (16.9714, 22.8227, 33.2188),
    ("cbfs_mhm", "census"): (5.6734, 8.8942, 13.8925),
}


@pytest.mark.parametrize(
    ("key", "dataset", "k", "figure"),
    [(*at, k, figure) for at, row in CHAINED.items() for k, figure in zip((3, 5, 10), row)],
)
def test_chained_groups_against_the_printed_figures(key, dataset, k, figure):
    chained = loss(key, dataset, k)
    assert chained <= 1.02 * figure
    if dataset != "eia":  # spares the slow MD
        assert chained <= loss(key.removesuffix("_mhm"), dataset, k) + 1e-9
