"""The demo survey is believable and always the same."""

import numpy as np

from shoal.datasets import survey


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
