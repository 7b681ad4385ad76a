"""RepOrdMic, IMHM and IGD: Tables 2 and 3 of the RepOrdMic paper (000)."""

import functools

import numpy as np
import pytest

from shoal.algorithms.igd import igd
from shoal.algorithms.repordmic import kmeans_starts, repeated_ordering
from tests.loss import information_loss
from tests.published.data import load, loss


def cells(table):
    """(dataset, k, figure) for each figure of a table for k = 3, 5, 10."""
    return [(name, k, figure) for name, row in table.items() for k, figure in zip((3, 5, 10), row)]


# Table 2, of 200 starts. The least over starts is luck: here, with 40, nearest insertion comes within 5 %
# (benchmarks: 200 starts, both insertions, several seeds, within 2 %).
REPORDMIC = {"tarragona": (14.80, 21.13, 31.13), "census": (5.01, 7.94, 12.74)}


@functools.cache
def forty_starts(dataset):
    return kmeans_starts(load(dataset), 40, np.random.default_rng(0))


@pytest.mark.parametrize(("dataset", "k", "figure"), cells(REPORDMIC))
def test_repordmic_from_forty_starts(dataset, k, figure):
    Z = load(dataset)
    outcomes = repeated_ordering(Z, k, forty_starts(dataset))
    assert 100 * min(o.sse[-1] for o in outcomes) / (len(Z) - 1) / Z.shape[1] <= 1.05 * figure
    assert 8 < np.mean([len(o.sse) for o in outcomes]) < 20  # Table 3: 11.84 to 14.94


def test_repordmic_on_eia_from_one_start():
    Z = load("eia")
    outcome = repeated_ordering(Z, 10, kmeans_starts(Z, 5, np.random.default_rng(0))[-1:])[0]
    assert 100 * outcome.sse[-1] / (len(Z) - 1) / Z.shape[1] < 2.2  # printed, best of 200: 1.99


# Only the abstract of IMHM is public: ours comes within 2 % of the printed figures, or below.
IMHM = {"tarragona": (16.93, 22.18, 30.78), "census": (5.37, 8.42, 12.23)}


@pytest.mark.parametrize(("dataset", "k", "figure"), [*cells(IMHM), ("eia", 10, 2.17)])
def test_imhm_against_the_printed_figures(dataset, k, figure):
    assert loss("imhm", dataset, k) <= 1.02 * figure


# The paper names no start for IGD: the better of MDAV and C comes within 1 % of each figure, or below.
IGD = {"tarragona": (15.60, 21.31, 32.87), "census": (5.33, 8.37, 12.65), "eia": (0.39, 0.76, 2.02)}


@pytest.mark.parametrize(("dataset", "k", "figure"), cells(IGD))
def test_igd_comes_close_to_its_figures(dataset, k, figure):
    Z = load(dataset)
    losses = [information_loss(Z, igd(Z, k, start=start)) for start in ("mdav", "centroid")]
    assert min(losses) < 1.01 * figure
