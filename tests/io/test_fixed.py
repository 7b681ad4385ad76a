"""Text of fixed widths and its layout."""

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.check import check_original
from shoal.cli.commands import app
from shoal.errors import InputError

LAYOUT = (
    "name,start,width,type,decimals\nid,1,4,text,\nage,5,3,integer,\npay,9,7,number,2\nrate,17,5,number,\n"
)
LINES = [f"{f'p{i}':<4}{20 + i:3d} {1000 * i + 25:7d} {i / 4:<5}" for i in range(12)]


@pytest.fixture
def persons(tmp_path):
    (tmp_path / "l.csv").write_text(LAYOUT)
    (tmp_path / "in.fwf").write_text("\n".join(LINES) + "\n")
    return tmp_path / "in.fwf#l.csv"


def test_columns_are_cut_out_of_lines(persons, tmp_path):
    table = shoal.read(persons)
    assert table.slice(2, 1).to_pylist() == [{"id": "p2", "age": 22, "pay": 20.25, "rate": 0.5}]
    (tmp_path / "in.layout.csv").write_text(LAYOUT)
    assert shoal.read(tmp_path / "in.fwf").equals(table)


def test_blank_cells_are_gaps_and_short_lines_end_in_them(tmp_path):
    (tmp_path / "l.csv").write_text(LAYOUT)
    (tmp_path / "a.dat").write_bytes("é   \u00a0\r\np2   42     1.5\r\n".replace("\u00a0", "").encode())
    assert shoal.read(tmp_path / "a.dat#l.csv").to_pydict() == {
        "id": ["é", "p2"],
        "age": [None, 42],
        "pay": [None, 1.5],  # a point that is written stands where it is
    }


def test_a_release_has_the_same_layout(persons, tmp_path):
    release = shoal.microaggregate(
        persons, 3, columns=["age", "pay"], roles={"id": "identifier"}, keep=["rate"]
    )
    release.write(tmp_path / "out.fwf#l.csv")
    lines = (tmp_path / "out.fwf").read_text().splitlines()
    assert len(lines) == 12
    assert all(line.startswith("    ") and len(line) == 21 for line in lines)  # no id
    assert shoal.check(tmp_path / "out.fwf#l.csv", 3, ["age", "pay"])[0].passed
    found = check_original(tmp_path / "out.fwf#l.csv", persons, ["age", "pay"], plan=release.plan)
    assert found.passed, found
    assert found.by_row


def test_the_command_line_takes_layouts(persons, tmp_path):
    words = ["protect", str(persons), "-k", "3", "-c", "pay", "--role", "id=identifier", "--keep", "age,rate"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert shoal.read(tmp_path / "in.protected.fwf#l.csv").num_rows == 12
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, words)
    assert "exists already" in again.output
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out.fwf")])  # in the layout of the input
    assert done.exit_code == 0, done.output
    assert shoal.read(tmp_path / "out.fwf#l.csv").num_rows == 12
    (tmp_path / "other").mkdir()
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "other" / "out.fwf")])
    assert done.exit_code == 2
    assert "there is no layout" in done.output
    assert not list((tmp_path / "other").iterdir())


def test_numbers_have_as_many_digits_as_fit(tmp_path):
    (tmp_path / "l.csv").write_text("name,start,width,type\nx,1,5,number\nn,7,2,integer\n")
    shoal.write(pa.table({"x": [1234.0, -1.5, 12345.0], "n": [1.0, None, 3.0]}), tmp_path / "a.asc#l.csv")
    assert (tmp_path / "a.asc").read_text() == " 1234  1\n -1.5   \n12345  3\n"
    table = pa.table({"x": [2 / 3, 2 / 3, 1e-9 / 3, 1e-9 / 3], "n": pa.array(["a", "b", "c", "d"])})
    (tmp_path / "t.csv").write_text("name,start,width,type\nx,1,5,number\nn,7,2,text\n")
    shoal.microaggregate(table, 2, columns=["x"], keep=["n"]).write(tmp_path / "b.asc#t.csv")
    assert sorted(set(shoal.read(tmp_path / "b.asc#t.csv")["x"].to_pylist())) == [3e-10, 0.667]


def test_levels_are_written_as_their_texts(tmp_path):
    (tmp_path / "l.csv").write_text("name,start,width,type\nx,1,3,\n")
    shoal.write(pa.table({"x": pa.array(["a", "b"]).dictionary_encode()}), tmp_path / "a.fwf#l.csv")
    assert (tmp_path / "a.fwf").read_text() == "a  \nb  \n"


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("", "lists no column"),
        ("name,start\na,1\n", "has no width"),
        ("name,start,width\na,0,3\n", "has no start"),
        ("name,start,width\na,-1,3\n", "has no start"),
        ("name,start,width\na,1,99999999\n", "has no width"),
        ("name,start,width\na,1048576,1048576\n", "ends beyond"),
        ("name,start,width\n,1,3\n", "needs a name"),
        ("name,start,width,type\na,1,3,date\n", "needs a name, and a type"),
        ("name,start,width,type,decimals\na,1,3,text,2\n", "needs a name, and a type"),
        ("name,start,width,type,decimals\na,1,3,number,99\n", "has no decimals"),
        ("name,start,width\na,1,3\na,4,3\n", "two columns of"),
        ("name,start,width\na,1,3\nb,3,3\n", "columns 'a' and 'b' of .* overlap"),
        ("name,start,width,type\na,1,3,integer\n", "column 'a' of .* has no integer in row 1"),
        ("name,start,width\n" + '"a' * 200_000, "cannot be read as a layout"),
        ("x" * (1 << 24) + "y", "is no layout: it has more than 16 MB"),
    ],
)
def test_hostile_layouts(tmp_path, layout, said):
    (tmp_path / "l.csv").write_text(layout)
    (tmp_path / "a.fwf").write_text("abc\n")
    with pytest.raises(InputError, match=said) as caught:
        shoal.read(tmp_path / "a.fwf#l.csv")
    assert "\n" not in str(caught.value)


def test_what_is_missing_or_does_not_fit(tmp_path):
    (tmp_path / "l.csv").write_text("name,start,width\na,1,3\n")
    (tmp_path / "a.fwf").write_text("abc\n")
    for path, said in (
        ("a.fwf", "there is no layout"),
        ("a.fwf#", "names no layout"),
        ("b.fwf#l.csv", "no file"),
    ):
        with pytest.raises(InputError, match=said):
            shoal.read(tmp_path / path)
    for table, said in (
        ({"a": ["four"]}, "a value of 4 letters, and the layout gives it 3"),
        ({"a": ["x\ny"]}, "a line within a cell"),
        ({"b": ["x"]}, "no place for column 'b'"),
    ):
        with pytest.raises(InputError, match=said):
            shoal.write(pa.table(table), tmp_path / "out.fwf#l.csv")
    assert not (tmp_path / "out.fwf").exists()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig"])
def test_a_layout_in_any_encoding_of_text_files(tmp_path, encoding):
    (tmp_path / "people.layout.csv").write_bytes("name,start,width\nGröße,1,3\n".encode(encoding))
    (tmp_path / "people.fwf").write_text("172\n180\n")
    assert shoal.read(tmp_path / "people.fwf").column_names == ["Größe"]
