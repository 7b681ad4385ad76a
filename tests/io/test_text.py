"""Text files: CSV, TSV and their packed forms."""

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.io.formats import text


def test_categories_are_written_as_their_words(tmp_path):
    shoal.write(pa.table({"w": pa.array(["x", "y", "x"]).dictionary_encode()}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "w\nx\ny\nx\n"


def test_a_long_record_does_not_hide_what_is_wrong_after_it():
    content = b"a,b\n1," + b"x" * (3 << 20) + b"\n1,2,3\n"
    with pytest.raises(InputError, match="has 3 cells in row 3 but 2 columns"):
        text.texts(content, text.Dialect(), "t.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_line_breaks_of_windows_in_a_cell_stay_wherever_the_text_is_cut(encoding):
    cells = [f"é\r\n{j}" for j in range(300)]
    content = ("t,n\r\n" + "".join(f'"{cell}",{j}\r\n' for j, cell in enumerate(cells))).encode(encoding)
    for block in range(64, 80):
        table = text._texts(pa.py_buffer(content), text.Dialect(encoding=encoding), "t.csv", block)
        assert table["t"].to_pylist() == cells


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_gaps_of_the_only_column_are_written_although_a_line_may_not_be_empty(tmp_path, ending):
    table = pa.table({"t": pa.array(["b", "b", None, None])})
    release = shoal.microaggregate(table, 2, columns=["t"], types={"t": "nominal"}, order="keep")
    release.write(tmp_path / f"out.{ending}")
    assert [cell or None for cell in shoal.read(tmp_path / f"out.{ending}")["t"].to_pylist()] == [
        "b",
        "b",
        None,
        None,
    ]


def test_no_cell_stands_in_the_sentence_on_a_ragged_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,Jane Doe,5\n")
    with pytest.raises(InputError, match=r"has 3 cells in row 3 but 2 columns") as said:
        shoal.read(path)
    assert "Jane" not in str(said.value)


@pytest.mark.parametrize("content", [b"\n\n", b"a,b", b'"', b'"a\n'])
def test_a_file_without_a_whole_line_is_no_table(content, tmp_path):
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(InputError, match="has no whole line of cells: a table needs a header line"):
        shoal.read(tmp_path / "in.csv")


def test_a_quote_that_is_left_open_is_told():
    content = pa.py_buffer(b'a\n"' + b"x" * (9 << 20))
    with pytest.raises(InputError, match="a record of more than 2 million letters: is a quote left open"):
        text.texts(content, text.Dialect(","), "in.csv", longest=2 << 20)


def test_the_usual_sign_stays_where_another_cuts_as_well(tmp_path):
    (tmp_path / "t.csv").write_text("a,b;c\n1,2;3\n4,5;6\n")
    assert shoal.read(tmp_path / "t.csv").column_names == ["a", "b;c"]
