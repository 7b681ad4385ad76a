"""Files of Stata, SPSS and SAS."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat

import shoal
from shoal.io.formats import stats


def test_a_column_of_gaps_in_a_file_of_statistics_holds_numbers(tmp_path):
    shoal.write(pa.table({"a": [1.5, 2.5], "b": pa.array([None, None], pa.float64())}), tmp_path / "t.dta")
    found = shoal.read(tmp_path / "t.dta")
    assert found["b"].to_pylist() == [None, None]
    assert found["b"].type == pa.float64()
    assert stats._column([None, None], None, None, lettered=False).type == pa.float64()


def test_whole_numbers_of_a_stata_file_stay_whole(tmp_path):
    table = pa.table({"x": np.arange(6.0), "n": pa.array([1, 2, None, 4, 5, 2_000_000_000], pa.int32())})
    shoal.write(table, tmp_path / "a.dta")
    shoal.microaggregate(tmp_path / "a.dta", 3, columns=["x"], order="keep").write(tmp_path / "b.dta")
    before, after = shoal.read(tmp_path / "a.dta"), shoal.read(tmp_path / "b.dta")
    assert pa.types.is_integer(before["n"].type)
    assert before["n"].equals(after["n"])


def test_a_file_of_an_old_stata_has_no_long_texts_to_count(tmp_path):
    pyreadstat.write_dta(pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}), tmp_path / "old.dta", version=12)
    assert b"<release>" not in (tmp_path / "old.dta").read_bytes()
    assert shoal.read(tmp_path / "old.dta").to_pydict() == {"a": [1.5, 2.5], "b": ["x", "y"]}


def test_numbers_that_spss_shows_as_whole_keep_their_fractions(tmp_path):
    shown = {"a": "F8.0", "b": "F8.0"}
    pyreadstat.write_sav(
        pd.DataFrame({"a": [1.5, 2.0], "b": [3.0, 4.0]}), tmp_path / "t.sav", variable_format=shown
    )
    found = shoal.read(tmp_path / "t.sav")
    assert found["a"].to_pylist() == [1.5, 2.0]
    assert found["b"].type == pa.int64()
