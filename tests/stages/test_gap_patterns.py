"""Gaps are never numbers, and no record becomes unique through them."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.frame.column import Column
from shoal.stages.gap_patterns import gap_patterns


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
