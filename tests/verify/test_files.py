"""What is about to be published is read again and compared; a wrong file never takes its name."""

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import CheckFailed
from shoal.io import files
from shoal.pipeline import run
from shoal.verify.files import check, check_original

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
