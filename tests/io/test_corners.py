"""Corners of reading and writing that no other test turns."""

import datetime as dt
import sqlite3
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.frame.column import Column, categories
from shoal.frame.frame import Frame
from shoal.frame.guess import guess_roles
from shoal.frame.types import read_column, stored_kind
from shoal.io import atomic as parts
from shoal.io import files, limits
from shoal.io.files import as_arrow, same_family
from shoal.io.formats import excel, stats, text
from shoal.io.mixed_cells import mixed_column, own_cells
from shoal.stages.encode import encode, raw_matrix


def test_extras_that_are_missing_are_named(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] in ("openpyxl", "pyreadstat", "pg8000", "pandas"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="extra 'stats'"):
        excel._openpyxl()
    with pytest.raises(InputError, match="extra 'stats'"):
        stats._pyreadstat()
    with pytest.raises(InputError, match="extra 'stats'"):
        stats._as_pandas(pa.table({"a": [1]}), {})
    with pytest.raises(InputError, match="extra 'sql'"):
        shoal.read("postgresql://nobody@localhost/none#t")


def test_arrow_streams_are_read_too(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert shoal.read(tmp_path / "s.arrow").equals(table)


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


def test_what_is_no_file_has_no_cells(tmp_path):
    table = pa.table({"a": [1]})
    shoal.write(table, tmp_path / "t.csv")
    assert not same_family(table, tmp_path / "t.csv")
    assert not same_family("sqlite:///x.db#t", tmp_path / "t.csv")
    assert same_family(str(tmp_path / "t.csv"), tmp_path / "t.tsv")
    with pytest.raises(InputError, match="cannot be written"):
        as_arrow(object())
    assert as_arrow(np.zeros((2, 2))).column_names == ["0", "1"]


def test_places_that_are_no_files(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is not a file"):
        shoal.read(tmp_path / "folder.csv")
    with pytest.raises(InputError, match="there is no file"):
        shoal.read(tmp_path / "nowhere" / "t.csv")
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "t.csv").touch()

    def broken(path):
        raise OSError(5, "Input/output error")

    files.FORMATS[".broken"] = files.FORMATS[".csv"]._replace(read=broken)
    try:
        (tmp_path / "t.broken").write_text("a")
        with pytest.raises(InputError, match="cannot be read: Input/output error"):
            shoal.read(tmp_path / "t.broken")
    finally:
        del files.FORMATS[".broken"]


def test_sqlite_that_is_none(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        shoal.write(pa.table({"a": [1]}), f"sqlite:///{tmp_path}/no/t.db#t")
    (tmp_path / "bad.db").write_bytes(b"x" * 5000)
    with pytest.raises((InputError, shoal.errors.MachineError)):
        shoal.read(f"sqlite:///{tmp_path}/bad.db#t")
    place = tmp_path / "good.db"
    words = pa.array(["x", "y"]).dictionary_encode()
    shoal.write(
        pa.table({"w": words, "d": pa.array([1, 2], pa.int32()).cast(pa.date32())}), f"sqlite:///{place}#t"
    )
    assert sqlite3.connect(place).execute("SELECT w, d FROM t").fetchall() == [
        ("x", "1970-01-02"),
        ("y", "1970-01-03"),
    ]


def test_frames_of_odd_kinds():
    import pandas as pd

    with pytest.raises(InputError, match="is not a table"):
        Frame(7)
    with pytest.raises(InputError, match="same name"):
        Frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="no column was chosen"):
        Frame(np.zeros((2, 2))).choose([])
    mixed = Frame(pd.DataFrame({"a": [1, "x"]}))
    with pytest.raises(InputError, match="mixes kinds"):
        mixed.arrow("a")


def test_memory_is_that_of_the_machine():
    assert limits.memory() > 1 << 28


def test_a_bound_is_for_whole_unweighted_records():
    X = np.random.default_rng(0).normal(size=(20, 2))
    release = shoal.microaggregate(X, 3, method="mdav", blocks=[[0], [1]])
    with pytest.raises(InputError, match="whole, unweighted records"):
        release.lower_bound(1)
    limited = shoal.microaggregate(X, 3, time_limit=5)
    assert any("bounded by time" in note for note in limited.notes)


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


def test_a_column_of_gaps_in_a_file_of_statistics_holds_numbers(tmp_path):
    shoal.write(pa.table({"a": [1.5, 2.5], "b": pa.array([None, None], pa.float64())}), tmp_path / "t.dta")
    found = shoal.read(tmp_path / "t.dta")
    assert found["b"].to_pylist() == [None, None]
    assert found["b"].type == pa.float64()
    assert stats._column([None, None], None, None, lettered=False).type == pa.float64()


def test_categories_are_written_as_their_words(tmp_path):
    shoal.write(pa.table({"w": pa.array(["x", "y", "x"]).dictionary_encode()}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "w\nx\ny\nx\n"


def test_a_long_record_does_not_hide_what_is_wrong_after_it():
    content = b"a,b\n1," + b"x" * (3 << 20) + b"\n1,2,3\n"
    with pytest.raises(pa.ArrowInvalid, match="Expected 2 columns, got 3"):
        text.texts(content, text.Dialect(), "t.csv")


def test_cells_of_any_kind_come_back_as_they_were():
    cells = [1, 2.5, "x", True, b"\x00\xff", None, dt.datetime(2031, 12, 24, 18), dt.date(2031, 12, 24)]
    cells += [dt.time(18, 30), dt.timedelta(days=1, seconds=0.25)]
    field, array = mixed_column("m", cells)
    back = own_cells(pa.Table.from_arrays([array], schema=pa.schema([field])), "m")
    assert back == cells
    assert list(map(type, back)) == list(map(type, cells))


def test_a_place_where_no_part_can_be_made(tmp_path, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts, "new_part", full)
    with pytest.raises(shoal.errors.MachineError, match="cannot be written: No space left on device"):
        shoal.write(pa.table({"a": [1]}), tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_arrays_have_rows_and_gaps_too():
    frame = Frame(np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]]))
    assert frame.arrow(1).to_pylist() == [None, 5.0, 6.0]
    chosen = np.array([True, False, True])
    assert np.array_equal(frame.rows(chosen).native, [[1.0, np.nan], [3.0, 6.0]], equal_nan=True)
    assert Frame(np.array([7, 8, 9])).rows(chosen).native.tolist() == [7, 9]
    release = shoal.microaggregate(np.array([1.0, np.nan, 2.0, 3.0]), 3, missing="drop")
    assert release.table.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(InputError, match="is not a table"):
        Frame([[1, 2], [3]])


def test_categories_keep_their_order_when_rows_are_left_out():
    grade = categories("g", "ordinal", np.array([2, 0, 1, 2]), np.array([False, False, False, True]))
    some = grade.rows(np.array([True, False, True, True]))
    assert some.values[:2].tolist() == [1, 0]  # the lowest of three does not occur any more
    assert some.gaps.tolist() == [False, False, True]
    assert len(some.first) == 2


def test_values_as_they_are():
    whole = Column("w", "integer", np.array([3, 1, 2]), None)
    halves = Column("h", "continuous", np.array([0.5, 0.0, 9.0]), np.array([False, True, False]))
    assert raw_matrix([whole, whole]).dtype == np.int64
    assert raw_matrix([whole, halves]).tolist() == [[3.0, 0.5], [1.0, 4.75], [2.0, 9.0]]


def test_two_categories_are_one_apart_where_all_ranges_are_one():
    colour = categories("c", "nominal", np.array([0, 1, 1, 2]), None)
    for scaling in ("range", "none"):
        points = encode([colour], lambda column, how=scaling: how).matrix
        apart = np.square(points[:, None] - points[None]).sum(axis=2)
        assert np.allclose(apart, [[0, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0]])


def test_quartiles_that_coincide_leave_the_standard_scale():
    X = np.zeros((40, 2))
    X[::5, 0], X[::7, 1] = np.arange(8), np.arange(6)
    robust, standard = (shoal.microaggregate(X, 3, method="mdav", scaling=s) for s in ("robust", "standard"))
    assert np.array_equal(robust.labels, standard.labels)


def test_what_objects_are():
    import pandas as pd

    def kind(*cells):
        return stored_kind(Frame(pd.DataFrame({"x": pd.Series(cells, dtype=object)})), "x")

    assert kind(True, False, None) == "boolean"
    assert kind(Decimal("1.5"), None) == "continuous"
    assert kind(dt.date(2031, 12, 24)) == "date"
    assert kind(1, "x") == "other"
    huge = Frame(pa.table({"d": pa.array([Decimal(2**63), Decimal(1)], pa.decimal128(25, 0))}))
    with pytest.raises(InputError, match="'d' has decimals of too many digits"):
        read_column(huge, "d")


def test_guesses_at_truths_and_free_text():
    words = [f"text {j // 2 if j < 4 else j}" for j in range(10)]
    guesses = guess_roles(Frame(pa.table({"married": [True, False] * 5, "remark": words})))
    assert [(guess.role, guess.type) for guess in guesses] == [("quasi", "boolean"), ("other", "nominal")]
    assert guesses[0].reason == "stored as boolean"
    assert guesses[1].reason == "free text? 8 different values; published as it is"


def test_columns_of_nothing_but_gaps_are_texts_or_numbers():
    assert Frame(pa.table({"n": pa.nulls(3)})).arrow("n").type == pa.string()
    table = pa.table({"x": [1.0, 2, 3, 4], "none": pa.array([None] * 4, pa.float64())})
    release = shoal.microaggregate(table, 2, missing="group")
    assert release.table["none"].null_count == 4
    assert release.table["x"].to_pylist() == [1.5, 1.5, 3.5, 3.5]


def test_tables_that_are_none_are_named():
    with pytest.raises(InputError, match="a SimpleNamespace is not a table"):
        Frame(SimpleNamespace(columns=["a"]))


@pytest.mark.parametrize("dtype", ["float64", "Float64"])
def test_gaps_of_pandas_stay_gaps_of_their_own_kind(dtype):
    import pandas as pd

    frame = pd.DataFrame({"x": pd.array([1.0, 3.0, None, None], dtype=dtype)})
    released = shoal.microaggregate(frame, 2, columns=["x"], missing="group").table["x"]
    assert released.dtype == dtype
    assert released.isna().tolist() == [False, False, True, True]
    assert released[:2].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_gaps_of_the_only_column_are_written_although_a_line_may_not_be_empty(tmp_path, ending):
    table = pa.table({"t": pa.array(["b", "b", None, None])})
    release = shoal.microaggregate(table, 2, columns=["t"], types={"t": "nominal"}, missing="group")
    release.write(tmp_path / f"out.{ending}")
    assert [cell or None for cell in shoal.read(tmp_path / f"out.{ending}")["t"].to_pylist()] == [
        "b",
        "b",
        None,
        None,
    ]
