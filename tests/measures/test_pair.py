"""Original and release side by side: odd columns are compared as they are."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal

pytestmark = pytest.mark.filterwarnings("error")


def test_measures_of_whole_numbers_beyond_2_to_the_53():
    table = pa.table({"x": pa.array([2**63 + 3 * i for i in range(8)], pa.uint64())})
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert shoal.utility(frame, frame, ["x"])["information_loss"].overall == 0


def test_a_gap_is_not_a_text_of_one_space():
    table = pa.table({"c": [" ", " ", None, None, None, "a", "a", "a"]})
    assert shoal.risk(table, table, ["c"])["k"].overall == 2


def test_a_long_text_takes_no_memory_in_every_row():
    texts = ["x" * 10**6, "x" * 10**6 + "y", *["z"] * 50_000]  # as fixed-width texts: 200 GB
    table = pa.table({"c": texts})
    assert shoal.risk(table, table, ["c"], sample=50)["k"].overall == 1


def test_a_confidential_column_of_gaps_only():
    table = pa.table({"x": np.arange(4.0), "c": pa.array([None] * 4, pa.float64())})
    assert shoal.risk(table, table, ["x"], confidential=["c"])["k"].overall == 1


def test_the_gaps_of_every_pandas_type_are_gaps_in_measures():
    column = pa.array(["a", "a", None, None])
    for frame in (
        pd.DataFrame({"c": column.to_pandas(types_mapper=pd.ArrowDtype)}),
        pd.DataFrame({"c": pd.array(["a", "a", None, None], "string")}),
    ):
        assert shoal.risk(frame, frame, ["c"])["k"].overall == 2
