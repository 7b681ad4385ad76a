"""Parquet files and folders of them: what cannot be read or written is said before any work."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError
from shoal.io.parquet import ParquetTable, PartWriter, refuse_target, workplace


@pytest.fixture
def source(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def test_a_table_is_read_batch_by_batch(source):
    table = ParquetTable(source, batch=2)
    assert len(table) == 3
    assert [(begin, batch["a"].to_pylist()) for begin, batch in table.batches(["a"])] == [
        (0, [1, 2]),
        (2, [3]),
    ]


def test_fewer_records_than_the_file_says(source):
    table = ParquetTable(source)
    table.rows[0] = 4
    with pytest.raises(InputError, match="promises 4 records, but has 3"):
        list(table.batches(["a"]))


def test_a_place_where_nothing_lies(tmp_path):
    with pytest.raises(InputError, match="there is no file or folder"):
        ParquetTable(tmp_path / "nowhere")


def test_two_columns_of_one_name(tmp_path):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"two columns of .* are called 'a'"):
        ParquetTable(tmp_path / "t.parquet")


def test_a_target_in_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(InputError, match="does not exist: make it first"), workplace(tmp_path / "no" / "out"):
        pass


def test_a_target_of_the_other_kind(source, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match=r"is a file: name a folder, or a .parquet file"):
        refuse_target(source, tmp_path / "out", replace=False)
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder: name a file to write to"):
        refuse_target(source, tmp_path / "out.parquet", replace=False)


def test_a_part_is_closed_when_it_is_full(tmp_path):
    batch = pa.record_batch({"a": [1, 2]})
    writer = PartWriter(tmp_path / "out", batch.schema, part=4)
    for _ in range(4):
        writer.write(batch)
    writer.close()  # nothing is open: the last part was just full
    assert [pq.read_metadata(path).num_rows for path in writer.parts] == [4, 4]
