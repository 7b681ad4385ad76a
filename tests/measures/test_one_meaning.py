"""Information lost is one number wherever it stands, and a code is a category where the plan says so."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.datasets import survey
from shoal.report import build
from tests.measures.test_gaps import brute_linkage

CODES = {"sector": "nominal", "code": "nominal", "size": "ordinal", "day": "date"}


def mixed(records=150, gaps=0.1, seed=3):
    """Numbers, a text, a code of numbers, an ordinal text, dates as text, a weight; with gaps."""
    rng = np.random.default_rng(seed)
    table = survey(records, seed=seed).to_pandas()[["sector", "wages", "profit"]]
    table["code"] = rng.choice([10, 20, 300], records).astype(float)
    table["size"] = rng.choice(["small", "medium", "large"], records)
    days = rng.integers(0, 9000, records)
    table["day"] = [(datetime.date(1990, 1, 1) + datetime.timedelta(int(d))).isoformat() for d in days]
    table["wages"] = table["wages"].astype(float)
    for name in ("wages", "code", "sector"):
        table[name] = table[name].mask(rng.random(records) < gaps)
    table["weight"] = rng.uniform(1, 9, records)
    return table


PLANS = {
    "numbers": {"columns": ["wages", "profit"]},
    "all kinds": {"columns": ["wages", "profit", *CODES]},
    "filled gaps": {"columns": ["wages", "profit", *CODES], "missing": "impute"},
    "weights": {"columns": ["wages", "profit", *CODES], "weight": "weight"},
    "per column": {"columns": ["wages", "profit", "day"], "per_column": True},
    "blocks": {"blocks": [["wages", "sector"], ["profit", "code"]]},
    "medians": {"columns": ["wages", "profit"], "centroids": "median"},
    "other scaling": {"columns": ["wages", "profit"], "scaling": "rank", "log": ["wages"]},
}


@pytest.mark.parametrize("name", PLANS)
def test_information_lost_is_the_outcomes_in_every_place(name):
    plan = PLANS[name]
    used = {*plan.get("columns", ()), *(n for block in plan.get("blocks", ()) for n in block)}
    types = {n: kind for n, kind in CODES.items() if n in used}
    levels = {"size": ["small", "medium", "large"]} if "size" in used else {}
    table = mixed()
    release = shoal.microaggregate(table, 4, types=types, levels=levels, **plan)
    lost = release.utility(models=False)["information_loss"]
    assert lost.overall == release.information_loss
    assert {str(n) for n in lost.columns} == used
    # the whole is made of the columns: each weighs as the values it has
    weight = table["weight"] if "weight" in plan else pd.Series(1.0, table.index)
    shares = {n: _variation(table[n], weight, types.get(n), levels.get(n)) for n in used}
    whole = sum(shares[n] * lost.columns[n] for n in used) / sum(shares.values())
    assert whole == pytest.approx(release.information_loss)
    public = build(release, "public")
    assert public["utility"]["information_loss"]["overall"] == public["outcome"]["information_loss"]
    # without the release's groups: what is published, rounding included
    facts = {"types": types, "levels": levels, "weight": plan.get("weight")}
    cells = shoal.utility(table, release.table, list(used), models=False, **facts)["information_loss"]
    assert cells.overall == pytest.approx(release.information_loss + release.rounding_loss)


def _variation(column, weight, kind, levels):
    """The weighted squares about the weighted mean, in standard deviations of the unweighted column."""
    there = column.notna()
    column, weight = column[there], weight[there]
    if kind == "nominal":
        coordinates = pd.get_dummies(column).astype(float)
    elif kind == "ordinal":
        coordinates = column.map(levels.index).astype(float).to_frame()
    elif kind == "date":
        coordinates = pd.to_datetime(column).astype("int64").astype(float).to_frame()
    else:
        coordinates = column.astype(float).to_frame()
    centred = coordinates - np.average(coordinates, axis=0, weights=weight)
    return float((centred**2).mul(weight, axis=0).to_numpy().sum() / coordinates.var().sum())


def test_a_nominal_code_is_a_category_in_every_measure():
    table = mixed(gaps=0.0)
    columns = ["wages", "code"]
    release = shoal.microaggregate(table, 4, columns=columns, types={"code": "nominal"})
    lost, left = release.utility(), release.risk()
    assert "code" in lost["changed"].columns
    for key in ("means", "variances", "quantiles", "il1s"):
        assert list(lost[key].columns) == ["wages"]
    assert "correlations" not in lost
    for key in ("dominance", "proximity", "real_cells"):
        assert list(left[key].columns) == ["wages"]
    assert "code" in left["l_diversity"].columns
    changed = (table["code"] != release.table["code"]).mean()
    assert lost["changed"].overall == pytest.approx(changed)
    as_numbers = shoal.utility(table, release.table, columns, models=False)
    assert list(as_numbers["means"].columns) == columns
    as_text = table.assign(code=table["code"].astype(str))
    told = release.table.assign(code=release.table["code"].astype(str))
    same = shoal.risk(as_text, told, columns)["linkage"]
    assert left["linkage"].overall == pytest.approx(same.overall)


def test_loss_of_a_category_by_hand():
    before = pd.DataFrame({"s": ["a", "a", "b", "b", "c", "c"], "x": [1.0, 2, 3, 4, 5, 6]})
    release = shoal.microaggregate(before, 3, columns=["s"], types={"s": "nominal"})
    # two groups of three, two records alike and one apart: each loses 3 - (4 + 1) / 3 of 6 - 12 / 6
    assert release.information_loss == pytest.approx(100 * 2 * (4 / 3) / 4)
    assert release.utility()["information_loss"].columns == pytest.approx({"s": release.information_loss})


def test_more_than_a_hundred_levels_lose_as_the_outcome_says():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"s": rng.geometric(0.02, 600).astype(str), "x": rng.normal(size=600)})
    assert table["s"].nunique() > 100
    release = shoal.microaggregate(table, 5, columns=["s", "x"], types={"s": "nominal"})
    lost = release.utility(models=False)["information_loss"]
    assert np.mean(list(lost.columns.values())) == pytest.approx(release.information_loss)


def test_dates_and_decimals_kept_as_objects_are_numbers():
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(d) for d in (0, 1, 2, 10, 11, 15)]
    prices = [Decimal(p) / 4 for p in (1, 2, 3, 20, 22, 28)]
    table = pd.DataFrame({"day": days, "price": prices, "when": pd.Series(days, dtype=object).map(_noon)})
    table["when"] = table["when"].astype(object)
    moved = table.assign(day=[days[1]] * 3 + [days[4]] * 3)
    lost = shoal.utility(table, moved, ["day", "price", "when"], models=False)
    numbers = [d.toordinal() for d in days]
    sst = np.square(np.array(numbers) - np.mean(numbers)).sum()
    expected = {"day": 100 * (1 + 0 + 1 + 1 + 0 + 16) / sst, "price": 0, "when": 0}
    assert lost["information_loss"].columns == pytest.approx(expected)
    assert list(lost["means"].columns) == ["day", "price", "when"]


def _noon(day):
    return datetime.datetime(day.year, day.month, day.day, 12)


def test_weighted_estimates_are_those_of_numpy():
    table = mixed(gaps=0.0)
    release = shoal.microaggregate(table, 5, columns=["wages", "profit"], method="mdav")
    lost = shoal.utility(table, release.table, ["wages", "profit"], weight="weight", models=False)
    w = table["weight"]
    for name in ("wages", "profit"):
        x, y = table[name], release.table[name]
        move = (np.average(y, weights=w) - np.average(x, weights=w)) / x.std()
        assert lost["weighted_means"].columns[name] == pytest.approx(move)
        assert lost["weighted_totals"].columns[name] == pytest.approx(100 * ((y @ w) / (x @ w) - 1))
    for side, frame in (("before", table), ("after", release.table)):
        C = np.cov(frame[["wages", "profit"]].T, aweights=w)
        r = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
        assert lost["weighted_correlations"].detail[side][0][1] == pytest.approx(r)
    assert lost["weighted_means"].overall > 1e-4 > lost["means"].overall  # beside the unweighted ones
    assert "weighted_means" not in release.utility()


def test_a_release_with_weights_measures_with_them():
    table = mixed(gaps=0.0)
    release = shoal.microaggregate(table, 5, columns=["wages", "profit"], weight="weight", method="mdav")
    assert release.utility()["weighted_means"].overall < 1e-9 < release.utility()["means"].overall
    credit = release.risk()["linkage"].overall, release.risk()["linkage_weighted"].overall
    assert credit[0] != credit[1]
    even = table.assign(weight=2.0)
    same = shoal.risk(even, release.table, ["wages", "profit"], weight="weight")
    assert same["linkage_weighted"].overall == pytest.approx(same["linkage"].overall)


@pytest.mark.parametrize("gaps", ["group", "impute"])
def test_codes_for_gaps_are_gaps_in_the_measures(gaps):
    table = mixed(gaps=0.0)
    table["wages"] = table["wages"].mask(table.index % 15 == 0, 999999.0)
    table["sector"] = table["sector"].mask(table.index % 20 == 0, "?")
    plan = {"columns": ["wages", "profit", "sector"], "types": {"sector": "nominal"}, "missing": gaps}
    release = shoal.microaggregate(table, 4, missing_codes={"wages": [999999], "sector": ["?"]}, **plan)
    holes = table.assign(
        wages=table["wages"].replace(999999.0, np.nan), sector=table["sector"].replace("?", None)
    )
    other = shoal.microaggregate(holes, 4, **plan)
    assert release.utility()["information_loss"].overall == other.information_loss
    for one, two in ((release.utility(), other.utility()), (release.risk(), other.risk())):
        assert {key: m.overall for key, m in one.items()} == pytest.approx(
            {key: m.overall for key, m in two.items()}
        )


def test_what_is_the_same_within_units_loses_as_the_outcome_says():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"house": np.repeat(np.arange(40), 3), "income": rng.lognormal(8, 1, 40).repeat(3)})
    table["age"], table["wage"] = rng.integers(1, 90, 120).astype(float), rng.lognormal(5, 1, 120)
    plan = {"columns": ["income", "age", "wage"], "unit": "house", "method": "mdav_generic"}
    release = shoal.microaggregate(table, 3, **plan)
    lost = release.utility()["information_loss"]
    assert np.mean(list(lost.columns.values())) == pytest.approx(lost.overall) == release.information_loss
    assert release.risk()["k"].overall >= 3
    linked = release.risk()["linkage"].overall
    assert linked == pytest.approx(brute_linkage(table[plan["columns"]], release.table, units=table["house"]))
