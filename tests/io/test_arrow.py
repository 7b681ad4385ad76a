"""Arrow files and streams."""

import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal.io.formats import arrow


def test_arrow_streams_are_read_too(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert arrow.read_arrow(tmp_path / "s.arrow").table.equals(table)


def test_views_of_texts_are_texts(tmp_path):
    """DataFusion writes views, and Arrow takes no rows of them."""
    words = [["x", "y", None][i % 3] for i in range(12)]
    columns = {"a": range(12), "t": pa.array(words, pa.string_view()), "u": pa.array(words, pa.string_view())}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "in.parquet")
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as written:
        written.write_table(table)
    for data in (table, table.to_reader(), tmp_path / "in.parquet", tmp_path / "in.arrow"):
        release = shoal.microaggregate(data, 3, columns=["a", "t"], missing="drop")
        assert release.information_loss > 0
    outcome = shoal.protect_files(tmp_path / "in.parquet", tmp_path / "out", 3, columns=["a", "t"])
    assert outcome.kept == ("u",)
