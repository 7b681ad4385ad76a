"""Every format: what is not protected comes out as it went in, values, types, labels and order."""

import datetime as dt
import gzip
import io
import subprocess
import sys
from pathlib import Path

import fastexcel
import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.frame.metadata import details_of
from shoal.io.formats import text
from shoal.verify.files import check_original
from tests.workbooks import kinds, workbook


def column(path, name):
    """A column of a text file as it is written, by the standard library's reader."""
    import csv

    with open(path, newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


ODD = """id,price,code,big,flag,x,"na, me"
0001,1.50,+7,123456789012345678901234,NA,1,"a ""b"", c"
0002,2.00,-0,1,true,2,=cmd()
0003,1e3,1.0,2,,3,"new
line"
0004,.5,07,3,NA,9,""
"""


def test_cells_that_are_not_protected_keep_their_text(tmp_path):
    path, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    path.write_text(ODD)
    shoal.microaggregate(path, 2, columns="x", order="keep", keep="id").write(out)
    for name in ("id", "price", "code", "big", "flag", "na, me"):
        assert column(out, name) == column(path, name)
    assert column(out, "x") == ["2", "2", "6", "6"]  # 1.5 rounds to 2


def test_gaps_in_protected_columns_keep_their_spelling(tmp_path):
    path, out = tmp_path / "gaps.csv", tmp_path / "out.csv"
    path.write_text("x,y\n" + "1,2\n3,4\nNA,5\nNA,6\n" * 2)
    shoal.microaggregate(path, 2, columns=["x", "y"], method="mdav", order="keep").write(out)
    assert column(out, "x").count("NA") == 4
    assert shoal.read(out)["x"].null_count == 4


def test_semicolons_decimal_commas_and_windows_letters(tmp_path):
    path, out = tmp_path / "euro.csv", tmp_path / "out.csv"
    lines = ["Straße;Betrag;Kurs;Punkt"] + [f"Äpfel {i};{i},50;{i};1.000" for i in range(6)]
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    table = shoal.read(path)
    assert table["Betrag"].to_pylist() == [i + 0.5 for i in range(6)]
    assert table["Punkt"].to_pylist() == ["1.000"] * 6  # a point is no decimal mark here
    release = shoal.microaggregate(path, 3, columns="Betrag", order="keep", keep="Straße")
    release.write(out)
    text = out.read_bytes().decode("cp1252")
    assert text == "\r\n".join(
        [lines[0]] + [f"Äpfel {i};{'1,5' if i < 3 else '4,5'};{i};1.000" for i in range(6)] + [""]
    )
    release.write(tmp_path / "out.tsv")
    assert shoal.read(tmp_path / "out.tsv")["Betrag"].to_pylist() == [1.5] * 3 + [4.5] * 3


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_any_delimiter_and_encoding_comes_back_as_it_was(tmp_path, sign, encoding):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = [["näme", "x", "other"]] + [[f"ü{i}", str(i), f"0{i}"] for i in range(4)]
    path.write_bytes("".join(sign.join(row) + "\n" for row in rows).encode(encoding))
    shoal.microaggregate(path, 4, columns="x", order="keep", keep="näme").write(out)
    for row in rows[1:]:
        row[1] = "2"
    assert out.read_bytes() == "".join(sign.join(row) + "\n" for row in rows).encode(encoding)


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "tsv.gz"])
def test_packed_text(tmp_path, ending):
    path = tmp_path / f"firms.{ending}"
    shoal.write(survey(30), path)
    if ending == "csv.gz":
        assert gzip.decompress(path.read_bytes()).startswith(b"region,sector,")
    assert shoal.read(path).equals(survey(30))
    release = shoal.microaggregate(path, 3, method="mdav", order="keep")
    release.write(tmp_path / f"out.{ending}")
    assert shoal.read(tmp_path / f"out.{ending}").equals(release.table)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "feather", "xlsx", "sav", "dta"])
