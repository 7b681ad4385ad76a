"""Units: whom k protects, where one has several records."""

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.errors import InputError
from shoal.stages.units import group_sizes, published_once


def households(n=90, seed=0, gaps=0.0):
    """People in households of one to five: an income of each household, an age and a wage of each person."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n)
    hid = np.repeat(rng.permutation(n) + 1000, sizes)
    wage = np.round(rng.lognormal(2, 0.6, len(hid)), 2)
    wage[rng.random(len(hid)) < gaps] = np.nan
    return pd.DataFrame(
        {
            "hid": hid,
            "income": np.repeat(np.round(rng.lognormal(10, 0.7, n)), sizes),
            "region": np.repeat(rng.choice(["north", "south"], n), sizes),
            "age": rng.integers(0, 95, len(hid)),
            "wage": wage,
            "work": rng.choice(["none", "part", "full"], len(hid)),
            "w": rng.uniform(1, 9, len(hid)),
        }
    )


def units_behind(table, release, columns):
    """For each published combination, how many different households it belongs to."""
    published = release.table[list(columns)].copy()
    return (
        published.assign(unit=table["hid"].to_numpy()).groupby(list(columns), dropna=False)["unit"].nunique()
    )


PLANS = [
    {"columns": ["income"]},
    {"columns": ["wage", "age"]},
    {"columns": ["income", "wage", "age"]},
    {"columns": ["income", "wage"], "method": "mdav"},
    {"columns": ["wage", "age"], "method": "mst_d"},
    {"columns": ["income", "work"], "types": {"work": "nominal"}},
    {"columns": ["income", "wage"], "strata": ["region"]},
    {"columns": ["income", "wage"], "weight": "w"},
    {"columns": ["income", "wage"], "scaling": "rank", "log": ["wage"]},
    {"columns": ["age"], "preserve": "totals"},
]


@pytest.mark.no_cover
@pytest.mark.parametrize("options", PLANS, ids=str)
def test_every_published_combination_belongs_to_k_units(options):
    """Every other table has gaps in its wages."""
    table = households(45, gaps=0.15 * (PLANS.index(options) % 2))
    release = shoal.microaggregate(table, 4, unit="hid", **options)
    counted = [*options["columns"], *options.get("strata", ())]
    assert units_behind(table, release, counted).min() >= 4
    assert "hid" not in release.table.columns
    assert release.outcome.counted == "units"
    assert release.outcome.smallest_group >= 4
    assert "records of at least 4 different units (hid)" in release.promise


def test_without_units_k_rows_may_be_one_household():
    table = pd.concat([households()[["hid", "income"]].drop_duplicates()] * 3)
    alone = shoal.microaggregate(table, 3, columns=["income"], roles={"hid": "identifier"})
    assert alone.information_loss == 0  # every exact income is published
    assert units_behind(table, alone, ["income"]).min() == 1
    assert any("fewer than k=3" in note and "hid" in note for note in alone.notes)
    together = shoal.microaggregate(table, 3, columns=["income"], unit="hid")
    assert units_behind(table, together, ["income"]).min() >= 3
    assert not set(together.table["income"]) & set(table["income"])


@pytest.mark.no_cover
def test_what_is_the_same_within_units_is_published_once_for_each():
    table = households(50)
    release = shoal.microaggregate(table, 3, columns=["income", "wage", "age"], unit="hid")
    assert (release.table["income"].groupby(table["hid"]).nunique() == 1).all()
    assert (release.table["wage"].groupby(table["hid"]).nunique() > 1).any()
    groups = (
        table.assign(published=release.table["income"]).drop_duplicates("hid").groupby("published")["income"]
    )
    np.testing.assert_allclose(groups.mean(), groups.mean().index)  # the mean of households, not of people


def test_a_unit_of_two_columns():
    table = households().rename(columns={"hid": "number"}).assign(town=lambda t: t["number"] % 2)
    table["number"] //= 2
    release = shoal.microaggregate(table, 3, columns=["wage"], unit=["town", "number"])
    assert list(release.table.columns) == [c for c in table.columns if c not in ("town", "number")]
    pairs = table["town"].astype(str) + "/" + table["number"].astype(str)
    assert pairs.groupby(release.table["wage"]).nunique().min() >= 3


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"hid": [None] + [1.0] * 9}, {}, "column 'hid' has a gap in row 1, but every record needs its unit"),
        (
            {"hid": [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]},
            {},
            "k=3 needs at least 3 units, but the table has 2: lower k",
        ),
        ({"s": list("aaaaaaaabb")}, {"strata": "s"}, "needs at least 3 units, but stratum 'b' has 1"),
        ({}, {"keep": "hid"}, "column 'hid' cannot be both kept and unit: choose one"),
        ({}, {"columns": ["hid", "x"]}, "column 'hid' cannot be both quasi and unit: choose one"),
        ({}, {"order": "keep"}, "with unit, order is 'shuffle', not 'keep'"),
        ({}, {"unit": "house"}, "there is no column 'house'"),
    ],
)
def test_wrong_units_in_one_sentence(change, options, sentence):
    table = pd.DataFrame({"hid": np.arange(10) // 2, "x": np.arange(10.0)} | change)
    with pytest.raises(InputError, match=sentence):
        shoal.microaggregate(table, 3, **{"columns": ["x"], "unit": "hid"} | options)


def test_small_strata_are_merged_by_their_units():
    table = households().assign(region="north")
    few = table["hid"].isin(table["hid"].unique()[:2])
    table.loc[few, "region"] = "islands"
    release = shoal.microaggregate(
        table, 3, columns=["wage"], unit="hid", strata="region", merge_small_strata=True
    )
    assert set(release.table["region"]) == {"north"}
    assert units_behind(table, release, ["wage", "region"]).min() >= 3


def test_the_file_is_counted_by_units_before_it_takes_its_name(tmp_path):
    table = households()
    release = shoal.microaggregate(table, 3, columns=["wage", "age"], unit="hid")
    release.write(tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(table)
    from dataclasses import replace

    alike = replace(release, units=np.zeros(len(table), np.int64))
    with pytest.raises(shoal.CheckFailed, match="shared by fewer than k=3 units"):
        alike.write(tmp_path / "no.csv")
    assert not (tmp_path / "no.csv").exists()


@pytest.mark.no_cover
def test_what_is_the_same_within_units_may_be_grouped_over_records():
    """Then a household's records publish several incomes, and much less of the wages is lost."""
    table = households(50)
    columns = ["income", "wage", "age"]
    once = shoal.microaggregate(table, 3, columns=columns, unit="hid")
    assert any("published once for each: income (by_record, --by-record" in note for note in once.notes)
    release = shoal.microaggregate(table, 3, columns=columns, unit="hid", by_record="income")
    assert not any("published once" in note for note in release.notes)
    assert (release.table["income"].groupby(table["hid"]).nunique() > 1).any()
    assert units_behind(table, release, columns).min() >= 3
    assert release.information_loss < once.information_loss
    with pytest.raises(InputError, match="there is no column 'incme': did you mean 'income'"):
        shoal.microaggregate(table, 3, columns=columns, unit="hid", by_record="incme")


