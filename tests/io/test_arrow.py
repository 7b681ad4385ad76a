"""Arrow files and streams."""

import pyarrow as pa

from shoal.io.formats import arrow


def test_arrow_streams_are_read_too(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert arrow.read_arrow(tmp_path / "s.arrow").table.equals(table)
