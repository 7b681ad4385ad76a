"""Parquet tables of which one column at a time is in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.datasets import survey
from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.large import LargeTable
from shoal.io.files import as_arrow
from shoal.io.large import large_table
from shoal.io.parquet import promised


@pytest.fixture
def parts(tmp_path):
    """A table as a folder of two files, with a text, a gap and a dictionary; and the same in memory."""
    table = survey(40)
    levels = pa.array(["b", "a", "b", None] * 10).dictionary_encode()
    table = table.append_column("level", levels).append_column("gap", pa.array([None, 1.5] * 20))
    (tmp_path / "parts").mkdir()
    pq.write_table(table.slice(0, 15), tmp_path / "parts" / "a.parquet")
    pq.write_table(table.slice(15), tmp_path / "parts" / "b.parquet")
    return tmp_path / "parts", table


def alike(large, table):
    assert len(large) == len(table)
    assert large.column_names == table.column_names
    for name in table.column_names:
        assert large[name].to_pylist() == table[name].to_pylist(), name


def test_rows_and_columns_are_those_of_the_files(parts):
    folder, table = parts
    large = large_table(folder)
    alike(large, table)
    rows = np.array([39, 0, 14, 15, 3])
    alike(large.take(rows), table.take(rows))
    alike(large.take(rows).take([1, 0]), table.take(rows).take([1, 0]))
    alike(large.filter(np.arange(40) % 3 == 0), table.filter(pa.array(np.arange(40) % 3 == 0)))
    alike(large.select(["gap", "region"]), table.select(["gap", "region"]))


def test_a_replaced_column_goes_with_its_rows(parts):
    folder, table = parts
    new = pa.array(range(40))
    place = table.column_names.index("wages")
    made = [which.set_column(place, "wages", new).take([5, 1]) for which in (large_table(folder), table)]
    assert made[0].schema.field("wages").type == pa.int64()
    alike(*made)


def test_a_frame_reads_its_columns(parts):
    folder, table = parts
    large, whole = Frame(large_table(folder)), Frame(table)
    assert (large.names, len(large), large.numeric()) == (whole.names, len(whole), whole.numeric())
    for name in whole.names:
        assert large.arrow(name).to_pylist() == whole.arrow(name).to_pylist()
    assert as_arrow(large.native) is large.native


def test_only_many_records_are_read_column_by_column(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(survey(30), path)
    assert large_table(path) is None
    assert isinstance(large_table(path, most=29), LargeTable)
    assert large_table(survey(30)) is None
    assert large_table(tmp_path / "t.csv") is None


def test_a_damaged_file_promises_nothing(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 is how it begins")
    assert promised(path) == 0
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.parquet files"):
        large_table(tmp_path / "empty")
