"""The steps of a plan, seen again in a release by code of its own."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.check import check_original


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
