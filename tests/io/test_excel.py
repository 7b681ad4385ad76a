"""Excel workbooks: sheets, headers, kinds of cells."""

import datetime as dt
import zipfile

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.io.files import read_contents
from shoal.io.formats import excel
from shoal.io.formats.sheet import letters
from tests.workbooks import kinds, workbook


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "sheet 'Sheet1' of .* is empty: a table needs a header line"),
        ([["a", "a"], [1, 2]], "two columns of .* are called 'a'"),
        ([["a"], [1, 2]], "column B of sheet 'Sheet1' of .* has no name in row 1: name it, or say which row"),
        ([["a", None, "c"], [1, 2, 3]], r"column B .* which row has the names \(t.xlsx#Sheet1!2\)"),
        ([["Survey 2031"], [], ["a", "b"], [1, 2]], r"column B .* \(t.xlsx#Sheet1!3\)"),
        ([[], ["a", "b"], [1, 2]], r"row 1 of sheet 'Sheet1' of .* names no column: .*\(t.xlsx#Sheet1!2\)"),
    ],
)
def test_headers_that_name_no_columns_are_told(rows, said, tmp_path):
    with pytest.raises(InputError, match=said):
        shoal.read(workbook(tmp_path / "t.xlsx", *rows))


def test_merged_headers_are_told(tmp_path):
    rows = [[], ["a", "b", "c"], [1, 2, 3]]
    path = workbook(tmp_path / "t.xlsx", *rows, merged=[("A1:B1", "People"), ("C1:C2", "c")])
    with pytest.raises(InputError, match=r"merged cells \(A1:B1\) in row 1, .*t.xlsx#Sheet1!2"):
        shoal.read(path)
    assert shoal.read(f"{path}#Sheet1!2").to_pydict() == {"a": [1], "b": [2], "c": [3]}


def test_sheets_are_chosen_by_name(tmp_path):
    people = [["first page"], ["a", "b"], [1, "x"], [2, None]]
    path = workbook(tmp_path / "t.xlsx", **{"Notes": [], "Sheet 2": people, "a!b": [["n"], [5]]})
    assert excel.sheets(path) == ["Sheet1", "Notes", "Sheet 2", "a!b"]
    (tmp_path / "bad.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="cannot be read as Excel"):
        excel.sheets(tmp_path / "bad.xlsx")
    with pytest.raises(InputError, match=r"is empty: .*; choose another sheet .t.xlsx#NAME., or fill it"):
        shoal.read(path)
    with pytest.raises(InputError, match="has no sheet 'Sheet 3': did you mean 'Sheet 2'"):
        shoal.read(f"{path}#Sheet 3")
    with pytest.raises(InputError, match=r"should read like book.xlsx#Sheet 2!3"):
        shoal.read(f"{path}#Sheet 2!0")
    assert shoal.read(f"{path}#a!b").to_pydict() == {"n": [5]}
    table = shoal.read(f"{path}#Sheet 2!2")
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", None]}
    with pytest.raises(InputError, match="no column 'n': there are 'a', 'b'; only sheet 'Sheet 2' was read"):
        shoal.microaggregate(f"{path}#Sheet 2!2", 2, columns="n")
    release = shoal.microaggregate(f"{path}#Sheet 2!2", 2, columns="a")
    assert any("only sheet 'Sheet 2' was read; there are also Sheet1, Notes, a!b" in n for n in release.notes)
    release.write(tmp_path / "out.xlsx")
    assert excel.sheets(tmp_path / "out.xlsx") == ["Sheet 2"]
    with pytest.raises(InputError, match="is the input"):
        release.write(path)


def test_a_sheet_may_begin_anywhere(tmp_path):
    rows = [[], [None, None, "a", "b"], [None, None, 1, 2.5], [], [None, None, 3, None], [None, None, None]]
    table = shoal.read(f"{workbook(tmp_path / 't.xlsx', *rows)}#Sheet1!2")
    assert table.to_pydict() == {"a": [1, None, 3], "b": [2.5, None, None]}


def test_cells_of_every_kind_come_back(tmp_path):
    moment, day, time = dt.datetime(2031, 12, 24, 18, 30), dt.date(2031, 12, 24), dt.time(18, 30)
    columns = {
        "whole": [1, None, 3],
        "text": ["1", "", "x"],
        "truth": [True, None, False],
        "day": [day, None, day],
        "moment": [moment, None, moment],
    }
    table = pa.table({**columns, "moment": pa.array(columns["moment"], pa.timestamp("us"))})
    shoal.write(table, tmp_path / "t.xlsx")
    made = shoal.read(tmp_path / "t.xlsx")
    assert made.drop_columns("text").equals(table.drop_columns("text"))
    assert [text or "" for text in made["text"].to_pylist()] == columns["text"]
    shoal.write(pa.table({"t": pa.array([time, None, time])}), tmp_path / "t.xlsx")
    assert shoal.read(tmp_path / "t.xlsx")["t"].to_pylist() == ["18:30:00", None, "18:30:00"]
    mixed = [[1, "1", True], [1.5, day, moment], [time, 2, "#N/A"], [True, "x", None], [day, 3, 2**53]]
    names = list("abcde")
    fields, arrays = zip(*(excel.mixed_column(name, cells) for name, cells in zip(names, mixed)))
    excel.write(pa.Table.from_arrays(list(arrays), schema=pa.schema(fields)), tmp_path / "m.xlsx")
    cells = read_contents(tmp_path / "m.xlsx").cells
    for name, expected in zip(names, mixed):
        assert excel.own_cells(cells, name) == expected
    assert kinds(tmp_path / "m.xlsx")[5:10] == ["n", "n", "n", "b", "n"]


def test_errors_stay_what_they_show(tmp_path):
    import xlsxwriter

    book = xlsxwriter.Workbook(str(tmp_path / "t.xlsx"))
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["x", "y"])
    sheet.write_row(1, 0, [1, 5])
    sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")
    sheet.write_formula(2, 1, "=A2+6", None, 7)
    book.close()
    assert shoal.read(tmp_path / "t.xlsx").to_pydict() == {"x": ["1", "#DIV/0!"], "y": [5, 7]}


