"""The demo survey is believable and always the same; the simulated tables have the paper's parameters."""

import numpy as np
import pytest

from shoal.datasets import households, panel, patients, sim, survey
from shoal.errors import InputError


def test_survey_is_deterministic_and_grows_from_its_seed():
    assert survey(300, 1).equals(survey(300, 1))
    assert not survey(300, 1).equals(survey(300, 2))


def test_survey_looks_like_businesses():
    table = survey(5000).to_pandas()
    assert list(table.columns) == [
        *("region", "sector", "employees", "turnover", "wages", "assets", "energy_use", "profit")
    ]
    assert table.dtypes[["employees", "turnover", "wages"]].eq("int64").all()
    assert 0.05 < (table.profit < 0).mean() < 0.5
    assert table.turnover.skew() > 3
    assert np.corrcoef(np.log(table.turnover), np.log(table.wages))[0, 1] > 0.8
    assert table.groupby("sector").energy_use.median().pipe(lambda m: m.max() / m.min()) > 5


# Laszlo and Mukherjee 2005, section 4.1 and Tables 1 to 4
def test_sim_has_the_papers_parameters():
    spreads = (0.010, 0.025, 0.050, 0.075, 0.100, 0.150, 0.200, 0.300)
    for number, spread in enumerate(spreads, 1):
        X, clusters = sim(number)
        sizes = np.bincount(clusters)
        assert X.shape == (len(clusters), 10)
        assert len(sizes) == 200
        assert 10 <= sizes.min() < 20 < 90 < sizes.max() <= 100
        inside = np.concatenate([X[clusters == c] - X[clusters == c].mean(0) for c in range(200)])
        assert np.sqrt(np.square(inside).sum() / (10 * (len(X) - 200))) == pytest.approx(spread, rel=0.02)
        centres = np.array([X[clusters == c].mean(0) for c in range(200)])
        assert np.std(centres) == pytest.approx(1 / np.sqrt(3), rel=0.05)
    assert [len(sim(number)[0]) for number in range(9, 15)] == [20000, 40000, 60000, 80000, 100000, 120000]
    assert [sim(number)[0].shape for number in range(15, 21)] == [
        (10000, d) for d in (20, 40, 60, 80, 100, 200)
    ]
    for number in range(21, 30):
        assert (np.bincount(sim(number)[1]) == number - 13).all()


def test_sim_is_made_from_its_seed():
    assert np.array_equal(sim(22, 5)[0], sim(22, 5)[0])
    assert not np.array_equal(sim(22, 5)[0], sim(22, 6)[0])
    for number in (0, 30):
        with pytest.raises(InputError, match="SIM_1 to SIM_29"):
            sim(number)


def test_households_share_their_rent_and_weight():
    table = households(200).to_pandas()
    assert table["household"].nunique() == 200
    each = table.groupby("household")
    assert each.size().between(1, 5).all()
    assert (each[["rent", "weight"]].nunique() == 1).all(axis=None)
    assert (table.loc[table["age"] < 18, "income"] == 0).all()
    assert households(50, 1).equals(households(50, 1))


def test_patients_are_ill_more_often_where_pressure_is_high():
    table = patients(4000).to_pandas()
    ill = table["diagnosis"] != "none"
    assert table.loc[ill, "pressure"].mean() > table.loc[~ill, "pressure"].mean() + 2
    assert patients(50, 1).equals(patients(50, 1))


def test_a_panel_has_each_firm_once_a_year():
    table = panel(100, years=5).to_pandas()
    assert len(table) == 500
    assert not table.duplicated(["firm", "year"]).any()
    within = table.groupby("firm")["sales"].std().mean()
    assert within < 0.5 * table["sales"].std()  # a firm's years resemble each other
