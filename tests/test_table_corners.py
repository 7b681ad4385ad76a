"""Corners of reading and writing that no other test turns."""

import sqlite3

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.table import files, limits
from shoal.table.files import as_arrow, cells_of, same_family
from shoal.table.formats import arrow, excel, stats
from shoal.table.frame import Frame


def test_extras_that_are_missing_are_named(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] in ("openpyxl", "pyreadstat", "pg8000"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="extra 'stats'"):
        excel._openpyxl()
    with pytest.raises(InputError, match="extra 'stats'"):
        stats._pyreadstat()
    with pytest.raises(InputError, match="extra 'sql'"):
        shoal.read("postgresql://nobody@localhost/none#t")


def test_arrow_streams_are_read_too(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert arrow.read_arrow(tmp_path / "s.arrow").equals(table)


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


def test_what_is_no_file_has_no_cells(tmp_path):
    table = pa.table({"a": [1]})
    shoal.write(table, tmp_path / "t.csv")
    assert cells_of(table) is None
    assert cells_of("sqlite:///x.db#t") is None
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
