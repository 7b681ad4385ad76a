"""What is about to be published is read again and compared; a wrong file never takes its name."""

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.check import check, check_original
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import CheckFailed
from shoal.kept import compare, first_difference, outside
from shoal.pipeline import run
from shoal.table import files

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
    shoal.write(survey(40), source)
    target.write_bytes(b"an older release")
    kind = files.FORMATS[f".{ending}"]
    wrong = kind._replace(write=lambda table, path: kind.write(sabotage(table), path))
    monkeypatch.setitem(files.FORMATS, f".{ending}", wrong)
    words = ("protect", source, "-k", 4, "-c", "profit", "-c", "wages", "-m", "mdav", "-o", target)
    outcome = call(*words, status=1)
    assert "nothing is released" in outcome.stderr
    assert target.read_bytes() == b"an older release"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([source.name, target.name])
    monkeypatch.undo()
    call(*words)
    assert shoal.read(target).num_rows == 40


@pytest.mark.parametrize("sabotage", [lose, reorder, touch, unprotect], ids=lambda f: f.__name__)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_check_sees_the_same_from_files_alone(tmp_path, sabotage, ending):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    shoal.write(survey(40), source)
    release = shoal.microaggregate(source, 4, columns=["profit", "wages"], method="mdav")
    release.write(target)
    words = ("check", target, "-k", 4, "-c", "profit", "-c", "wages", "--original", source)
    assert "yes: 40 records in their order, " in call(*words).stderr
    files.write(sabotage(shoal.read(target)), target)
    call(*words, status=1)
    found = json.loads(call(*words, "--json", status=1).stdout)
    assert not found["passed"]


def test_check_with_original_sees_rows_exchanged_where_every_column_is_protected():
    original = survey(200).select(["profit", "wages", "assets"])
    release = shoal.microaggregate(original, 4, method="mdav")
    assert check_original(release.table, original).passed
    exchanged = release.table.take(np.r_[100:200, 0:100])
    assert all(finding.passed for finding in check(exchanged, 4))
    kept = check_original(exchanged, original)
    assert not kept.passed
    assert "lie outside the values of their records" in str(kept)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("other", ENDINGS)
def test_a_true_release_passes_between_any_two_formats(tmp_path, ending, other):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{other}"
    shoal.write(survey(30), source)
    shoal.microaggregate(source, 3, columns=["profit", "employees"], method="mdav").write(target)
    kept = check_original(target, source, ["profit", "employees"])
    assert kept.passed, kept
    assert kept.untouched == tuple(n for n in survey(3).column_names if n not in ("profit", "employees"))


def test_a_plan_tells_the_check_what_was_dropped_and_left_out(tmp_path):
    table = survey(40)
    holes = pa.array([None if i % 10 == 0 else v for i, v in enumerate(table["profit"].to_pylist())])
    table = table.set_column(table.column_names.index("profit"), "profit", holes)
    shoal.write(table, tmp_path / "in.csv")
    plan = shoal.Plan(4, ["profit", "wages"], "mdav", missing="drop", roles={"employees": "identifier"})
    (tmp_path / "plan.toml").write_text(plan.toml())
    words = (tmp_path / "in.csv", "--plan", tmp_path / "plan.toml")
    call("protect", *words, "-o", tmp_path / "out.csv")
    files_of = (tmp_path / "out.csv", "--plan", tmp_path / "plan.toml", "--original", tmp_path / "in.csv")
    assert "36 records in their order" in call("check", *files_of).stderr
    assert (
        "40 records went in, 36 came out"
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


def test_merged_strata_are_told(tmp_path):
    table = pa.table({"s": ["a"] * 10 + ["b"] * 2, "x": np.arange(12.0)})
    plan = shoal.Plan(3, ["x"], "mdav", strata=["s"], merge_small_strata=True)
    run(plan, table).write(tmp_path / "out.csv")
    (tmp_path / "plan.toml").write_text(plan.toml())
    said = call("check", tmp_path / "out.csv", "--plan", tmp_path / "plan.toml").stderr
    assert "small strata were merged" in said


def test_totals_that_are_kept_may_leave_their_groups_range(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 3, 60), "b": rng.integers(0, 3, 60)})
    plan = shoal.Plan(3, ["a", "b"], "mdav", preserve="totals")
    release = run(plan, table)
    assert check_original(release.table, table, totals_kept=True).passed


def test_a_failed_check_in_a_database_rolls_back(tmp_path):
    table = survey(40)
    url = f"sqlite:///{tmp_path}/firms.db"
    shoal.write(table, f"{url}#firms")
    release = shoal.microaggregate(f"{url}#firms", 4, columns=["profit"], method="mdav")
    broken = shoal.microaggregate(table, 4, columns=["profit"], method="mdav")
    object.__setattr__(broken, "original", table.take(np.r_[1, 0, 2:40]))
    with pytest.raises(CheckFailed, match="is not what it was in row 1"):
        broken.write(f"{url}#safe")
    release.write(f"{url}#safe")
    assert check_original(f"{url}#safe", f"{url}#firms", ["profit"]).passed


