"""Rounding of what is published, and of kept columns."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.check import check_original
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column
from shoal.stages.round import decimals_of, rounded

FLOATS = Column("x", "continuous", np.zeros(1))


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        (2, [1.005, -2.345, 0.125, 1e300, 0.0], [1.0, -2.35, 0.13, 1e300, 0.0]),
        (0, [0.5, -0.5, 2.4], [1.0, -1.0, 2.0]),
        ("sig:3", [123456.0, 0.00123456, -9.999], [123000.0, 0.00123, -10.0]),
        ("base:5", [12.4, 12.5, -12.5, 3e9 + 1], [10.0, 15.0, -15.0, 3e9]),
        ("base:0.05", [0.13, 0.16, 1.0], [0.15, 0.15, 1.0]),
    ],
)
def test_numbers_are_rounded_halves_away_from_zero(rule, values, expected):
    assert rounded(np.array(values), rule, FLOATS).tolist() == expected


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("base:5", [12, 13, -13, 0], [10, 15, -15, 0]),
        ("sig:2", [1234, 99, -1250, 7], [1200, 99, -1300, 7]),
        ("base:10", [124, 125, 127, -126], [120, 120, 120, -120]),  # 130 is no int8
        ("sig:1", [127, -128, 96, 4], [100, -100, 100, 4]),
    ],
)
def test_whole_numbers_stay_within_their_type(rule, values, expected):
    dtype = np.int8 if max(values) == 127 or 127 in values else np.int64
    column = Column("x", "integer", np.zeros(1, dtype))
    assert rounded(np.array(values, dtype), rule, column).tolist() == expected


def test_decimals_are_those_that_the_column_shows():
    def shown(values):
        return decimals_of(Column("x", "continuous", np.array(values)))

    assert shown([1.5, 2.25, 11.659]) == 3
    assert shown([1.0, 2e9]) == 0
    assert shown([1 / 3]) is None
    assert decimals_of(Column("x", "integer", np.array([1]))) is None


def firms(n=40):
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "wage": rng.lognormal(3, 1, n).round(2),
            "age": rng.integers(20, 60, n),
            "money": pa.array([Decimal(int(v)) / 100 for v in rng.integers(1, 9999, n)], pa.decimal128(9, 2)),
            "kept": rng.lognormal(3, 1, n).round(3),
        }
    )


def test_what_groups_publish_is_rounded_and_counted_as_loss():
    table = firms()
    fields = {"columns": ["wage", "age", "money"], "keep": ["kept"]}
    rules = {"wage": 0, "age": "base:5", "money": 1, "kept": "sig:2"}
    release = shoal.microaggregate(table, 3, round=rules, **fields)
    made = release.table.to_pandas()
    assert (made["wage"] % 1 == 0).all()
    assert (made["age"] % 5 == 0).all()
    assert {str(v)[-1] for v in made["money"]} == {"0"}
    assert made["kept"].tolist() == [float(f"{v:.1e}") for v in table["kept"].to_pylist()]
    plain = shoal.microaggregate(table, 3, **fields)
    assert release.information_loss == plain.information_loss
    assert release.rounding_loss > plain.rounding_loss
    assert check_original(release.table, table, fields["columns"], plan=release.plan).passed


def test_text_files_show_as_many_decimals_as_the_original(tmp_path):
    from shoal.io.files import write

    write(firms(), tmp_path / "in.csv")
    release = shoal.microaggregate(
        tmp_path / "in.csv", 3, columns=["wage"], keep=["money", "kept", "age"], decimals=True
    )
    release.write(tmp_path / "out.csv")
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert max(len(row[0].partition(".")[2]) for row in rows) <= 2
    assert check_original(tmp_path / "out.csv", tmp_path / "in.csv", ["wage"], plan=release.plan).passed
    plain = shoal.microaggregate(tmp_path / "in.csv", 3, columns=["wage"], keep=["money", "kept", "age"])
    agreement = check_original(plain.table, tmp_path / "in.csv", ["wage"], plan=release.plan)
    assert "column 'wage' has values that are not rounded as the plan says" in str(agreement)


def test_units_that_publish_once_are_rounded_too():
    table = firms().append_column("house", pa.array(np.repeat(np.arange(20), 2)))
    rent = np.repeat(np.random.default_rng(1).normal(300, 40, 20).round(1), 2)
    table = table.append_column("rent", pa.array(rent))
    fields = {"columns": ["rent", "wage"], "unit": "house", "keep": ["money", "kept", "age"]}
    release = shoal.microaggregate(table, 3, decimals=True, top={"rent": "q0.8"}, **fields)
    assert decimals_of(Column("x", "continuous", release.table["rent"].to_numpy())) <= 1
    lost = 0.0
    for name in ("rent", "wage"):
        before, after = (t[name].to_numpy() for t in (table, release.table))
        lost += ((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum() / 2
    assert release.information_loss + release.rounding_loss == pytest.approx(100 * lost)


def test_a_release_that_is_not_rounded_is_not_published(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.stages.part.rounded_groups", lambda plan, column, groups: groups)
    release = shoal.microaggregate(
        firms(), 3, columns=["wage"], keep=["money", "kept", "age"], round={"wage": 0}
    )
    with pytest.raises(CheckFailed, match="not rounded as the plan says"):
        release.write(tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"round": {"age": 2}},
            "round has no effect on column 'age', which holds whole numbers: say base:10",
        ),
        ({"round": {"age": "base:2.5"}}, "round has no effect on column 'age'"),
        ({"round": {"money": 2}}, "round has no effect on column 'money', which holds decimals"),
        (
            {"round": {"day": 1}, "types": {"day": "date"}},
            "column 'day' is date: only numbers can be rounded",
        ),
        ({"round": {"age": "base:5"}, "preserve": "totals"}, "rounding 'age' would change its total"),
    ],
)
def test_what_cannot_be_rounded_is_said_before_the_work(fields, said):
    table = firms().append_column("day", pa.array(["2020-01-01"] * 40))
    with pytest.raises(InputError, match=said):
        shoal.microaggregate(table, 3, columns=["wage", "age"], keep=["money", "kept", "day"], **fields)
