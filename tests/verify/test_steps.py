"""The steps of a plan, seen again in a release by code of its own."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import writing
from shoal.check import check_original
from shoal.errors import CheckFailed
from shoal.io.contents import Contents
from shoal.io.databases import sql
from shoal.verify import steps


def table(n=60):
    rng = np.random.default_rng(5)
    days = [dt.date(1930, 1, 1) + dt.timedelta(400 * row) for row in range(n)]
    jobs = ["king", *np.resize(["clerk", "nurse", "clerk"], n - 1)]
    return pa.table(
        {
            "wage": np.where(np.arange(n) % 10, np.arange(n), 999.0),
            "age": rng.integers(20, 60, n).astype(float),
            "born": [str(day) for day in days],
            "seen": pa.array(days).cast(pa.timestamp("ms")),
            "job": pa.array([None if row == 5 else job for row, job in enumerate(jobs)]),
            "w": rng.integers(1, 4, n).astype(float),
        }
    )


def release_of(original, **fields):
    kept = [
        name
        for name in original.column_names
        if name not in ("age", fields.get("weight"), fields.get("unit"))
    ]
    return shoal.microaggregate(original, 3, columns=["age"], keep=kept, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"top": {"wage": 40}, "missing_codes": {"wage": [999, "none"]}},
        {"top": {"wage": 57}, "missing_codes": [999, "?"], "weight": "w"},
        {"top": {"wage": 40}, "missing_codes": [999], "weight": "w", "bottom": {"wage": "q0.2"}},
        {"bottom": {"born": "1945-06-01"}, "types": {"born": "date"}},
        {"bottom": {"seen": "1945-06-01"}},
        {"regroup": {"job": {"rare": 5}}},
        {"regroup": {"job": {"Staff": ["clerk", "nurse"], "rare": 5}}, "missing_codes": ["king"]},
        {"regroup": {"job": {"other": ["nurse"], "rare": 5}}},
        {"regroup": {"job": {"rare": 5}}, "unit": "w"},
        {"decimals": True, "round": {"wage": "base:7"}, "missing_codes": {"wage": [999]}},
    ],
)
def test_what_the_stages_make_is_what_the_check_expects(fields):
    original = table()
    release = release_of(original, **fields)
    assert check_original(release.table, original, ["age"], plan=release.plan).passed
    # the original itself shows tails, levels or digits that should be gone
    dropped = [*release.plan.unnumbered]
    agreement = check_original(original.drop_columns(dropped), original, ["age"], plan=release.plan)
    assert "wage" in str(fields) or not agreement.passed
    for name in release.outcome.recoded:
        assert f"column {name!r}" in str(agreement)


def test_without_columns_every_number_shows_its_decimals(tmp_path):
    original = table().select(["wage", "age"]).append_column("count", [list(range(60))])
    release = shoal.microaggregate(original, 3, decimals=True)
    release.write(tmp_path / "out.parquet")
    agreement = check_original(
        tmp_path / "out.parquet", original, ["wage", "age", "count"], plan=release.plan
    )
    assert agreement.passed


def test_numbers_with_endless_decimals_are_not_rounded():
    original = pa.table({"x": np.random.default_rng(0).normal(size=30), "y": np.arange(30.0)})
    release = shoal.microaggregate(original, 3, columns=["x"], keep=["y"], decimals=True)
    assert release.rounding_loss == 0
    assert check_original(release.table, original, ["x"], plan=release.plan).passed


def test_halves_are_decided_by_the_numbers_themselves():
    values = np.array([0.125, 2.675, -0.125, 1e300, 1.0049999999])
    assert steps._rounded(values, 2).tolist() == [0.13, 2.67, -0.13, 1e300, 1.0]
    assert steps._rounded(np.array([2.5, -2.5, 7.0]), "base:5").tolist() == [5.0, -5.0, 5.0]


@pytest.mark.parametrize(
    ("numbers", "good"),
    [
        ([7, 7, 5], True),
        ([7, 6, 5], False),
        ([7, 7, 7], False),
        (["a", "a", "b"], False),
        ([7, 7, None], False),
    ],
)
def test_new_numbers_are_one_for_each_unit(numbers, good):
    assert steps._one_to_one(np.array([0, 0, 1]), pa.chunked_array([numbers])) is good


def test_steps_are_judged_in_a_database_too(tmp_path):
    table = pa.table({"x": np.arange(60.0), "y": np.arange(60.0) / 7})
    release = shoal.microaggregate(table, 3, columns=["x"], round={"y": 1}, keep=["y"])
    url = f"sqlite:///{tmp_path}/base.db#t"
    release.write(url)
    assert shoal.read(url).num_rows == 60
    ready = writing._ready(release, sql.address(url))
    place = ready.table.column_names.index("y")
    exact = ready.table.set_column(place, "y", table["y"].take(ready.order))
    with pytest.raises(CheckFailed, match="'y' is not what its steps make"):
        writing._verify(release, Contents(exact), ready, rounding=True)