def test_round_trip_of_every_kind_of_cell(tmp_path, ending):
    table = pa.table(
        {
            "whole": pa.array([1, None, -3, 4]),
            "real": [1.5, 2.0, None, -0.25],
            "text": ["a", "ü=1+1", 'q"q', "=cmd()"],
            "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1950, 2, 3), dt.date(2100, 1, 1)]),
        }
    )
    path = tmp_path / f"t.{ending}"
    shoal.write(table, path)
    again = shoal.read(path)
    if ending == "csv":
        table = table.set_column(3, "day", table["day"].cast(pa.string()))
    if ending == "dta":  # whole numbers of Stata have 32 bits
        table = table.set_column(0, "whole", table["whole"].cast(pa.int32()))
    assert again.to_pydict() == table.to_pydict()
    assert again.schema.types == table.schema.types


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_whole_numbers_stay_whole_through_files_of_statistics(tmp_path, ending):
    values = np.arange(40) ** 2
    shoal.write(pa.table({"n": values, "wide": values + 10**12}), tmp_path / f"in.{ending}")
    release = shoal.microaggregate(tmp_path / f"in.{ending}", 3, columns="n", order="keep", keep="wide")
    release.write(tmp_path / f"out.{ending}")
    expected = shoal.microaggregate(values, 3).table
    assert np.array_equal(shoal.read(tmp_path / f"out.{ending}")["n"], expected)
    assert pa.types.is_integer(shoal.read(tmp_path / f"out.{ending}")["n"].type)
    assert np.array_equal(shoal.read(tmp_path / f"out.{ending}")["wide"], values + 10**12)
    with pytest.raises(InputError, match="rename 'a-b'"):
        shoal.write(pa.table({"a-b": [1]}), tmp_path / f"bad.{ending}")


@pytest.fixture
def spss(tmp_path):
    path = tmp_path / "study.sav"
    frame = pd.DataFrame(
        {
            "sex": [1, 2] * 6,
            "pay": [10.0, 20, 30, 999, 50, 60, 70, 80, 90, 100, 110, 999],
            "asks": [1.0, 2, 99, 4] * 3,
            "name": ["ä", "b", ""] * 4,
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        file_label="a study",
        column_labels={"sex": "Sex of person", "pay": "Pay, monthly"},
        variable_value_labels={"sex": {1: "male", 2: "female"}, "asks": {99: "refused"}},
        missing_ranges={"pay": [999], "asks": [99]},
        variable_measure={"sex": "nominal", "pay": "scale"},
        variable_format={"sex": "F1.0"},
    )
    return path


def test_spss_keeps_labels_and_codes_and_never_averages_a_code(spss, tmp_path):
    table = shoal.read(spss)
    assert table["sex"].type == pa.int64()
    assert table["pay"].null_count == 2
    release = shoal.microaggregate(spss, 3, columns=["pay"], method="mdav_generic", order="keep", keep="name")
    assert max(v for v in release.table["pay"].to_pylist() if v is not None) <= 110
    release.write(tmp_path / "out.sav")
    frame, facts = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True)
    before, known = pyreadstat.read_sav(spss, user_missing=True)
    assert frame[["sex", "asks", "name"]].equals(before[["sex", "asks", "name"]])
    assert facts.column_names_to_labels == known.column_names_to_labels
    assert facts.variable_value_labels == known.variable_value_labels
    assert facts.variable_measure == known.variable_measure
    assert facts.original_variable_types == known.original_variable_types
    assert facts.file_label == "a study"
    assert facts.missing_ranges == {"asks": known.missing_ranges["asks"]}
    release.write(tmp_path / "out.dta")
    labels = pyreadstat.read_dta(tmp_path / "out.dta")[1]
    assert labels.variable_value_labels["sex"] == {1: "male", 2: "female"}
    assert labels.column_names_to_labels["pay"] == "Pay, monthly"


