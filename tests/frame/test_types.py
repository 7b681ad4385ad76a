"""What the cells of a column are."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
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


# --- texts ---------------------------------------------------------------------------------------------

WORDS = ["north", "south", "", "east", "north", "NA", "east", "south"]


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_text_without_a_number_is_nominal_and_a_note_says_so(made):
    table = made({"where": WORDS, "x": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    release = shoal.microaggregate(table, 2, columns=["where", "x"], method="vmdav")
    said = shoal.microaggregate(table, 2, columns=["where", "x"], method="vmdav", types={"where": "nominal"})
    assert np.array_equal(release.labels, said.labels)
    assert "text, so taken as nominal (each group publishes its most frequent): where" in release.notes
    assert not any("taken as nominal" in note for note in said.notes)
    assert read_column(Frame(table), "where").type == "nominal"


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame])
def test_numbers_with_a_few_texts_are_an_error_until_the_texts_are_named(made, tmp_path):
    cells = ["10", "12", "refused", "11", "", "30", "31", "33", "n/a", "29"]
    table = made({"x": cells, "y": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]})
    with pytest.raises(InputError, match=r"'x' holds text, first in row 3: .*--missing-code x="):
        shoal.microaggregate(table, 3, columns=["x", "y"])
    with pytest.raises(InputError, match="'x' holds text, first in row 9"):
        shoal.microaggregate(table, 3, columns=["x", "y"], missing_codes=["refused"])
    release = shoal.microaggregate(table, 3, columns=["x", "y"], missing_codes={"x": ["refused", "n/a"]})
    published = {str(cell) for cell in release.table["x"]}
    assert published <= {"11", "31", "32", "None", "nan", "<NA>"}, published
    release.write(tmp_path / "out.csv")
    fractions = made({"x": [f"{cell}.5" if cell.isdigit() else cell for cell in cells]})
    column = read_column(Frame(fractions), "x", codes=["refused", "n/a"])
    assert (column.type, column.coded, column.gap_count) == ("continuous", 2, 3)
    assert column.present.tolist() == [10.5, 12.5, 11.5, 30.5, 31.5, 33.5, 29.5]


def test_texts_that_are_all_numbers_or_all_empty_are_no_categories():
    for cells in (["1", "2", "3", "4"], [None, None, None, None], ["", "NA", "", ""]):
        with pytest.raises(InputError, match="column 'x' "):
            shoal.microaggregate(pa.table({"x": pa.array(cells, pa.string())}), 2, columns="x")


def test_whole_numbers_with_gaps_are_published_whole_from_pandas_too():
    table = pd.DataFrame({"age": [20.0, 31, None, 45, 52, 63, 27, 38], "x": [1.5, None, 3, 4, 5, 6, 7, 8]})
    release = shoal.microaggregate(table, 3, missing="impute")
    assert (release.table["age"] == release.table["age"].round()).all()
    assert not (release.table["x"] == release.table["x"].round()).all()
    means = shoal.microaggregate(table, 3, missing="impute", types={"age": "continuous"}).table["age"]
    assert not (means == means.round()).all()
    assert read_column(Frame(np.array([[1.0], [np.nan]])), 0).type == "continuous"
