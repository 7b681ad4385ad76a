"""The door to files: which kind a place is, what is no file, what is not installed."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.io import files
from shoal.io.files import as_arrow, read_contents
from shoal.io.formats import excel, stats


def test_only_files_of_one_family_are_alike(tmp_path):
    table = pa.table({"a": [1]})
    shoal.write(table, tmp_path / "t.csv")
    shoal.write(table, tmp_path / "t.tsv.gz")
    shoal.write(table, tmp_path / "t.parquet")
    families = [read_contents(tmp_path / f"t.{ending}").family for ending in ("csv", "tsv.gz", "parquet")]
    assert families == ["text", "text", ""]
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


def test_extras_that_are_missing_are_named(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] in ("fastexcel", "xlsxwriter", "pyreadstat", "pg8000", "pandas"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="extra 'stats'"):
        excel.read(tmp_path / "in.xlsx")
    with pytest.raises(InputError, match="extra 'stats'"):
        excel.write(pa.table({"a": [1]}), tmp_path / "in.xlsx")
    with pytest.raises(InputError, match="extra 'stats'"):
        stats.read("sav", tmp_path / "in.sav")
    with pytest.raises(InputError, match="extra 'stats'"):
        stats._as_pandas(pa.table({"a": [1]}), {})
    with pytest.raises(InputError, match="extra 'sql'"):
        shoal.read("postgresql://nobody@localhost/none#t")