def test_stata_keeps_labels_and_lettered_gaps(tmp_path):
    frame = pd.DataFrame(
        {
            "pay": pd.Series([1.5, "a", 2.5, 3.5, None, 9.0], dtype=object),
            "asks": pd.Series([1.0, "b", 2.0, "a", 1.0, 2.0], dtype=object),
            "n": [1, 2, 3, 4, 5, 6],
        }
    )
    pyreadstat.write_dta(
        frame,
        tmp_path / "in.dta",
        column_labels={"n": "Number"},
        variable_value_labels={"n": {1: "one"}},
        missing_user_values={"pay": ["a"], "asks": ["a", "b"]},
    )
    release = shoal.microaggregate(tmp_path / "in.dta", 2, columns=["pay"], order="keep")
    assert release.table["pay"].null_count == 2
    release.write(tmp_path / "out.dta")
    cells, facts = pyreadstat.read_dta(tmp_path / "out.dta", user_missing=True, output_format="dict")
    assert list(cells["asks"]) == [1.0, "b", 2.0, "a", 1.0, 2.0]
    assert facts.missing_user_values["asks"] == ["a", "b"]
    assert facts.variable_value_labels == {"n": {1: "one"}}
    assert facts.column_names_to_labels["n"] == "Number"


def test_sas_is_read_and_not_written(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "s": list("abcd")})
    pyreadstat.write_xport(frame, tmp_path / "in.xpt")
    assert shoal.read(tmp_path / "in.xpt").to_pydict() == frame.to_dict("list")
    release = shoal.microaggregate(tmp_path / "in.xpt", 2, columns="x", order="keep")
    release.write(tmp_path / "out.parquet")
    with pytest.raises(InputError, match="read but not written"):
        release.write(tmp_path / "out.xpt")


def test_excel_keeps_sheet_kinds_and_never_writes_a_formula(tmp_path):
    rows = [[f"=A{i}", i, i if i % 2 else f"t{i}", dt.datetime(2020, 1, 1 + i), i > 2] for i in range(6)]
    workbook(tmp_path / "in.xlsx", "Survey", ["=name", "x", "mixed", "when", "yes"], *rows)
    table = shoal.read(tmp_path / "in.xlsx")
    assert table.schema.types == [pa.string(), pa.int64(), pa.string(), pa.date32(), pa.bool_()]
    shoal.microaggregate(tmp_path / "in.xlsx", 3, columns="x", order="keep").write(
        tmp_path / "out.xlsx", keep="=name"
    )
    assert kinds(tmp_path / "out.xlsx") == kinds(tmp_path / "in.xlsx")
    assert {*kinds(tmp_path / "out.xlsx")} == {"s", "n", "b"}
    book = fastexcel.read_excel(tmp_path / "out.xlsx")
    assert book.sheet_names == ["Survey"]
    after = book.load_sheet(0).to_arrow().to_pydict()
    assert after["x"] == [1, 1, 1, 4, 4, 4]
    assert after["when"] == [row[3] for row in rows]
    assert after["mixed"] == [str(row[2]) for row in rows]
    assert (after["=name"], after["yes"]) == ([row[0] for row in rows], [row[4] for row in rows])


def test_excel_keeps_every_digit_of_a_double(tmp_path):
    values = [0.1 + 0.2, 1 / 3, 1e-300, 123456789.12345679, 5e-324, 1e22, -0.0, 2.0]
    shoal.write(pa.table({"x": values}), tmp_path / "a.xlsx")
    assert shoal.read(tmp_path / "a.xlsx")["x"].to_pylist() == values
    assert kinds(tmp_path / "a.xlsx") == ["s", *"nnnnnnnn"]