def test_first_difference_by_value_and_by_gap():
    def row(one, other, **options):
        return first_difference(pa.array(one), pa.array(other), **options)

    assert row([1, 2, 3], [1, 2, 3]) is None
    assert row([1, 2, 3], [1, 2, 4]) == 2
    assert row([1, None, 3], [1, 2, 3]) == 1
    assert row([1, 2, 3], [1, 2, None]) == 2
    assert row([1, 2], [1.0, 2.0]) is None
    assert row([1, 2**53 + 1], [1.0, float(2**53)]) == 1
    assert row([1.5], ["1.5"]) is None
    assert row([1.5, 2.5], ["1.5", "x"]) == 1
    assert row([float("nan"), 1.0], [None, 1.0]) is None
    assert row(["a ", ""], ["a", None]) == 0
    assert row(["a ", "", "b\r\nc"], ["a", None, "b\nc"], loose=True) is None
    assert row([" a"], ["a"], loose=True) == 0
    assert row([b"ab"], ["b'ab'"]) == 0
    assert row([[1, 2], [3]], ["x", "y"]) == 0
    assert row([1e300, 1.0], [1e300, 1.0 + 1e-12], loose=True) == 1
    assert row([1e300, 1.0], [1e300, 1.0 + 2e-16], loose=True) is None


def test_first_difference_of_odd_types():
    import datetime as dt

    times = pa.array([dt.time(1, 2, 3), None])
    assert first_difference(times, pa.array(["01:02:03", None])) is None
    assert first_difference(times, pa.array(["01:02:03.000000", ""])) is None
    assert first_difference(times, pa.array(["01:02:03", "x"])) == 1
    moments = pa.array([dt.datetime(2020, 1, 1, 0, 0, 0, 400)])
    assert first_difference(moments, pa.array([dt.datetime(2020, 1, 1)]), loose=True) is None
    assert first_difference(moments, pa.array([dt.datetime(2020, 1, 1)])) == 0
    words = pa.array(["a", None, "b"])
    assert first_difference(words.dictionary_encode(), words) is None
    halves = pa.array(np.array([1.5, 2.5], np.float16))
    assert first_difference(halves, pa.array(["1.5", "2.5"])) is None
    assert first_difference(pa.nulls(2), pa.array([None, None], pa.string())) is None
    assert first_difference(pa.array(["a"], pa.string_view()), pa.array(["b"])) == 0


def test_compare_names_each_fault():
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert str(compare(table, table, ["a", "b"])) == "yes: 2 records in their order, all protected"
    assert str(compare(table, table, ["a"])).endswith("1 untouched column the same")
    assert str(compare(table, table, [])).endswith("2 untouched columns the same")
    other = pa.table({"a": [1, 3], "c": [0, 0]})
    faults = compare(table, other, []).faults
    assert faults == (
        "column 'c' should not be there",
        "column 'b' is missing",
        "column 'a' is not what it was in row 2, 2: it became 3",
    )


def test_outside_looks_at_numbers_dates_and_decimals_only():
    import datetime as dt
    from decimal import Decimal

    days = [dt.date(2020, 1, d) for d in (1, 3, 20, 22)]
    original = pa.table(
        {
            "d": days,
            "n": [1, 3, 20, 22],
            "m": [Decimal("1.0"), Decimal("3.0"), Decimal("20.0"), Decimal("22.0")],
        }
        | {"u": pa.array([1, 3, 20, 22], pa.uint64()), "t": ["a", "b", "c", "d"], "f": [1.0, 3.0, None, None]}
    )
    good = pa.table(
        {
            "d": [days[1]] * 2 + [days[2]] * 2,
            "n": [2, 2, 21, 21],
            "m": [Decimal("2.0")] * 2 + [Decimal("21.0")] * 2,
        }
        | {"u": pa.array([2, 2, 21, 21], pa.uint64()), "t": ["a", "a", "c", "c"], "f": [3.0, 3.0, None, None]}
    )
    assert outside(original, good, original.column_names) == []
    for name in ("d", "n", "m", "u", "f"):
        turned = good.set_column(good.column_names.index(name), name, good[name].take([2, 3, 0, 1]))
        wrong = outside(original, turned, [name])
        assert wrong == (
            []
            if name == "f"
            else [f"2 published values of column {name!r} lie outside the values of their records"]
        )
    turned = good.take([2, 3, 0, 1])
    assert [
        fault.split("'")[1] for fault in outside(original, turned, original.column_names, whole=False)
    ] == ["m"]