@pytest.mark.no_cover
def test_records_of_units_that_publish_the_same_are_grouped_together():
    """160 units with one of four levels each: nothing of it is lost, and records choose among 40 units.

    Before, the records of five units or so were grouped among themselves.
    """
    hid = np.arange(640) // 4
    x = np.random.default_rng(1).normal(size=640)
    table = pd.DataFrame({"hid": hid, "level": hid % 4, "x": x})
    release = shoal.microaggregate(table, 5, columns=["level", "x"], unit="hid", method="mdav")
    assert (release.table["level"] == table["level"]).all()
    assert units_behind(table, release, ["level", "x"]).min() >= 5
    assert release.information_loss < 2
    gappy = table.assign(level=table["level"].where(table["level"] > 0))
    holes = shoal.microaggregate(gappy, 5, columns=["level", "x"], unit="hid", method="mdav")
    assert holes.table["level"].equals(gappy["level"])
    strata = table.assign(s=np.where(hid < 80, "a", "b"))
    both = shoal.microaggregate(strata, 5, columns=["level", "x"], unit="hid", method="mdav", strata="s")
    assert units_behind(table.assign(s=strata["s"]), both, ["level", "x", "s"]).min() >= 5


def test_constant_columns_and_sizes_by_units():
    from shoal.frame.column import Column

    plan = shoal.Plan(2)
    units = np.array([7, 7, -3, -3, 9])
    column = Column("x", "continuous", np.array([1.0, 1, 2, 2, 3]))
    assert published_once(plan, column, units)
    assert not published_once(shoal.Plan(2, by_record="x"), column, units)
    assert not published_once(shoal.Plan(2, preserve="totals"), column, units)
    assert not published_once(plan, column.holding(np.array([1.0, 2, 2, 2, 3]), None), units)
    assert not published_once(
        plan, column.holding(column.values, np.array([True, False, False, False, False])), units
    )
    labels = np.array([0, 0, 0, 1, 1])
    assert group_sizes(labels).tolist() == [3, 2]
    assert group_sizes(labels, units).tolist() == [2, 2]
