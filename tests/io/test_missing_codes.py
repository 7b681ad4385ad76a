"""Codes that SPSS and Stata call missing: gaps for the grouping, published as they are where they may be."""

import subprocess
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from typer.testing import CliRunner

import shoal
from shoal.check import check_original
from shoal.cli.commands import app
from shoal.io.formats import stats
from shoal.io.origin import notes_on_signs
from shoal.io.source import frame_of
from tests.missing import haven

REFUSED, UNKNOWN = 999.0, 998.0
COLUMNS = ["pay", "age"]


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(50, 10, n).round(1), rng.integers(20, 80, n).astype(float)


@pytest.fixture
def spss(tmp_path):
    """Seven unknown, eight refused and three plain gaps; one age is -1, which is a code."""
    pay, age = numbers()
    pay[:7], pay[7:15], pay[15:18], age[3] = UNKNOWN, REFUSED, np.nan, -1
    pyreadstat.write_sav(
        pd.DataFrame({"pay": pay, "age": age, "id": np.arange(60.0)}),
        tmp_path / "in.sav",
        missing_ranges={"pay": [{"lo": 998, "hi": 999}], "age": [-1]},
        variable_value_labels={"pay": {998: "unknown", 999: "refused"}, "age": {-1: "unknown"}},
        variable_format={"age": "F3.0"},
    )
    return tmp_path / "in.sav"


@pytest.fixture
def stata(tmp_path):
    pay, age = numbers()
    cells = pd.Series(pay.tolist(), dtype=object)
    cells[:7], cells[7:15], cells[15:18] = "a", "b", None
    pyreadstat.write_dta(
        pd.DataFrame({"pay": cells, "age": age.astype(np.int32)}),
        tmp_path / "in.dta",
        missing_user_values={"pay": ["a", "b"]},
        variable_value_labels={"pay": {"a": "unknown", "b": "refused"}},
        column_labels={"pay": "Pay"},
    )
    return tmp_path / "in.dta"


def released(path, k=3, **options):
    release = shoal.microaggregate(path, k, columns=COLUMNS, order="keep", **options)
    target = path.with_name(f"out{path.suffix}")
    release.write(target, keep=["id"])
    read = getattr(pyreadstat, f"read_{path.suffix[1:]}")
    return release, *read(target, user_missing=True)


def test_groups_of_one_code_publish_it(spss):
    release, cells, facts = released(spss)
    assert cells["pay"][:15].tolist() == [UNKNOWN] * 7 + [REFUSED] * 8
    assert np.isnan(release.table["pay"].to_numpy()[:15]).all()  # in memory a code is a gap
    assert cells["pay"][18:].between(20, 90).all()  # no code was averaged
    assert facts.missing_ranges == {"pay": [{"lo": 998.0, "hi": 999.0}]}
    assert facts.variable_value_labels == {"pay": {998.0: "unknown", 999.0: "refused"}}
    shared = Counter(zip(cells["pay"].fillna(-5), cells["age"]))
    assert min(shared.values()) >= 3
    out = spss.with_name("out.sav")
    assert all(finding.passed for finding in shoal.check(out, 3, COLUMNS))
    assert check_original(out, spss, COLUMNS, plan=release.plan).passed


def test_a_code_of_too_few_is_a_plain_gap_beside_another_code(tmp_path):
    pay, age = numbers(30)
    pay[:2], pay[2:10] = UNKNOWN, REFUSED
    frame = pd.DataFrame({"pay": pay, "age": age, "id": age})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"pay": [998, 999]})
    _, cells, facts = released(tmp_path / "in.sav")
    assert cells["pay"][:2].isna().all()
    assert set(cells["pay"][2:10].dropna()) == {REFUSED}
    assert facts.missing_ranges == {"pay": [{"lo": REFUSED, "hi": REFUSED}]}  # nobody publishes 998
    assert cells["pay"][10:].between(20, 90).all()


def test_a_group_that_mixes_values_and_codes_publishes_a_value(spss):
    _, cells, _ = released(spss, missing="impute")
    codes = cells["pay"].isin([UNKNOWN, REFUSED])
    assert cells["pay"][~codes].dropna().between(20, 90).all()
    assert not (codes & ~pyreadstat.read_sav(spss, user_missing=True)[0]["pay"].isin([998, 999])).any()


def test_a_mean_that_would_be_taken_for_a_code_costs_the_column_its_codes(tmp_path):
    pay = np.array([9.0] * 20 + [1.0, 17.0] * 10)  # whose mean is the code
    frame = pd.DataFrame({"pay": pay, "age": pay})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"pay": [9]})
    release, cells, facts = released(tmp_path / "in.sav", 20)
    told = "values that are published in 'pay' lie among its codes for gaps, which became plain gaps"
    assert told in release.notes
    assert cells["pay"][:20].isna().all()
    assert set(cells["pay"][20:]) == {9.0}
    assert facts.missing_ranges == {}


