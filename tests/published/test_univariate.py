"""The exact optimum of whole numbers: Tables 1 and 3 of Mortazavi 2020 (the IMHMI paper, 003)."""

import csv

import numpy as np
import pytest
from benchmarks.integer_table import half_away, whole_sse

from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.kernels.sequence.cut import cut, labels_of, whole_sizes
from tests.published.data import load, printed

#: Table 1, n = 500,000: k -> IMHM mean and deviation, IMHMI mean and deviation of 30 runs
TABLE_1 = {
    2: (162_179.73, 238.56, 162_047.27, 236.22),
    3: (358_295.97, 575.57, 357_851.10, 568.23),
    4: (653_519.13, 969.39, 652_297.20, 967.96),
    5: (1_026_032.43, 1320.03, 1_025_130.97, 1308.71),
    10: (4_176_390.33, 4697.34, 4_175_597.67, 4692.73),
}


@pytest.mark.figures(2)
@pytest.mark.parametrize("k", TABLE_1)
def test_table_1(k):
    """The mean of three runs lies within three of its standard errors (theirs has its own) of the printed.

    The numbers are drawn at random: this test needs no data.
    """
    n, runs = 500_000, 3
    found = []
    for seed in range(runs):
        x = np.random.default_rng(seed).integers(-n // 2, n // 2, n, endpoint=True)[:, None]
        methods = [get_method(key) for key in ("univariate", "univariate_integer")]
        found.append([whole_sse(x, run_method(method, x, k).labels) for method in methods])
        assert found[-1][1] <= found[-1][0]
    real, real_spread, whole, whole_spread = TABLE_1[k]
    error = 3 * (1 / runs + 1 / 30) ** 0.5
    assert np.mean(found, axis=0)[0] == pytest.approx(real, abs=error * real_spread)
    assert np.mean(found, axis=0)[1] == pytest.approx(whole, abs=error * whole_spread)


# The figures of test_orders.py once more, not counted twice: there by a plain search in whole numbers, here
# by the kernels.
@pytest.mark.figures(0)
@pytest.mark.parametrize("dataset", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("ordering", ["PCA", "Z-score"])
def test_table_3_by_the_kernels(dataset, ordering):
    Z = load(dataset)
    if ordering == "PCA":
        axis = np.linalg.eigh(Z.T @ Z)[1][:, -1]
        order = np.argsort(Z @ axis, kind="stable")
    else:
        order = np.argsort(Z.sum(axis=1), kind="stable")
    whole = half_away(100 * Z)[order]
    with printed("imhmi_table3_sse.csv").open() as handle:
        rows = [r for r in csv.DictReader(handle) if (r["dataset"], r["ordering"]) == (dataset, ordering)]
    assert len(rows) == 5
    for row in rows:
        k = int(row["k"])
        assert whole_sse(whole, labels_of(whole_sizes(whole, k))) == int(row["sse_imhmi"])
        assert whole_sse(whole, cut(whole.astype(float), k)) == int(row["sse_imhm"])
