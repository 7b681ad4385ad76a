"""Excel workbooks."""

import datetime as dt

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.io.formats import excel


def test_workbooks_with_odd_headers(tmp_path):
    from openpyxl import Workbook

    def saved(*rows):
        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    with pytest.raises(InputError, match="is empty"):
        shoal.read(saved())
    with pytest.raises(InputError, match="two columns"):
        shoal.read(saved(["a", "a"], [1, 2]))
    with pytest.raises(InputError, match="beyond its last named column"):
        shoal.read(saved(["a"], [1, 2]))
    assert shoal.read(saved([None, "a"], [1, 2], [None, None])).to_pydict() == {"": [1], "a": [2]}
    assert shoal.read(saved(["a"], [None], [True]))["a"].to_pylist() == [None, True]
    path, book = saved(["a", "b"], [1, 2]), Workbook()
    book.active.append(["a"])
    book.active.append([1])
    book.active.cell(2, 9).number_format = "0.00"  # a form, but no content
    book.save(path)
    assert shoal.read(path).to_pydict() == {"a": [1]}


def test_a_workbook_has_an_end(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for row in (["a", "b", "c"], [1, 2, 3], [4, None, None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert shoal.read(tmp_path / "t.xlsx").to_pydict() == {"a": [1, 4], "b": [2, None], "c": [3, None]}
    with pytest.raises(InputError, match="more than 6 cells, empty ones among them: use CSV or Parquet"):
        excel.read(tmp_path / "t.xlsx", most_cells=6)
    wide = pa.table({str(j): [j] for j in range(16_385)})
    with pytest.raises(InputError, match="16,384 columns: write another format"):
        shoal.write(wide, tmp_path / "wide.xlsx")
    assert not (tmp_path / "wide.xlsx").exists()


def test_moments_of_a_day_go_into_a_workbook(tmp_path):
    moments = [dt.datetime(2031, 12, 24, 18, 30), None]
    shoal.write(pa.table({"a": [1, 2], "t": pa.array(moments, pa.timestamp("us"))}), tmp_path / "t.xlsx")
    assert shoal.read(tmp_path / "t.xlsx")["t"].to_pylist() == moments