def test_dates_beyond_the_year_9999(tmp_path):
    days = pa.array(np.arange(4_000_000, 4_000_012, dtype=np.int32)).cast(pa.date32())
    release = shoal.microaggregate(pa.table({"d": days, "x": range(12)}), 3, columns=["d", "x"], order="keep")
    release.report(tmp_path / "report.txt", bound_time=None)
    release.write(tmp_path / "out.parquet")
    assert shoal.read(tmp_path / "out.parquet").equals(release.table)
    with pytest.raises(InputError, match="'d' has dates after the year 9999"):
        release.write(tmp_path / "out.xlsx")


def test_excel_says_what_it_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="characters"):
        shoal.write(pa.table({"a": ["x" * 40000]}), tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="control character"):
        shoal.write(pa.table({"a": ["\x01"]}), tmp_path / "a.xlsx")
    shoal.write(pa.table({"a": [None, 2**60 + 1]}), tmp_path / "a.xlsx")
    assert shoal.read(tmp_path / "a.xlsx")["a"].to_pylist() == [None, str(2**60 + 1)]


@pytest.mark.parametrize(
    "name", ["a.xlsx", "a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.feather", "a.csv.gz", "a.csv.zst"]
)
def test_a_file_that_is_not_what_it_says(tmp_path, name):
    (tmp_path / name).write_bytes(b"this is not such a file at all" * 20)
    with pytest.raises(InputError, match="cannot be read"):
        shoal.read(tmp_path / name)


def test_a_file_that_changed_in_the_meantime_is_not_mixed_with_what_was_read(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,x\n1.50,1\n2.50,2\n")
    release = shoal.microaggregate(path, 2, columns="x", order="keep")
    path.write_text("a,x\n9.99,1\n2.50,2\n1,1\n")
    release.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "a,x\n1.50,2\n2.50,2\n"


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    path.write_text("a,x\n1.50,1\n2.50,2\n")
    texts = text.texts

    def slowly(*given):
        path.write_text("a,x\n9.99,1\n2.50,2\n1,1\n")
        return texts(*given)

    monkeypatch.setattr(text, "texts", slowly)
    with pytest.raises(InputError, match="has changed while it was read"):
        shoal.microaggregate(path, 2, columns="x", order="keep")


def test_a_file_is_parsed_once_on_the_way_in_and_once_when_it_is_read_back(tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    path.write_text("a,x\n1.50,1\n2.50,2\n")
    parsed, texts = [], text.texts

    def counting(content, dialect, where):
        parsed.append(Path(where).resolve().name.strip(".").partition(".")[0])
        return texts(content, dialect, where)

    monkeypatch.setattr(text, "texts", counting)
    release = shoal.microaggregate(path, 2, columns="x", order="keep")
    release.write(tmp_path / "out.csv")
    assert parsed == ["in", "out"]
    release.report(tmp_path / "report.html", bound_time=None)
    assert parsed == ["in", "out"]
    check_original(tmp_path / "out.csv", path, ["x"])
    assert parsed == ["in", "out", "out", "in"]


def shoal_command(*words, content=b"", status=0):
    run = subprocess.run([sys.executable, "-m", "shoal", *words], input=content, capture_output=True)
    assert run.returncode == status, run.stderr
    return run.stdout


def test_stdin_and_stdout():
    lines = b"a,x\n01,1\n02,2\n03,8\n04,9\n"
    assert shoal_command("protect", "-", "-k", "2", "-c", "x", "--order", "keep", content=lines) == (
        b"a,x\n01,2\n02,2\n03,9\n04,9\n"
    )
    buffer = io.BytesIO()
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": np.arange(6.0)}), buffer)
    out = shoal_command("protect", "-", "-k", "3", "-o", "-", "--order", "keep", content=buffer.getvalue())
    assert pq.read_table(io.BytesIO(out))["x"].to_pylist() == [1.0] * 3 + [4.0] * 3
    shoal_command("check", "-", "-k", "3", content=out)
    assert b"quasi" in shoal_command("inspect", "-", content=lines)


def test_details_travel_with_the_table(spss):
    assert details_of(shoal.read(spss))["stats"]["column_labels"]["sex"] == "Sex of person"