def test_letters_of_stata_are_published(stata):
    release, cells, facts = released(stata)
    assert cells["pay"][:15].tolist() == ["a"] * 7 + ["b"] * 8
    assert facts.variable_value_labels == {"pay": {"a": "unknown", "b": "refused"}}
    assert facts.column_names_to_labels["pay"] == "Pay"
    assert [finding.passed for finding in shoal.check(stata.with_name("out.dta"), 3, COLUMNS)] == [True]
    assert check_original(stata.with_name("out.dta"), stata, COLUMNS, plan=release.plan).passed


def test_codes_that_are_not_those_of_their_records_are_found(spss):
    release, cells, facts = released(spss)
    cells.loc[:14, "pay"] = [REFUSED] * 7 + [UNKNOWN] * 8
    pyreadstat.write_sav(
        cells, spss.with_name("out.sav"), missing_ranges=facts.missing_ranges, variable_format={"age": "F3.0"}
    )
    agreement = check_original(spss.with_name("out.sav"), spss, COLUMNS, plan=release.plan)
    assert "column 'pay' has codes for gaps that are not those of its records" in agreement.faults


def test_codes_count_as_values_of_their_own(tmp_path):
    pay = [1.0, 1, 1, 99, 99, 98]
    pyreadstat.write_sav(pd.DataFrame({"pay": pay}), tmp_path / "a.sav", missing_ranges={"pay": [98, 99]})
    (finding,) = shoal.check(tmp_path / "a.sav", 3, ["pay"])
    assert (finding.groups, finding.short_groups, finding.smallest_group) == (3, 2, 1)


def test_units_have_the_code_of_all_their_records(tmp_path):
    pay, age = numbers(60)
    pay[:24] = np.repeat([UNKNOWN, REFUSED], 12)
    who = np.repeat(np.arange(30), 2)
    pay = pay[who * 2]
    frame = pd.DataFrame({"pay": pay, "age": age, "who": who.astype(float)})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"pay": [998, 999]})
    release = shoal.microaggregate(tmp_path / "in.sav", 3, columns=COLUMNS, unit="who")
    codes = np.array(release.codes["pay"].to_pylist(), float)
    assert set(codes[pay == UNKNOWN]) == {UNKNOWN}
    assert set(codes[pay == REFUSED]) == {REFUSED}
    assert np.isnan(codes[pay < 900]).all()
    release.write(tmp_path / "out.sav")
    agreement = check_original(tmp_path / "out.sav", tmp_path / "in.sav", COLUMNS, plan=release.plan)
    assert agreement.passed
    assert agreement.units >= 3


def test_capped_columns_keep_their_codes(spss):
    release = shoal.microaggregate(
        spss, 3, columns=["age"], top={"pay": 60}, order="keep", keep=["id", "pay"]
    )
    release.write(spss.with_name("out.sav"))
    cells = pyreadstat.read_sav(spss.with_name("out.sav"), user_missing=True)[0]
    assert cells["pay"][:15].tolist() == [UNKNOWN] * 7 + [REFUSED] * 8
    assert cells["pay"][18:].max() < 80


def test_another_format_has_plain_gaps(spss, tmp_path):
    shoal.microaggregate(spss, 3, columns=COLUMNS, order="keep", keep=["id"]).write(tmp_path / "out.csv")
    assert shoal.read(tmp_path / "out.csv")["pay"].null_count == 18


def test_inspect_tells_what_the_file_calls_missing(spss, stata, tmp_path):
    shown = CliRunner().invoke(app, ["inspect", str(spss)]).output
    assert "the file calls 998.0, 999.0 missing in 'pay': 15 gaps" in shown
    assert notes_on_signs(frame_of(stata)) == ["the file calls .a, .b missing in 'pay': 15 gaps"]
    shoal.write(pa.table({"a": [1]}), tmp_path / "t.parquet")
    assert notes_on_signs(frame_of(tmp_path / "t.parquet")) == []
    assert notes_on_signs(frame_of(pa.table({"a": [1]}))) == []


def test_dates_are_no_codes():
    assert not stats.any_missing([pd.Timestamp(2031, 1, 1).date()], [{"lo": 1.0, "hi": 9.0}])


@pytest.mark.skipif(not haven(), reason="R's package haven is not installed")
@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_haven_reads_values_labels_and_codes(kind, spss, stata):
    """What R's haven says of a release is what it says of the original, but for the means."""
    path = {"sav": spss, "dta": stata}[kind]
    released(path)
    script = """
        suppressMessages(library(haven))
        for (file in commandArgs(TRUE)) {
            table <- if (grepl("sav$", file)) read_sav(file, user_na = TRUE) else read_dta(file)
            pay <- table$pay
            said <- if (grepl("sav$", file)) as.character(unclass(pay)) else na_tag(pay)
            cat(paste(said[1:15], collapse = " "), "|", is.na(pay[16]), "|", attr(pay, "label"), "|")
            labels <- attr(pay, "labels")
            tags <- if (grepl("sav$", file)) labels else na_tag(labels)
            cat(paste(names(labels), tags), "|", sum(is.na(pay)), "|", "\\n")
        }
    """
    done = subprocess.run(
        ["Rscript", "-e", script, str(path), str(path.with_name(f"out.{kind}"))],
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = done.stdout.splitlines()
    assert ("998 998" if kind == "sav" else "a a a a a a a b b") in before
    assert "refused" in before
    assert before == after
