"""Folders that name cells: what they are read as, and what hostile names do."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError
from shoal.io import hive
from shoal.io.parquet import ParquetTable, PartWriter

ODD = ["a/b", "x=1", "..", ".", "%41", "é", "50 %", "\x01\n", '"*?', None, "-0", "007"]


def read_parts(folder):
    parts = ParquetTable(folder)
    return pa.Table.from_batches([batch for _, batch in parts.batches(parts.schema.names)], parts.schema)


def put(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        pq.write_table(pa.table(columns), file)


def write_folders(table, names, place):
    """As an engine does: rows sorted by folder, then dealt out."""
    folders = hive.Folders(names)
    for batch in table.to_batches(max_chunksize=5):
        folders.add(batch)
    writer = PartWriter(place, table.schema, 4, folders)
    for batch in table.take(folders.sorted(None)).combine_chunks().to_batches(max_chunksize=7):
        writer.write(batch)
    writer.close()
    return writer


def test_folders_name_the_last_columns(tmp_path):
    put(tmp_path / "in/year=2020/sex=f/0.parquet", a=[1, 2])
    put(tmp_path / f"in/year=2021/sex={hive.GAP}/0.parquet", a=[3])
    put(tmp_path / "in/_temporary/0.parquet", b=[0])
    (tmp_path / "in/year=2022").mkdir()
    (tmp_path / "in/.year=1999").mkdir()
    table = ParquetTable(tmp_path / "in")
    assert table.keys == ["year", "sex"]
    assert table.schema == pa.schema({"a": pa.int64(), "year": pa.int64(), "sex": pa.string()})
    assert read_parts(tmp_path / "in").to_pylist() == [
        {"a": 1, "year": 2020, "sex": "f"},
        {"a": 2, "year": 2020, "sex": "f"},
        {"a": 3, "year": 2021, "sex": None},
    ]
    (_, batch), _ = table.batches(["year"])
    assert batch.to_pydict() == {"year": [2020, 2020]}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20"], pa.int64()),
        (["01", "02"], pa.string()),  # what begins with a zero is no number: 01 must come back as 01
        (["1", "x"], pa.string()),
        (["9" * 19], pa.string()),
        ([hive.GAP], pa.string()),
        (["1", hive.GAP], pa.int64()),
    ],
)
def test_cells_are_whole_numbers_where_all_are(tmp_path, values, kind):
    for value in values:
        put(tmp_path / f"x={value}/0.parquet", a=[1])
    assert ParquetTable(tmp_path).schema.field("x").type == kind


def test_odd_cells_come_back_here_and_in_arrow(tmp_path):
    """Every cell names one folder below the place, wherever it would like to lead."""
    table = pa.table({"n": range(len(ODD)), "_a.b/c": ODD})
    writer = write_folders(table, ["_a.b/c"], tmp_path / "out")
    assert {path.parent.parent for path in writer.parts} == {tmp_path / "out"}
    ours = read_parts(tmp_path / "out")
    assert dict(zip(*ours.to_pydict().values())) == dict(enumerate(ODD))
    put(tmp_path / "in" / hive._folder("p", "50 %/é") / "0.parquet", a=[1])
    assert ds.dataset(tmp_path / "in", partitioning="hive").to_table()["p"].to_pylist() == ["50 %/é"]


def test_what_arrow_writes_is_read(tmp_path):
    table = pa.table({"n": range(6), "p": ["a/b", "é", "..", None, "x=y", "1"]})
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["p"], partitioning_flavor="hive")
    assert dict(zip(*read_parts(tmp_path).to_pydict().values())) == dict(zip(*table.to_pydict().values()))


def test_rows_of_a_folder_keep_their_order_and_parts_their_size(tmp_path):
    rng = np.random.default_rng(0)
    keys = rng.choice([3, 1, 2], 40)
    region = pa.array(rng.choice(["n", "s"], 40)).dictionary_encode()
    table = pa.table({"n": range(40), "year": keys, "region": region})
    writer = write_folders(table, ["year", "region"], tmp_path / "out")
    back = read_parts(tmp_path / "out")
    assert back["year"].to_pylist() == sorted(keys.tolist())
    for (year, name), rows in dict.fromkeys(zip(keys.tolist(), region.to_pylist())).items():
        rows = [n for n, y, r in zip(*table.to_pydict().values()) if (y, r) == (year, name)]
        assert [n for n, y, r in zip(*back.to_pydict().values()) if (y, r) == (year, name)] == rows
    assert [path.stem for path in writer.parts] == [f"part-{j:05d}" for j in range(len(writer.parts))]
    assert max(pq.read_metadata(path).num_rows for path in writer.parts) < 4 + 7


def test_a_text_that_is_a_number_comes_back_as_text_where_the_kind_is_known(tmp_path):
    table = pa.table({"n": [1, 2], "p": ["1", "2"]})
    write_folders(table, ["p"], tmp_path / "out")
    assert ParquetTable(tmp_path / "out").schema.field("p").type == pa.int64()
    assert ParquetTable(tmp_path / "out", kinds=table.schema).schema == table.schema


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["a=1/0.parquet", "b=1/0.parquet"], "lie in folders that name other columns"),
        (["a=1/b=1/0.parquet", "b=1/a=1/0.parquet"], "lie in folders that name other columns"),
        (["a=1/0.parquet", "0.parquet"], "has files beside folders, such as '0.parquet' and 'a=1'"),
        (["a=1/plain/0.parquet"], "has folders in it, such as 'plain'"),
        (["=1/0.parquet"], "has folders in it, such as '=1'"),
        (["a=1/a=2/0.parquet"], "names a cell of 'a' twice"),
        (["n=1/0.parquet"], "two columns of .* are called 'n'"),
        (["a=%FF/0.parquet"], "is no text: rename it"),
        ([os.fsdecode(b"a=\xff/0.parquet")], "is no text: rename it"),
    ],
)
def test_folders_that_make_no_table(tmp_path, paths, said):
    for path in paths:
        put(tmp_path / path, n=[1])
    with pytest.raises(InputError, match=said):
        ParquetTable(tmp_path)


def test_partitions_with_differing_schemas(tmp_path):
    put(tmp_path / "y=1/0.parquet", n=[1])
    put(tmp_path / "y=2/0.parquet", n=[1.5])
    with pytest.raises(InputError, match=r"column 'n' is int64 in '.*y=1/0.parquet' but double in '.*y=2/0"):
        ParquetTable(tmp_path)
    put(tmp_path / "y=2/0.parquet", m=[1])
    with pytest.raises(InputError, match=r"only one of '.*y=1/0.parquet' and '.*y=2/0.parquet' has a column"):
        ParquetTable(tmp_path)


@pytest.mark.parametrize("cell", ["", hive.GAP, "é" * 130])
def test_cells_that_name_no_folder(cell):
    with pytest.raises(InputError, match="partition by another"):
        hive.Folders(["p"]).add(pa.record_batch({"p": [cell]}))


def test_too_many_folders():
    with pytest.raises(InputError, match="more than 10,000 folders: partition by columns with fewer values"):
        hive.Folders(["p"]).add(pa.record_batch({"p": range(hive.MOST + 1)}))


def test_only_whole_numbers_and_texts_name_folders():
    schema = pa.schema({"w": pa.float64(), "d": pa.date32(), "t": pa.large_string()})
    hive.refuse_unnameable(schema, ["t"])
    for name in ("w", "d"):
        with pytest.raises(InputError, match="only whole numbers and texts can name folders"):
            hive.refuse_unnameable(schema, [name])
