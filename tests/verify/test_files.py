"""What is about to be published is read again and compared; a wrong file never takes its name."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import CheckFailed
from shoal.frame.order import file_order
from shoal.io import files
from shoal.pipeline import run
from shoal.verify.files import check, check_original
from tests.workbooks import workbook

ENDINGS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "xlsx", "sav", "dta"]


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def lose(table):
    return table.slice(0, len(table) - 1)


def double(table):
    return pa.concat_tables([table, table.slice(0, 1)])


def lose_and_double(table):
    return pa.concat_tables([table.slice(0, 1), table.slice(0, len(table) - 1)])


def reorder(table):
    return table.take(np.r_[1, 0, 2 : len(table)])


def touch(table):
    """One letter of one cell in a column that nobody protected."""
    names = table["sector"].to_pylist()
    column = pa.array([*names[:-1], names[-1] + "x"])
    return table.set_column(table.column_names.index("sector"), "sector", column)


def touch_number(table):
    column = table["employees"].to_pylist()
    new = pa.array([*column[:-1], column[-1][:-1] + "7" if isinstance(column[-1], str) else column[-1] + 1])
    return table.set_column(table.column_names.index("employees"), "employees", new)


def drop_column(table):
    return table.drop_columns(["employees"])


def add_column(table):
    return table.append_column("extra", pa.array(range(len(table))))


def turn_columns(table):
    return table.select(table.column_names[::-1])


def unprotect(table):
    column = np.arange(len(table), dtype=float)
    return table.set_column(table.column_names.index("profit"), "profit", pa.array(column))


SABOTAGE = [lose, double, lose_and_double, reorder, touch, touch_number, drop_column, add_column]
SABOTAGE += [turn_columns, unprotect]


@pytest.mark.parametrize("sabotage", SABOTAGE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav"])
def test_a_wrong_file_is_deleted_and_the_command_says_no(tmp_path, monkeypatch, sabotage, ending):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    shoal.write(survey(60), source)
    target.write_bytes(b"an older release")
    kind = files.FORMATS[f".{ending}"]
    wrong = kind._replace(write=lambda table, path: kind.write(sabotage(table), path))
    monkeypatch.setitem(files.FORMATS, f".{ending}", wrong)
    words = ("protect", source, "-k", 4, "-c", "profit", "-c", "wages", "-m", "mdav", "-o", target)
    words += ("--keep", "turnover")
    outcome = call(*words, status=1)
    assert "nothing is released" in outcome.stderr
    assert target.read_bytes() == b"an older release"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([source.name, target.name])
    monkeypatch.undo()
    call(*words)
    assert shoal.read(target).num_rows == 60


@pytest.mark.parametrize("sabotage", [lose, reorder, touch, unprotect], ids=lambda f: f.__name__)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_check_sees_the_same_from_files_alone(tmp_path, sabotage, ending):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    shoal.write(survey(40), source)
    options = {"columns": ["profit", "wages"], "method": "mdav", "keep": ["turnover"]}
    shoal.microaggregate(source, 4, **options).write(target)
    words = ("check", target, "-k", 4, "-c", "profit", "-c", "wages", "-m", "mdav", "--original", source)
    words += ("--keep", "turnover")
    assert "yes: 40 records, each found again, " in call(*words).stderr
    files.write(sabotage(shoal.read(target)), target)
    call(*words, status=1)
    found = json.loads(call(*words, "--json", status=1).stdout)
    assert not found["passed"]


def test_check_with_original_sees_rows_exchanged_where_every_column_is_protected():
    original = survey(200).select(["profit", "wages", "assets"])
    release = shoal.microaggregate(original, 4, method="mdav")
    assert check_original(release.table, original, plan=release.plan).passed
    exchanged = release.table.take(np.r_[100:200, 0:100])
    assert all(finding.passed for finding in check(exchanged, 4))
    kept = check_original(exchanged, original, plan=release.plan)
    assert not kept.passed
    assert "lie outside the values of their records" in str(kept)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("other", ENDINGS)
def test_a_true_release_passes_between_any_two_formats(tmp_path, ending, other):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{other}"
    shoal.write(survey(60), source)
    release = shoal.microaggregate(source, 3, columns=["profit", "employees"], method="mdav")
    release.write(target, keep=["turnover", "wages"])
    kept = check_original(target, source, ["profit", "employees"], plan=release.plan)
    assert kept.passed, kept
    assert kept.by_row
    assert kept.untouched == tuple(n for n in survey(3).column_names if n not in ("profit", "employees"))


def test_a_plan_tells_the_check_what_was_dropped_and_left_out(tmp_path):
    table = survey(60)
    holes = pa.array([None if i % 10 == 0 else v for i, v in enumerate(table["profit"].to_pylist())])
    table = table.set_column(table.column_names.index("profit"), "profit", holes)
    shoal.write(table, tmp_path / "in.csv")
    plan = shoal.Plan(
        4,
        columns=["profit", "wages"],
        method="mdav",
        missing="drop",
        roles={"employees": "identifier"},
        keep=["turnover"],
    )
    (tmp_path / "plan.toml").write_text(plan.toml())
    words = (tmp_path / "in.csv", "--plan", tmp_path / "plan.toml")
    call("protect", *words, "-o", tmp_path / "out.csv")
    files_of = (tmp_path / "out.csv", "--plan", tmp_path / "plan.toml", "--original", tmp_path / "in.csv")
    assert "54 records, each found again" in call("check", *files_of).stderr
    assert (
        "60 records went in, 54 came out"
        in call(
            "check",
            tmp_path / "out.csv",
            "-k",
            4,
            "-c",
            "profit",
            "--original",
            tmp_path / "in.csv",
            status=1,
        ).stderr
    )
    shoal.write(shoal.read(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert "column 'employees' should not be there" in call("check", *files_of, status=1).stderr


def test_k_holds_within_merged_strata_as_they_are_published(tmp_path):
    table = pa.table({"s": ["a"] * 10 + ["b"] * 2, "x": np.arange(12.0)})
    plan = shoal.Plan(3, columns=["x"], method="mdav", strata=["s"], merge_small_strata=True)
    run(plan, table).write(tmp_path / "out.csv")
    (tmp_path / "plan.toml").write_text(plan.toml())
    said = call("check", tmp_path / "out.csv", "--plan", tmp_path / "plan.toml").stderr
    assert said.startswith("yes: ")
    assert check(tmp_path / "out.csv", 3, ["x"], strata=["s"])[0].passed


def test_merged_strata_are_told(tmp_path):
    """The islanders publish the coast, so that k holds within what is published; `check` counts there."""
    codes = ["01"] * 10 + ["02"] * 2 + ["03"] * 3
    table = pa.table({"s": codes, "x": np.arange(15.0), "t": ["in"] * 15})
    shoal.write(table, tmp_path / "in.csv")
    plan = shoal.Plan(3, columns=["x"], method="mdav", strata=["s", "t"], merge_small_strata=True)
    (tmp_path / "plan.toml").write_text(plan.toml())
    files_of = (tmp_path / "out.csv", "--plan", tmp_path / "plan.toml", "--original", tmp_path / "in.csv")
    for source in (table, tmp_path / "in.csv"):
        release = run(plan, source)
        assert "2 records publish the s of the stratum that theirs was merged with" in release.notes
        release.write(tmp_path / "out.csv")
        written = (tmp_path / "out.csv").read_text()
        assert "02" not in written  # and a code is written as it stood
        assert written.count("01,") + written.count("03,") == 15
        (finding,) = check(tmp_path / "out.csv", 3, ["x"], strata=["s", "t"])
        assert finding.passed
    call("check", *files_of)
    shoal.write(release.table.set_column(0, "s", pa.array(codes)), tmp_path / "out.csv")
    assert "are shared by fewer than k=3 records" in call("check", *files_of[:3], status=1).stderr


def test_a_stratum_that_is_protected_too_publishes_what_its_groups_do(tmp_path):
    rooms = np.array([2] * 9 + [3] * 8 + [7] * 2)
    table = pa.table({"rooms": rooms, "age": np.arange(19.0)})
    for options in ({}, {"per_column": True}):
        plan = shoal.Plan(
            3, columns=["rooms", "age"], strata="rooms", merge_small_strata=True, method="mdav", **options
        )
        release = run(plan, table)
        assert not release.changed
        release.write(tmp_path / "out.csv")
        (tmp_path / "plan.toml").write_text(plan.toml())
        call("check", tmp_path / "out.csv", "--plan", tmp_path / "plan.toml")


def test_totals_that_are_kept_may_leave_their_groups_range(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 3, 60), "b": rng.integers(0, 3, 60)})
    plan = shoal.Plan(3, columns=["a", "b"], method="mdav", preserve="totals")
    release = run(plan, table)
    assert check_original(release.table, table, totals_kept=True).passed


def test_a_failed_check_in_a_database_rolls_back(tmp_path):
    table = survey(60)
    url = f"sqlite:///{tmp_path}/firms.db"
    shoal.write(table, f"{url}#firms")
    release = shoal.microaggregate(f"{url}#firms", 4, columns=["profit"], method="mdav")
    broken = shoal.microaggregate(table, 4, columns=["profit"], method="mdav")
    object.__setattr__(broken, "original", table.take(np.r_[1, 0, 2:60]))
    with pytest.raises(CheckFailed, match="is not what it was in row"):
        broken.write(f"{url}#safe", keep=["turnover", "wages"])
    release.write(f"{url}#safe", keep=["turnover", "wages"])
    assert check_original(f"{url}#safe", f"{url}#firms", ["profit"]).passed
    without_plan = str(check_original(f"{url}#safe", f"{url}#firms", ["profit"]))
    assert without_plan.startswith(
        "yes: 60 records in another order, 7 untouched columns the same as a set of rows"
    )


def test_cells_count_as_they_are_published(tmp_path):
    """Whoever reads the file sees three texts, though all three are the number one."""
    path = tmp_path / "out.csv"
    path.write_text("x,t\n1,a\n1.0,a\n1e0,a\n1,a\n1.0,a\n1e0,a\n")
    (finding,) = check(path, 3, ["x"])
    assert (finding.groups, finding.smallest_group, finding.passed) == (3, 2, False)
    assert check(path, 2)[0].columns == ("x",)  # it is a numeric column still
    assert check(path, 2)[0].passed
    assert check(shoal.read(path), 6, ["x"])[0].passed
    path.write_text("x\ty\n1\t\n1\t\n1\tNA\n1\tNA\n")
    assert check(path.rename(tmp_path / "out.tsv"), 2, ["x", "y"])[0].groups == 2


def test_decimals_are_counted_unasked():
    table = pa.table({"m": [Decimal("1.10"), Decimal("1.10"), Decimal("1.11")], "t": ["a", "b", "c"]})
    (finding,) = check(table, 2)
    assert (finding.columns, finding.groups, finding.passed) == (("m",), 2, False)


def test_what_a_file_calls_missing_is_a_value_of_its_own(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 1.0, 1.0, 98.0, 99.0, 99.0]})
    codes = {"x": [{"lo": 98, "hi": 99}]}
    pyreadstat.write_sav(frame, tmp_path / "out.sav", missing_ranges=codes)
    letters = pd.DataFrame({"x": pd.Series([1.0, 1.0, 1.0, "a", "b", "b"], dtype=object)})
    pyreadstat.write_dta(letters, tmp_path / "out.dta", missing_user_values={"x": ["a", "b"]})
    for ending in ("sav", "dta"):
        path = tmp_path / f"out.{ending}"
        assert shoal.read(path)["x"].null_count == 3
        (finding,) = check(path, 3)
        assert (finding.groups, finding.smallest_group, finding.short_groups) == (3, 1, 2)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_file_without_records_is_a_no(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    shoal.write(survey(5).slice(0, 0), path)
    for words in ((), ("-c", "profit"), ("--per-column",)):
        assert "no: there are no records" in call("check", path, "-k", 3, *words, status=1).stderr
    found = json.loads(call("check", path, "-k", 3, "--json", status=1).stdout)
    assert found["findings"][0]["faults"] == ["there are no records"]


def test_a_sheet_that_was_not_read_is_a_no(tmp_path):
    rows = (["x"], [1.5], [1.5])
    workbook(tmp_path / "out.xlsx", *rows)
    assert [finding.passed for finding in check(tmp_path / "out.xlsx", 2)] == [True]
    workbook(tmp_path / "out.xlsx", *rows, everyone=[["Jane Doe"]], hidden=["everyone"])
    said = call("check", tmp_path / "out.xlsx", "-k", 2, status=1).stderr
    assert "yes: each of the 1 combinations of x" in said
    assert "no: sheet 'everyone' was not checked" in said


@pytest.mark.parametrize("ending", ["parquet", "arrow", "folder"])
def test_levels_that_no_row_has_are_a_no(tmp_path, ending):
    """Row groups have dictionaries of their own: a level that any row has is used."""
    codes, towns = pa.array([0, 0, None, 1, 1, None]), pa.array(["Ayr", "Bute", "Jane Doe's", "None"])
    town = pa.DictionaryArray.from_arrays(codes, towns)
    other = pa.DictionaryArray.from_arrays(codes, pa.array(["Bute", "Coll"]))
    table = pa.table({"town": pa.chunked_array([town, other]), "x": [1.0] * 12})
    path = file = tmp_path / f"out.{ending}"
    if ending == "folder":
        path.mkdir()
        file = path / "part-0.parquet"
    write = feather.write_feather if ending == "arrow" else pq.write_table
    write(table, file)
    good, wrong = check(path, 2)
    assert (good.passed, wrong.passed) == (True, False)
    assert str(wrong) == "no: column 'town' lists levels that no row has: 2"
    call("check", path, "-k", 2, status=1)
    declared = shoal.Plan(2, types={"town": "ordinal"}, levels={"town": ["Jane Doe's", "Ayr", "None"]})
    assert [finding.passed for finding in check(path, 2, plan=declared)] == [True]
    write(table.set_column(0, "town", pa.chunked_array([other, other])), file)
    assert [finding.passed for finding in check(path, 2)] == [True]


@pytest.mark.parametrize("levels", [[[1], [2], [3]], [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]])
def test_levels_may_be_lists_or_decimals(tmp_path, levels):
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(levels))
    feather.write_feather(pa.table({"c": column, "x": [1, 1, 1]}), tmp_path / "out.arrow")
    assert str(check(tmp_path / "out.arrow", 3)[1]) == "no: column 'c' lists levels that no row has: 1"


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_of_values_that_no_row_has_are_a_no(tmp_path, ending):
    frame = pd.DataFrame({"sex": [1, 1, 2, 2], "x": [1.5] * 4})
    labels = {"sex": {1: "m", 2: "f", 3: "Jane Doe"}}
    write = getattr(pyreadstat, f"write_{ending}")
    write(frame, tmp_path / f"in.{ending}", variable_value_labels=labels)
    wrong = check(tmp_path / f"in.{ending}", 2)[1]
    assert str(wrong) == "no: column 'sex' lists levels that no row has: 1"
    release = shoal.microaggregate(tmp_path / f"in.{ending}", 2, columns=["x"])
    release.write(tmp_path / f"out.{ending}")
    assert [finding.passed for finding in check(tmp_path / f"out.{ending}", 2)] == [True]


def test_the_options_of_a_release_are_those_of_its_check(tmp_path):
    """Also where no column is named: what has another role is not protected, and identifiers are gone."""
    table = survey(40).select(["sector", "profit", "wages", "assets"])
    table = table.append_column("pid", pa.array(range(1000, 1040)))
    shoal.write(table, tmp_path / "in.csv")
    options = ("-k", 4, "--role", "pid=identifier,sector=other", "--role", "assets=other", "-m", "mdav")
    call("protect", tmp_path / "in.csv", *options, "-o", tmp_path / "out.csv")
    words = ("check", tmp_path / "out.csv", "--original", tmp_path / "in.csv")
    said = call(*words, *options).stderr
    assert "combinations of profit, wages is" in said
    assert "40 records, each found again, 2 untouched columns the same" in said
    assert "column 'pid' is missing" in call(*words, "-k", 4, "-m", "mdav", status=1).stderr
    roles = {"pid": "identifier", "sector": "other", "assets": "other"}  # what is kept is part of a plan
    plan = shoal.Plan(4, roles=roles, method="mdav")
    assert check_original(tmp_path / "out.csv", tmp_path / "in.csv", plan=plan).by_row


@pytest.fixture
def households(tmp_path):
    """Thirty households of two: one exact income each, so that two records share it and one unit."""
    rng = np.random.default_rng(5)
    shoal.write(
        pa.table(
            {
                "hid": np.repeat(np.arange(30), 2),
                "income": np.repeat(rng.normal(30_000, 9_000, 30).round(), 2),
                "age": rng.integers(18, 80, 60),
                "town": rng.choice(["Ayr", "Bute"], 60),
            }
        ),
        tmp_path / "in.csv",
    )
    return tmp_path / "in.csv"


def test_units_are_counted_with_the_original(households):
    target = households.with_name("out.csv")
    counted = ("-k", 2, "-c", "income", "--unit", "hid", "--stratum", "town", "--keep", "age")
    options = (*counted, "-m", "mdav")
    call("protect", households, *options, "-o", target)
    said = call("check", target, *options, "--original", households).stderr
    assert (
        "each found again, 2 untouched columns the same, each combination shared by at least 2 units" in said
    )
    without = call("check", target, *counted, status=1).stderr
    assert "no: not checkable from the file: units are not in it; give --original with the plan" in without
    assert "yes" not in without
    lost = call("check", target, *options, "--seed", 9, "--original", households, status=1).stderr
    assert "units cannot be counted, for rows are not found again" in lost
    answer = json.loads(call("check", target, *options, "--original", households, "--json").stdout)
    assert answer["original"]["units"] == 2
    assert (
        "there is no column 'hod'"
        in call(
            *("check", target, "-k", 2, "-c", "income", "--unit", "hod", "--original", households), status=2
        ).stderr
    )


def test_groups_of_one_unit_are_found_though_each_has_k_records(households):
    """A release that counted records and left the unit out passes by records, and fails by units."""
    original = shoal.read(households)
    plan = shoal.Plan(2, columns=["income"], method="mdav", unit=["hid"])
    for rows in (file_order(original, plan, ["income"]), np.arange(60)):  # as files, and as tables have them
        shoal.write(original.drop_columns(["hid"]).take(rows), households.with_name("wrong.csv"))
        assert check(households.with_name("wrong.csv"), 2, ["income"])[0].passed
        agreement = check_original(households.with_name("wrong.csv"), households, ["income"], plan=plan)
        assert agreement.units == 1
        assert agreement.faults == (
            "30 of 30 combinations of income are shared by fewer than k=2 units, the rarest by 1",
        )


def test_units_that_are_in_the_file_are_counted_there(households):
    (finding,) = check(households, 2, ["income"], unit="hid")
    assert (finding.counted, finding.smallest_group, finding.passed) == ("units", 1, False)
    assert check(households, 1, ["income"], unit=["hid"])[0].passed
    assert (
        "fewer than k=2 units"
        in call("check", households, "-k", 2, "-c", "income", "--unit", "hid", status=1).stderr
    )
