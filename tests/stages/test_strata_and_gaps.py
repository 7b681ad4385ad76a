"""Gaps are never numbers, groups never cross strata, and no record becomes unique through either."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column, categories
from shoal.stages.encode import encode
from shoal.stages.gap_patterns import gap_patterns
from shoal.stages.impute import NEIGHBOURS, impute, partial_distances
from shoal.verify.files import check
from shoal.verify.groups import check_groups


def combos(table, names):
    return Counter(zip(*[table[name].to_pylist() for name in names]))


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


def test_groups_share_their_pattern_of_gaps_where_k_records_do():
    table = gappy()
    release = shoal.microaggregate(table, 5, method="mdav")
    before = list(zip(*[table[n].is_null().to_pylist() for n in "xyz"]))
    after = list(zip(*[release.table[n].is_null().to_pylist() for n in "xyz"]))
    common = {pattern for pattern, count in Counter(before).items() if count >= 5}
    for g in range(release.labels.max() + 1):
        rows = np.flatnonzero(release.labels == g)
        own = {before[row] for row in rows}
        assert len(own) == 1 or not own <= common
    assert min(combos(release.table, "xyz").values()) >= 5
    assert min(Counter(after).values()) >= 5
    filled = sum(b and not a for rb, ra in zip(before, after) for b, a in zip(rb, ra))
    assert filled
    assert f"{filled} gaps were filled" in release.notes[0]


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


def test_drop_leaves_records_with_gaps_out():
    table = gappy()
    release = shoal.microaggregate(table, 5, method="mdav", missing="drop")
    whole = [all(v is not None for v in row.values()) for row in table.to_pylist()]
    assert len(release.table) == len(release.labels) == sum(whole)
    assert "left out" in release.notes[0]
    again = shoal.microaggregate(table.filter(whole), 5, method="mdav")
    assert again.table.equals(release.table)


def test_drop_keeps_the_text_of_the_other_cells(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,x\n01,1\n02,\n03,5\n04,3\n")
    shoal.microaggregate(path, 3, columns="x", missing="drop", order="keep", keep="id").write(
        tmp_path / "out.csv"
    )
    assert (tmp_path / "out.csv").read_text() == "id,x\n01,3\n03,3\n04,3\n"


def test_a_lone_gap_joins_its_neighbours():
    release = shoal.microaggregate(np.array([[1.0], [3.0], [np.nan]]), 2)
    assert release.table.tolist() == [[2.0], [2.0], [2.0]]
    assert release.information_loss == pytest.approx(100)


def test_loss_counts_only_what_was_there():
    x = np.array([1.0, 2, 3, np.nan, np.nan, 10, 11, 12])
    release = shoal.microaggregate(x, 2)
    there = x[~np.isnan(x)]
    total = np.square(there - there.mean()).sum()
    assert release.information_loss == pytest.approx(100 * (2 + 2) / total)
    assert np.isnan(release.table[3:5]).all()


def test_integers_with_gaps_stay_integers():
    table = pa.table({"n": pa.array([2**60 + 1, 2**60 + 3, None, None, 5, 6])})
    release = shoal.microaggregate(table, 2)
    assert release.table["n"].to_pylist() == [2**60 + 2, 2**60 + 2, None, None, 6, 6]


def test_patterns_short_of_k_join_the_nearest_pattern():
    gaps = np.array([[0, 0, 0]] * 5 + [[1, 1, 0]] * 5 + [[1, 1, 1]] * 2 + [[0, 0, 1]], bool)
    columns = [Column(j, "continuous", np.zeros(13), gaps[:, j]) for j in range(3)]
    patterns = gap_patterns(columns, None, 3)
    assert len(set(patterns[:5]) | {patterns[12]}) == 1
    assert len(set(patterns[5:12])) == 1
    assert patterns[0] != patterns[5]


def test_very_many_patterns_are_joined_all_the_same():
    rng = np.random.default_rng(0)
    gaps = rng.random((900, 12)) < 0.5
    columns = [Column(j, "continuous", np.zeros(900), gaps[:, j]) for j in range(12)]
    patterns = gap_patterns(columns, np.arange(900) % 2, 4)
    assert np.bincount(patterns).min() >= 4
    assert all(len(set(np.arange(900)[patterns == c] % 2)) == 1 for c in range(patterns.max() + 1))


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


def regions(sizes):
    rng = np.random.default_rng(1)
    where = np.repeat(list(sizes), list(sizes.values()))
    means = np.repeat(np.arange(len(sizes)) * 10.0, list(sizes.values()))
    return pa.table({"region": where, "x": rng.normal(means), "y": rng.normal(size=len(where))})


def test_groups_never_cross_strata():
    table = regions({"a": 17, "b": 9, "c": 30})
    release = shoal.microaggregate(table, 4, columns=["x", "y"], strata="region", method="mdav")
    where = np.array(table["region"])
    for g in range(release.labels.max() + 1):
        assert len(set(where[release.labels == g])) == 1
    assert "within its stratum" in release.promise
    for name in "abc":
        alone = table.filter(pa.compute.equal(table["region"], name))
        assert len(np.unique(release.labels[where == name])) == len(alone) // 4
    (finding,) = check(release.table, 4, ["x", "y"], strata=["region"])
    assert finding.passed


def test_a_stratum_short_of_k_is_named_or_merged_with_the_most_similar():
    table = regions({"a": 17, "b": 3, "c": 30, "d": 2})
    with pytest.raises(InputError, match="k=4 needs at least 4 records, but stratum 'b' has 3, 'd' has 2"):
        shoal.microaggregate(table, 4, columns=["x", "y"], strata="region")
    release = shoal.microaggregate(
        table, 4, columns=["x", "y"], strata="region", merge_small_strata=True, method="mdav"
    )
    assert release.notes[0] == "stratum 'd' (2 records) was merged with 'c'"
    assert "stratum 'b' (3 records) was merged with" in release.notes[1]
    where = np.array(table["region"])
    assert set(release.strata[where == "d"]) == set(release.strata[where == "c"])
    assert np.bincount(release.labels).min() >= 4


def test_strata_of_several_columns_and_gaps():
    table = pa.table({"a": ["x", None] * 6, "b": [1, 1, 2, 2] * 3, "v": np.arange(12.0)})
    release = shoal.microaggregate(table, 3, columns="v", strata=["a", "b"])
    assert len(release.group_sizes) == 4
    with pytest.raises(InputError, match="stratum 'no a / 1' has 3"):
        shoal.microaggregate(table, 4, columns="v", strata=["a", "b"])


def test_a_release_in_strata_is_checked_in_its_file(tmp_path):
    table = regions({"a": 17, "b": 3, "c": 30})
    release = shoal.microaggregate(
        table, 4, columns=["x", "y"], strata="region", merge_small_strata=True, method="mdav"
    )
    release.write(tmp_path / "out.csv")
    with pytest.raises(CheckFailed, match="50 records went in, 49 came out"):
        release.require(release.table[:-1])
    with pytest.raises(CheckFailed, match="shared by fewer than"):
        release.require(table)


def test_blocks_are_grouped_on_their_own_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=40) for name in "abcd"})
    release = shoal.microaggregate(table, 4, blocks=[["a", "b"], ["d", "c"]], method="mdav")
    assert release.labels.shape == (40, 2)
    assert "k holds for each block, not for the record" in release.notes[0]
    assert "(a, b / d, c)" in release.promise
    for j, block in enumerate((["a", "b"], ["d", "c"])):
        alone = shoal.microaggregate(table, 4, columns=block, method="mdav")
        assert np.array_equal(alone.labels, release.labels[:, j])
        assert min(combos(release.table, block).values()) >= 4
    release.write(tmp_path / "out.csv")
    assert min(combos(release.table, "abcd").values()) < 4


def test_the_check_of_columns_sees_gaps_and_strata():
    labels = np.array([0, 0, 1, 1])
    values, gaps = np.zeros(4), np.array([True, False, False, False])
    column = Column("a", "continuous", values, gaps)
    with pytest.raises(CheckFailed, match="different values in column 'a'"):
        check_groups({"a": column}, labels, 2)
    with pytest.raises(CheckFailed, match="crosses strata"):
        check_groups({"a": Column("a", "continuous", values)}, labels, 2, np.array([0, 1, 1, 1]))


def test_a_gap_counts_as_a_value_in_the_check_of_a_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("x,y\n1,1\n1,1\n,1\n,1\n1,\n")
    (finding,) = check(path, 2, ["x", "y"])
    assert (finding.groups, finding.short_groups, finding.smallest_group) == (3, 1, 1)
