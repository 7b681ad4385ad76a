"""Columns whose cells are of several kinds."""

import datetime as dt

import pyarrow as pa

from shoal.io.mixed_cells import mixed_column, own_cells


def test_cells_of_any_kind_come_back_as_they_were():
    cells = [1, 2.5, "x", True, b"\x00\xff", None, dt.datetime(2031, 12, 24, 18), dt.date(2031, 12, 24)]
    cells += [dt.time(18, 30), dt.timedelta(days=1, seconds=0.25)]
    field, array = mixed_column("m", cells)
    back = own_cells(pa.Table.from_arrays([array], schema=pa.schema([field])), "m")
    assert back == cells
    assert list(map(type, back)) == list(map(type, cells))