def test_a_workbook_has_an_end(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "b", "c"], [1, 2, 3], [4, None, None])
    assert shoal.read(path).to_pydict() == {"a": [1, 4], "b": [2, None], "c": [3, None]}
    with pytest.raises(InputError, match="more than 6 cells, empty ones among them: use CSV or Parquet"):
        excel.read(path, most_cells=6)
    wide = pa.table({str(j): [j] for j in range(16_385)})
    with pytest.raises(InputError, match="16,384 columns: write another format"):
        shoal.write(wide, tmp_path / "wide.xlsx")
    assert not (tmp_path / "wide.xlsx").exists()
    assert shoal.read(workbook(tmp_path / "t.xlsx", ["a", "b"])).to_pydict() == {"a": [], "b": []}
    assert [letters(n) for n in (1, 26, 27, 16_384)] == ["A", "Z", "AA", "XFD"]


def crafted(path, sheet, *rows):
    """A workbook whose first sheet has this XML between its tags."""
    with zipfile.ZipFile(workbook(path, *rows)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts["xl/worksheets/sheet1.xml"] = b'<worksheet xmlns="%s">%s</worksheet>' % (space, sheet)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return path


def test_cells_need_not_say_where_they_are(tmp_path):
    text = b"<c t='inlineStr' s='0'><is><t>%s</t></is></c>"
    sheet = b"<sheetData><row>%s%s</row><row><c><v>1</v></c><c t='e'><f>x</f></c></row></sheetData>"
    path = crafted(tmp_path / "t.xlsx", sheet % (text % b"a", text % b"b"))
    assert shoal.read(path).to_pydict() == {"a": [1], "b": ["#N/A"]}


def test_what_calamine_sees_otherwise_is_refused(tmp_path):
    sheet = b'<sheetData><row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1"><f>1</f></c></row></sheetData>'
    with pytest.raises(InputError, match="its cells are not where it says"):
        shoal.read(crafted(tmp_path / "t.xlsx", sheet))
    with pytest.raises(InputError, match="declares what no program writes"):
        shoal.read(crafted(tmp_path / "t.xlsx", b"<!DOCTYPE x>"))
    shared = b'<sheetData><row r="1"><c r="A1" t="s"></c></row></sheetData>'
    with pytest.raises(InputError, match="cannot be read as Excel"):
        shoal.read(crafted(tmp_path / "t.xlsx", shared))


def test_a_sheet_of_charts_is_no_table(tmp_path):
    import xlsxwriter

    book = xlsxwriter.Workbook(str(tmp_path / "t.xlsx"))
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=Data!$A$2:$A$2"})
    book.add_chartsheet("Chart").set_chart(chart)
    book.add_worksheet("Data").write_column(0, 0, ["a", 1])
    book.close()
    assert shoal.read(tmp_path / "t.xlsx").to_pydict() == {"a": [1]}
