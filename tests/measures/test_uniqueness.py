"""Rows that no other row equals, counted by hand."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from shoal.measures.uniqueness import unique_rows, unique_units


def test_gaps_are_values_and_categories_count_by_what_they_say():
    table = pa.table(
        {
            "wage": [1.0, 1.0, None, float("nan"), 2.0],
            "sex": pa.chunked_array(
                [pa.array(["f", "m"]).dictionary_encode(), pa.array(["f", "f", None]).dictionary_encode()]
            ),
            "tags": [[1], [1], [2], [2], None],
        }
    )
    assert unique_rows(table, ["wage"]) == 1
    assert unique_rows(table, ["wage", "sex"]) == 3
    assert unique_rows(table, ["tags"]) == 1
    assert unique_rows(table, []) == 0
    assert unique_rows(table.slice(0, 1), []) == unique_rows(table.slice(0, 1), ["wage"]) == 1
    assert unique_rows(table.slice(0, 0), ["wage"]) == 0


@pytest.mark.parametrize("levels", [2, 6, 40])
def test_as_a_plain_count_finds(levels):
    rng = np.random.default_rng(levels)
    drawn = rng.integers(levels, size=(500, 3))
    cells = {
        "a": drawn[:, 0],
        "b": drawn[:, 1].astype(str),
        "c": [None if v == 0 else int(v) for v in drawn[:, 2]],
    }
    rows = list(zip(*(pa.array(column).to_pylist() for column in cells.values())))
    alone = sum(times == 1 for times in Counter(rows).values())
    assert unique_rows(pa.table(cells), list(cells)) == alone


def test_a_unit_may_be_its_own_though_each_of_its_rows_is_shared():
    """Four units of two rows: every row is one of three kinds, and two units have the same pair of kinds."""
    rows, units = np.array([0, 1, 1, 0, 0, 2, 2, 2]), np.array([7, 7, 3, 3, 5, 5, 9, 9])
    assert unique_units(rows, units) == (2, 4)
    assert unique_units(rows[:2], units[:2]) == (1, 1)
