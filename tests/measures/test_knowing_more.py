"""Kept columns, units, rows of a kind and cells of the original: what k alone does not promise."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.datasets import survey
from shoal.measures.groups import real_cells
from tests.measures.test_gaps import brute_linkage


@pytest.fixture(scope="module")
def table():
    return survey(300).to_pandas()


COLUMNS = ["turnover", "wages", "profit"]


def test_an_intruder_uses_what_is_kept(table):
    release = shoal.microaggregate(table, 5, columns=COLUMNS, method="mdav")
    found = release.risk()["linkage"]
    assert found.detail["known"] == ["region", "sector"]  # and not employees, assets, energy_use
    both = table["region"] + table["sector"]
    assert found.overall == pytest.approx(brute_linkage(table[COLUMNS], release.table[COLUMNS], both))
    assert found.detail["without_known"] == pytest.approx(
        brute_linkage(table[COLUMNS], release.table[COLUMNS])
    )
    assert found.detail["without_known"] <= 1 / 5 < found.overall
    one = found.detail["by_known_columns"][0]
    by_hand = [brute_linkage(table[[c]], release.table[[c]], both) for c in COLUMNS]
    assert one["share"] == pytest.approx(np.mean(by_hand))
    assert release.risk(known=()).notes == release.risk().notes
    assert release.risk(known=())["linkage"].overall == found.detail["without_known"]


def test_a_published_stratum_halves_the_group_in_which_somebody_hides():
    """Stated were 8 %, and it is 17 %: of the twelve who share a cell, six live in either region."""
    before = pd.DataFrame({"wage": np.arange(60.0), "region": ["north", "south"] * 30})
    after = before.assign(wage=before["wage"] // 12 * 12 + 5.5)
    found = shoal.risk(before, after, ["wage"])["linkage"]
    assert (found.overall, found.detail["without_known"]) == pytest.approx((1 / 6, 1 / 12))
    assert f"{found.overall:.0%} {found.detail['without_known']:.0%}" == "17% 8%"


def test_who_knows_what_is_in_the_plan(table):
    region = shoal.microaggregate(table, 5, columns=COLUMNS, method="mdav", known=["region"])
    assert region.risk()["linkage"].overall == pytest.approx(
        brute_linkage(table[COLUMNS], region.table[COLUMNS], table["region"])
    )
    roles = {"sector": "confidential", "weight": "weight"}
    weighted = table.assign(weight=1 + np.arange(300) % 3)
    hidden = shoal.microaggregate(weighted, 5, columns=COLUMNS, method="mdav", roles=roles)
    assert hidden.risk()["linkage"].detail["known"] == ["region"]
    assert hidden.risk(confidential=["region"])["linkage"].detail["known"] == []
    with pytest.raises(shoal.InputError, match="no column 'regon'"):
        shoal.risk(table, region.table, COLUMNS, known=["regon"])


def test_published_strata_are_known_whatever_their_number(table):
    fine = table.assign(place=np.arange(300) % 30)
    release = shoal.microaggregate(fine, 3, columns=COLUMNS, strata=["place"], method="mdav", known=())
    found = release.risk()["linkage"]
    assert found.detail["known"] == ["place"]
    assert found.overall == pytest.approx(brute_linkage(fine[COLUMNS], release.table[COLUMNS], fine["place"]))
    assert found.overall <= 1 / 3 + 1e-12


def test_a_column_of_mixed_kinds_can_be_known():
    before = pd.DataFrame({"x": [1.0, 2, 3, 4], "odd": ["a", 1, "a", 1]})
    after = before.assign(x=2.5)
    assert shoal.risk(before, after, ["x"])["linkage"].overall == 0.5


def test_the_right_unit_is_enough():
    rng = np.random.default_rng(5)
    before = rng.normal(size=(60, 2)).round(1)
    units = rng.permutation(np.arange(60) // 3)
    after = shoal.microaggregate(before, 4, method="mdav").table
    found = shoal.risk(before, after, units=units)
    assert found["linkage"].overall == pytest.approx(brute_linkage(before, after, units=units))
    assert found["linkage"].overall > shoal.risk(before, after)["linkage"].overall
    rows = {tuple(row) for row in after.tolist()}
    fewest = min(len({u for u, row in zip(units, after.tolist()) if tuple(row) == one}) for one in rows)
    assert found["k"].overall == fewest < 4
    # more tied points than are looked at first
    corners = np.eye(10)
    pairs = np.arange(10) // 2
    assert shoal.risk(np.zeros((10, 10)), corners, units=pairs)["linkage"].overall == pytest.approx(0.2)


def test_rows_of_a_kind_by_hand():
    n = 60
    before = pa.table(
        {"x": [1.0] * n, "sex": [*"f" * 59, None], "note": [str(i // 2 * (i > 3)) for i in range(n)]}
    )
    after = before.set_column(0, "x", pa.array([2.0] * 58 + [None, None]))
    found = shoal.risk(before, after, ["x"])["unique_rows"]
    assert found.overall == 2  # a gap with f, a gap with a gap
    assert found.detail == {"on_all_columns": 2, "kept": ["sex"]}
    assert shoal.risk(before, after.drop_columns(["sex"]), ["x"])["unique_rows"].overall == 0


def test_rows_of_a_kind_are_those_of_the_outcome(table):
    release = shoal.microaggregate(table, 5, columns=COLUMNS, method="mdav", roles={"sector": "confidential"})
    found = release.risk()["unique_rows"]
    rows = release.table[[*COLUMNS, "region", "sector"]]
    assert found.overall == (~rows.duplicated(keep=False)).sum() == release.outcome.unique_on_categories
    alone = (~release.table.duplicated(keep=False)).sum()
    assert found.detail["on_all_columns"] == alone == release.outcome.unique_rows


def test_medians_publish_cells_of_the_original(table):
    for centroid, share in (("median", 1.0), ("trimmed", 1.0), ("mode", 1.0)):
        release = shoal.microaggregate(
            table[COLUMNS].astype(float), 3, columns=COLUMNS, method="mdav", centroids=centroid
        )
        assert release.risk()["real_cells"].overall == pytest.approx(share)
    mean = shoal.microaggregate(table[COLUMNS].astype(float), 3, columns=COLUMNS, method="mdav")
    assert mean.risk()["real_cells"].overall < 0.1


def test_real_cells_by_hand():
    nan = np.nan
    before = np.array([1.0, 2, 3, 4, 5, 9, nan, nan, 7, nan])
    after = np.array([2.0, 2, 2, 6, 6, 6, nan, nan, 7, 7])
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    assert real_cells(before, after, labels) == pytest.approx(2 / 3)  # a group of gaps tells nothing
    assert real_cells(before[6:8], after[6:8], labels[:2]) == 0
