"""Every record counts, gaps or not: against slow references that look at one record after another."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.datasets import survey

NAN = np.nan


def with_gaps(records=120, share=0.15, seed=0):
    """Four columns of the survey; each cell is a gap with this chance."""
    rng = np.random.default_rng(seed)
    table = survey(records, seed=seed).to_pandas()[["turnover", "wages", "assets", "profit"]].astype(float)
    return table.mask(rng.random(table.shape) < share)


def brute_linkage(before, after, known=None, units=None):
    """One record after another: every published row, its distance, the ties, the right ones among them."""
    X, Y = np.asarray(before, float), np.asarray(after, float)
    n = len(X)
    units = np.arange(n) if units is None else units
    known = np.zeros(n) if known is None else np.asarray(known)
    centre, scale = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0, ddof=1)
    credit = 0.0
    for i in range(n):
        distance = np.full(n, np.inf)
        for j in range(n):
            if known[j] != known[i]:
                continue
            square = 0.0
            for x, y, c, s in zip(X[i], Y[j], centre, scale):
                a, b = (0.0 if np.isnan(v) else (v - c) / s for v in (x, y))
                square += (a - b) ** 2 + (np.isnan(x) != np.isnan(y))
            distance[j] = np.sqrt(square)
        tied = distance <= distance.min() * (1 + 1e-9) + 1e-12
        credit += (tied & (units == units[i])).sum() / tied.sum()
    return credit / n


@pytest.mark.parametrize("missing", ["group", "impute"])
def test_linkage_counts_records_with_gaps(missing):
    table = with_gaps()
    release = shoal.microaggregate(table, 3, missing=missing, method="mdav_generic")
    found = release.risk()["linkage"]
    assert found.detail["records"] == len(table)
    assert found.overall == pytest.approx(brute_linkage(table, release.table))
    whole = table.notna().all(axis=1).to_numpy()
    apart = brute_linkage(table[whole], release.table[whole])  # as if records with gaps were not there
    assert apart > found.overall + 0.02
    assert found.columns["wages"] == pytest.approx(brute_linkage(table[["wages"]], release.table[["wages"]]))


def test_linkage_of_a_table_whose_gaps_were_filled_is_not_that_of_its_whole_records():
    """Stated was 0.455, and it is 0.195.

    40 groups of five publish a and b; 88 records are whole, the rest lack b and are found by a, but five that
    lie nearer to the next group. Among whole records alone, the two or three of a group share its cells: 40
    of 88 are found. Of all, 195 of 200 are told from all but the other four of their group.
    """
    group, place = np.divmod(np.arange(200), 5)
    sign = np.where(group % 2 == 0, 1.0, -1.0)
    after = pd.DataFrame({"a": 100.0 * group, "b": sign})
    whole = place < np.where(group % 5 == 0, 3, 2)
    astray = (place == 4) & (group % 8 == 1)
    before = pd.DataFrame({"a": 100.0 * group + np.where(astray, 60, place), "b": np.where(whole, sign, NAN)})
    assert (whole.sum(), astray.sum()) == (88, 5)
    assert round(shoal.risk(before[whole], after[whole])["linkage"].overall, 3) == 0.455
    assert shoal.risk(before, after)["linkage"].overall == pytest.approx(0.195)
    assert brute_linkage(before, after) == pytest.approx(0.195)


def test_l_diversity_sees_groups_that_are_all_gaps():
    before = pa.table({"x": [1.0, 2, 3, 4, None, None, None], "ill": [*"abcd", "e", "e", "e"]})
    after = pa.table({"x": [2.5, 2.5, 2.5, 2.5, None, None, None], "ill": before["ill"]})
    found = shoal.risk(before, after, ["x"], ["ill"])
    assert found["l_diversity"].overall == 1  # and not 4
    assert found["fixed"].columns["ill"] == pytest.approx(3 / 7)
    assert found["k"].overall == 3
    own = shoal.risk(before, after, ["x"])
    assert own["l_diversity"].overall == 1
    assert own["fixed"].columns["x"] == pytest.approx(3 / 7)
    assert own["interval_sd"].overall == pytest.approx(3 / 7)  # a gap published as a gap is told


def test_groups_are_watched_with_their_gaps_one_after_another():
    table = with_gaps(seed=4)
    release = shoal.microaggregate(table, 4, missing="impute", method="mdav_generic")
    found = release.risk()
    for name in table:
        groups = [table[name][release.labels == g] for g in np.unique(release.labels)]
        assert found["l_diversity"].columns[name] == min(g.nunique(dropna=False) for g in groups)
        reach = 0.05 * table[name].std()
        tight = [len(g) for g in groups if (g.isna().all() or (g.notna().all() and np.ptp(g) <= reach))]
        assert found["fixed"].columns[name] == pytest.approx(sum(tight) / len(table))
        near = [np.mean(np.abs(g - v) <= reach * (1 + 1e-9)) for g in (g.dropna() for g in groups) for v in g]
        assert found["proximity"].columns[name] == pytest.approx(np.mean(near))
        big = [g.notna().sum() for g in groups if _dominated(np.sort(np.abs(g.dropna())))]
        assert found["dominance"].columns[name] == pytest.approx(sum(big) / len(table))


def _dominated(sizes):
    total = sizes.sum()
    return total > 0 and (sizes[-1] > 0.8 * total or (len(sizes) > 2 and sizes[-2:].sum() > 0.9 * total))


def test_moments_are_those_of_pandas():
    before = with_gaps()
    after = shoal.microaggregate(before, 3, missing="impute", method="mdav_generic").table
    found = shoal.utility(before, after, models=False)
    sd = before.std()
    move = (after.mean() - before.mean()) / sd
    assert found["means"].columns == pytest.approx(move.to_dict())
    assert found["variances"].columns == pytest.approx((100 * (after.var() / before.var() - 1)).to_dict())
    detail = found["correlations"].detail
    assert np.allclose(detail["before"], before.corr())
    assert np.allclose(detail["after"], after.corr())
    change = (after.div(sd).cov() - before.div(sd).cov()).abs().to_numpy()
    assert found["covariances"].overall == pytest.approx(change[~np.eye(4, dtype=bool)].mean())
    q = [0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95]
    moves = ((before.quantile(q) - after.quantile(q)).abs() / sd).mean()
    assert found["quantiles"].columns == pytest.approx(moves.to_dict())
    absolute = ((before - after).abs() / sd).sum() / np.sqrt(2)
    assert found["il1s"].columns == pytest.approx(absolute.to_dict())


def test_means_of_subgroups_are_those_of_pandas():
    before = with_gaps().assign(part=np.arange(120) % 5)
    after = before.assign(wages=before["wages"].fillna(500.0) + before["part"])
    found = shoal.utility(before, after, ["wages"], subgroups=["part"], models=False)["subgroups"]
    moves = after.groupby("part")["wages"].mean() - before.groupby("part")["wages"].mean()
    assert found.overall == pytest.approx(moves.abs().mean() / before["wages"].std())


def test_a_gap_is_a_class_of_its_own_in_a_distribution():
    table = pd.DataFrame({"x": [1.0, 2, NAN, NAN]})
    filled = table.fillna(2.0)
    assert shoal.utility(table, table, models=False)["hellinger"].overall == 0
    p, q = np.array([0.25, 0.25, 0.5]), np.array([0.25, 0.75, 0])
    expected = np.sqrt(np.square(np.sqrt(p) - np.sqrt(q)).sum() / 2)
    assert shoal.utility(table, filled, models=False)["hellinger"].overall == pytest.approx(expected)


@pytest.mark.filterwarnings("error")
def test_a_column_of_gaps_only_and_one_published_as_gaps():
    table = pd.DataFrame({"x": [1.0, 2, 3, 4], "empty": [NAN] * 4, "y": [1.0, 2, 3, 4]})
    released = table.assign(y=NAN)
    lost = shoal.utility(table, released, ["x", "empty", "y"])
    assert lost["information_loss"].columns == pytest.approx({"x": 0, "empty": 0, "y": 100})
    assert all(np.isfinite(m.overall) for m in lost.values())
    left = shoal.risk(table, released, ["x", "empty", "y"])
    assert all(np.isfinite(m.overall) for m in left.values())
    assert left["k"].overall == 1
