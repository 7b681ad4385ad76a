"""What the cells of a column are."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind


def test_what_objects_are():
    import pandas as pd

    def kind(*cells):
        return stored_kind(Frame(pd.DataFrame({"x": pd.Series(cells, dtype=object)})), "x")

    assert kind(True, False, None) == "boolean"
    assert kind(Decimal("1.5"), None) == "continuous"
    assert kind(dt.date(2031, 12, 24)) == "date"
    assert kind(1, "x") == "other"
    huge = Frame(pa.table({"d": pa.array([Decimal(2**63), Decimal(1)], pa.decimal128(25, 0))}))
    with pytest.raises(InputError, match="'d' has decimals of too many digits"):
        read_column(huge, "d")
