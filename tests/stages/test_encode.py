"""Columns as points in a space: scales, categories, what has no place there."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.frame.column import Column, categories
from shoal.stages.encode import encode, raw_matrix

pytestmark = pytest.mark.filterwarnings("error")


def test_values_as_they_are():
    whole = Column("w", "integer", np.array([3, 1, 2]), None)
    halves = Column("h", "continuous", np.array([0.5, 0.0, 9.0]), np.array([False, True, False]))
    assert raw_matrix([whole, whole]).dtype == np.int64
    assert raw_matrix([whole, halves]).tolist() == [[3.0, 0.5], [1.0, 4.75], [2.0, 9.0]]


def test_two_categories_are_one_apart_where_all_ranges_are_one():
    colour = categories("c", "nominal", np.array([0, 1, 1, 2]), None)
    for scaling in ("range", "none"):
        points = encode([colour], lambda column, how=scaling: how).matrix
        apart = np.square(points[:, None] - points[None]).sum(axis=2)
        assert np.allclose(apart, [[0, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0]])


def test_quartiles_that_coincide_leave_the_standard_scale():
    X = np.zeros((40, 2))
    X[::5, 0], X[::7, 1] = np.arange(8), np.arange(6)
    robust, standard = (shoal.microaggregate(X, 3, method="mdav", scaling=s) for s in ("robust", "standard"))
    assert np.array_equal(robust.labels, standard.labels)


def test_a_nominal_column_has_no_ranks_and_keeps_its_own_scale():
    table = pa.table({"c": list("aabbccab"), "x": np.arange(8.0)})
    release = shoal.microaggregate(table, 2, columns=["c", "x"], types={"c": "nominal"}, scaling="rank")
    assert np.bincount(release.labels).min() >= 2


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        ([1.7e308, -1.7e308, 1.0, 2.0], {"scaling": "none"}, "squares overflow"),
        (list("aabb"), {"types": {"c": "nominal"}, "log": ["c"]}, "no logarithm"),
        ([[1], [2], [3], [4]], {"types": {"c": "nominal"}}, "no categories"),
    ],
)
def test_what_cannot_be_grouped_is_said_in_one_sentence(cells, options, said):
    table = pa.table({"c": cells, "x": np.arange(4.0)})
    with pytest.raises(shoal.ShoalError, match=said):
        shoal.microaggregate(table, 2, columns=["c", "x"], **options)
