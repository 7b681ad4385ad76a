"""What the cells of a column are."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, did_you_mean
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


SECRET = "Jane Doe"


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["1", SECRET], {}),
        (["a", "b", SECRET], {"types": {"x": "boolean"}}),
        (["a", "b", SECRET], {"levels": {"x": ["a", "b"]}}),
        (["2031-12-24", SECRET], {"types": {"x": "date"}}),
        ([1.0, 2.0, 271828.5], {"types": {"x": "integer"}}),
    ],
)
def test_no_error_tells_a_cell(cells, options):
    with pytest.raises(InputError, match="column 'x'") as said:
        shoal.microaggregate(pa.table({"x": cells}), 1, columns=["x"], **options)
    assert SECRET not in str(said.value)
    assert "271828" not in str(said.value)


def test_no_hint_among_thousands_of_names():
    names = [f"column {j}" for j in range(1001)]
    assert did_you_mean("column 7x", names) == "there are " + ", ".join(map(repr, names[:10])) + ", ..."
    assert did_you_mean("column 7x", names[:1000]).startswith("did you mean")
