"""A gap is filled from the records that are most similar over what both have."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.frame.column import Column, categories
from shoal.stages.encode import encode
from shoal.stages.impute import NEIGHBOURS, impute, partial_distances


def gappy(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.normal(size=n)
    return pa.table(
        {
            "x": pa.array(x, mask=rng.random(n) < 0.3),
            "y": pa.array(y, mask=rng.random(n) < 0.02),
            "z": rng.normal(size=n),
        }
    )


def test_impute_fills_every_gap_with_the_mean_of_its_group():
    table = gappy()
    release = shoal.microaggregate(table, 5, method="mdav", missing="impute")
    x, y = table["x"].to_pylist(), release.table["x"].to_pylist()
    for g in range(release.labels.max() + 1):
        rows = np.flatnonzero(release.labels == g)
        there = [x[row] for row in rows if x[row] is not None]
        if there:
            assert y[rows[0]] == pytest.approx(np.mean(there))
        else:
            assert y[rows[0]] is None
    assert "gaps were filled" in release.notes[0]


def holey(rng, n=30):
    """Three numbers and a category with gaps, as columns, and the rows' patterns."""
    gaps = rng.random((n, 4)) < 0.3
    columns = [
        Column(j, "continuous", np.where(gaps[:, j], 0, rng.normal(size=n)), gaps[:, j]) for j in range(3)
    ]
    codes = np.where(gaps[:, 3], 0, rng.integers(0, 3, n))
    return [*columns, categories("c", "nominal", codes, gaps[:, 3])], rng.integers(0, 3, n)


def slowly_filled(columns, space, patterns):
    """What `impute` says it does, record by record."""
    Z, out = space.matrix, space.matrix.copy()
    has = [[not column.gaps[i] for column in columns] for i in range(len(Z))]
    for i in range(len(Z)):
        for j, span in enumerate(space.spans):
            owners = [o for o in range(len(Z)) if patterns[o] == patterns[i] and has[o][j]]
            if has[i][j] or not owners:
                continue
            near = []
            for other in owners:
                shared = [c for c in range(len(columns)) if has[i][c] and has[other][c]]
                if shared:
                    square = sum(
                        np.square(Z[i, space.spans[c]] - Z[other, space.spans[c]]).sum() for c in shared
                    )
                    near.append((round(square * len(columns) / len(shared), 9), other))
            nearest = [other for _, other in sorted(near)[:NEIGHBOURS]] or owners
            out[i, span] = Z[nearest, span].mean(axis=0)
    return out


@pytest.mark.parametrize("seed", range(8))
def test_a_gap_lies_at_the_mean_of_the_most_similar_records_that_have_a_value(seed):
    columns, patterns = holey(np.random.default_rng(seed))
    space = encode(columns)
    found = impute(space.matrix, columns, space.spans, patterns)
    assert np.allclose(found, slowly_filled(columns, space, patterns), atol=1e-9)


def test_partial_distances_are_over_what_both_have():
    X, Y = np.array([[1.0, 0, 3], [0, 0, 0]]), np.array([[2.0, 9, 5], [0, 4, 0]])
    has_X, has_Y = np.array([[1, 0, 1], [0, 0, 0]], bool), np.array([[1, 1, 1], [0, 1, 0]], bool)
    found = partial_distances(X, has_X, Y, has_Y, [1, 1, 1])
    assert found.tolist() == [[(1 + 4) * 3 / 2, np.inf], [np.inf, np.inf]]


def test_the_place_of_a_gap_does_not_count_what_others_never_shared():
    """Two clusters; a record of the far one lacks the column that the mean would place between them."""
    near, far = [[0.0, 0.0]] * 6, [[10.0, 10.0]] * 6
    x = np.array([*near, *far, [10.0, np.nan]])
    release = shoal.microaggregate(x, 3, method="mdav")
    assert release.table[-1].tolist() == [10.0, 10.0]
    assert release.information_loss == 0


def test_very_many_records_are_filled_from_some():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    table = np.column_stack([x, 2 * x])
    table[:2, 1] = np.nan
    columns = [
        Column(0, "continuous", x),
        Column(1, "continuous", np.nan_to_num(table[:, 1]), np.isnan(table[:, 1])),
    ]
    space = encode(columns)
    found = impute(space.matrix, columns, space.spans, None)
    assert np.allclose(found[:2, 1], found[:2, 0], atol=0.1)
    assert np.array_equal(found[2:], space.matrix[2:])
