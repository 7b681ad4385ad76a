"""Rows that no other row equals, counted by hand."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from shoal.measures.uniqueness import unique_rows


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
