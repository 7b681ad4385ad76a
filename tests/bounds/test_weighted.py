"""Bounds of records with survey weights and with gaps, against brute force and against tampering."""

import dataclasses
import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bounds import Bound, bound_matrix, measured, verify
from shoal.bounds.neighbours import shares_of
from shoal.bounds.verify import each_pays
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.kernels.search.pricing import charge
from shoal.kernels.search.weighted import weighted_costs
from shoal.plan import Plan
from tests.bounds.test_bounds import random_cuts, random_table, times


def cost(X, V, group):
    """Column by column, the weighted squares about the weighted mean."""
    total = 0.0
    for x, v in zip(X[list(group)].T, V[list(group)].T):
        if v.any():
            total += float(v @ np.square(x - np.average(x, weights=v)))
    return total


def optimum(X, V, k, largest=None):
    """The least cost of any partition into groups of k..largest records, over all subsets."""
    n = len(X)
    best = {0: 0.0}
    led = [[] for _ in range(n)]
    for s in range(k, min(largest or 2 * k - 1, n) + 1):
        for group in itertools.combinations(range(n), s):
            led[group[0]].append((sum(1 << i for i in group), cost(X, V, group)))
    for covered in range((1 << n) - 1):
        if covered in best:
            first = next(i for i in range(n) if not covered >> i & 1)
            for group, price in led[first]:
                if not group & covered:
                    total = best[covered] + price
                    best[covered | group] = min(total, best.get(covered | group, np.inf))
    return best[(1 << n) - 1]


def weights_and_gaps(seed, n, d):
    """Weights that are equal, tied, partly 0 or far apart, with and without gaps, or gaps alone."""
    rng = np.random.default_rng(seed)
    w = np.exp((0, 0.7, 2)[seed % 3] * rng.normal(size=n))
    if seed % 4 == 1:
        w[rng.random(n) < 0.3] = 0.0
    elif seed % 4 == 2:
        w = 1 + np.round(w)
    w[0] = 1.0
    V = np.tile(w[:, None], (1, d))
    if seed % 2:
        V[rng.random((n, d)) < 0.2] = 0.0
    return V


def table(seed, n):
    X = random_table(seed, n)
    return X, weights_and_gaps(seed, *X.shape)


def test_never_above_the_optimum_and_equal_to_it_on_small_tables():
    ratios = []
    for seed in range(48):
        k = 2 + seed // 3 % 2
        X, V = table(seed, 7 + seed % 4)
        best, bound = optimum(X, V, k), bound_matrix(X, k, V, time_limit=600)
        assert bound.sse <= best * (1 + 1e-12) + 1e-300
        assert bound.verify()
        if best > 1e-12:
            ratios.append(bound.sse / best)
    assert np.mean(ratios) > 0.998
    assert np.median(ratios) > 1 - 1e-6


def test_neighbours_never_above_the_optimum():
    for seed in range(48):
        k = 2 + seed // 3 % 2
        X, V = table(seed, 9)
        prices = shares_of(X, V, k).prices
        assert prices.sum() <= optimum(X, V, k) * (1 + 1e-12) + 1e-300
        assert each_pays(X, V, k, prices * (1 - 1e-12))
        for s in range(k, 2 * k):
            for group in itertools.combinations(range(9), s):
                assert prices[list(group)].sum() <= cost(X, V, group) * (1 + 1e-9) + 1e-12


def test_records_that_the_time_does_not_reach_pay_nothing():
    X, V = table(1, 12)
    assert not shares_of(X, V, 2, 0.0).prices.any()
    assert bound_matrix(X, 2, V, time_limit=0.0).verify()


@pytest.mark.parametrize("k", [2, 3])
def test_larger_groups_are_never_needed(k):
    for seed in range(6):
        X, V = table(seed, 8)
        assert optimum(X, V, k, 8) == pytest.approx(optimum(X, V, k), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_pricing_equals_enumeration(seed):
    """With cuts, each lead pays what the worst of its groups lacks; a search cut short asks for more."""
    n, k = 9, 2 + seed % 2
    X, V = table(seed, n)
    rng = np.random.default_rng(seed)
    cuts = random_cuts(rng, n)
    penalties = np.round(rng.random(len(cuts)) * 64) / 256
    prices = rng.random(n) * cost(X, V, range(n)) / n
    for budget in (10**9, 12):
        charged = prices.copy()
        rows, costs = np.full((n, 5, 2 * k - 1), -1, np.int32), np.zeros((n, 5))
        weighed = np.zeros(n, np.int64)
        lists = cuts.lists(n, penalties)
        charge(X, V, np.arange(n), charged, np.empty((n, 0)), k, lists, budget, rows, costs, weighed)
        after = prices.copy()
        for i in range(n - 1, -1, -1):
            least = 0.0
            for s in range(k, 2 * k):
                for others in itertools.combinations(range(i + 1, n), s - 1):
                    group = (i, *others)
                    due = sum(penalties[t] * times(cuts, t, group) for t in range(len(cuts)))
                    lack = cost(X, V, group) - after[list(group)].sum() + due
                    least = min(least, lack)
                    assert cost(X, V, group) + due >= charged[list(group)].sum() - 1e-9
            if budget > 12:
                assert charged[i] == pytest.approx(after[i] + least, rel=1e-9, abs=1e-12)
            after[i] += least
    rows = np.array([[0, 1, 2], [3, 4, -1]], np.int32)
    np.testing.assert_allclose(weighted_costs(X, V, rows), [cost(X, V, (0, 1, 2)), cost(X, V, (3, 4))])


def test_equal_weights_prove_what_none_prove():
    X = random_table(3, 60)
    plain = bound_matrix(X, 3, time_limit=600)
    for weight in (1.0, 1e100, 1e-80):
        bound = bound_matrix(X, 3, np.full(X.shape, weight), time_limit=600)
        assert bound.information_loss == pytest.approx(plain.information_loss, rel=2e-3)
        assert bound.verify()


def test_one_group_and_no_weight_at_all():
    X, V = table(2, 5)
    whole = bound_matrix(X, 3, V)
    assert whole.sse == pytest.approx(cost(X, V, range(5)))
    assert whole.verify()
    nothing = bound_matrix(np.random.default_rng(0).normal(size=(8, 2)), 2, np.zeros((8, 2)))
    assert (nothing.sse, nothing.information_loss) == (0.0, 0.0)
    assert nothing.verify()
    lie = dataclasses.replace(nothing.certificate, proof="neighbours", arrays={"prices": np.ones(8)})
    assert not dataclasses.replace(nothing, sse=8 * (1 - 1e-9), certificate=lie).verify()


@pytest.mark.parametrize("proof", ["prices", "neighbours"])
def test_tampering_is_refused(proof, tmp_path):
    X, V = table(7, 40)
    bound = bound_matrix(X, 3, V, time_limit=600 if proof == "prices" else 1e-9)
    if proof == "neighbours":  # all of them, however slow the machine
        shares = shares_of(X, V, 3).prices
        certificate = dataclasses.replace(bound.certificate, arrays={"prices": shares})
        value = float(shares.sum()) * (1 - 1e-9)
        loss = 100 * value / cost(X, V, range(40))
        bound = dataclasses.replace(bound, sse=value, information_loss=loss, certificate=certificate)
    assert bound.verify()
    arrays = bound.certificate.arrays

    def changed(share, **fields):
        """The certificate with other arrays, and figures that are so much larger."""
        certificate = dataclasses.replace(bound.certificate, arrays={**arrays, **fields})
        more = {"sse": bound.sse * share, "information_loss": bound.information_loss * share}
        return dataclasses.replace(bound, certificate=certificate, **more)

    assert not changed(1.001).verify()
    assert not changed(1.001, prices=arrays["prices"] * 1.001).verify()
    assert not changed(1.0, prices=arrays["prices"][:-1]).verify()
    dearest = arrays["prices"].copy()
    dearest[np.argmax(dearest)] += 0.01 * dearest.sum()
    assert not changed(1.01, prices=dearest).verify()
    for other in (V * 2, np.ones_like(V), None):
        assert not dataclasses.replace(bound, weights=other).verify()
    heavier = V.copy()
    heavier[3] *= 1.5
    told = dataclasses.replace(bound.certificate, fingerprint=verify._fingerprint(X, 3, heavier * 0.5))
    assert not dataclasses.replace(bound, weights=heavier * 0.5, certificate=told).verify()
    for name in ("tree", "blocks", "matrix", "one group"):
        other = dataclasses.replace(bound, certificate=dataclasses.replace(bound.certificate, proof=name))
        assert not other.verify()
    bound.save(tmp_path / "bound.npz")
    assert (tmp_path / "bound.npz").stat().st_mode & 0o777 == 0o600
    assert Bound.load(tmp_path / "bound.npz").sse == bound.sse


def holes(n=60, share=0.1):
    """A survey with weights, some 0, and gaps in two columns."""
    rng = np.random.default_rng(0)
    columns = survey(n).to_pydict()
    for name in ("turnover", "wages"):
        columns[name] = [None if gone else x for x, gone in zip(columns[name], rng.random(n) < share)]
    return pa.table({**columns, "w": np.round(10 * rng.random(n)) / 2 + (np.arange(n) % 7 == 0)})


@pytest.mark.parametrize("missing", ["group", "impute", "drop"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("strata", [(), ("region",)])
def test_a_release_knows_its_bound(missing, weight, strata):
    chosen = ["turnover", "wages", "profit"] if strata else ["turnover", "wages", "sector"]
    names = {"columns": chosen, "missing": missing, "weight": weight}
    release = shoal.microaggregate(holes(), 3, **names, strata=strata, merge_small_strata=bool(strata))
    bound = release.bound(2)
    assert 0 < bound.information_loss <= release.information_loss
    assert bound.verify()
    assert bound.verify(release.original, plan=Plan(3, **names))
    X, V = measured(release.original, plan=Plan(3, **names))
    V = np.ones_like(X) if V is None else V
    within = sum(cost(X, V, np.flatnonzero(release.labels == g)) for g in np.unique(release.labels))
    assert 100 * within / cost(X, V, range(len(X))) <= release.information_loss * (1 + 1e-9)


def test_what_has_no_bound_says_why(tmp_path):
    with pytest.raises(InputError, match="has a gap in row"):
        shoal.lower_bound(holes(), 3, columns=["turnover"], missing="error")
    with pytest.raises(InputError, match="columns are grouped apart"):
        shoal.lower_bound(holes(), 3, columns=["turnover", "wages"], per_column=True)
    with pytest.raises(InputError, match="without weights and gaps"):
        shoal.optimum(holes(), 3, plan=Plan(3, columns=["profit"], weight="w"))
    apart = pa.table({"x": [1.0, None] * 9, "y": [None, 1.0] * 9})
    with pytest.raises(InputError, match="only 0 records have no gap"):
        shoal.lower_bound(apart, 3, missing="drop")
    weightless = holes().drop_columns("w").append_column("w", pa.array([0.0] * 60))
    with pytest.raises(InputError, match="all weights in column 'w' are 0"):
        shoal.lower_bound(weightless, 3, columns=["profit"], weight="w")
    release = shoal.microaggregate(holes(), 3, columns=["turnover", "wages"], per_column=True)
    release.report(tmp_path / "report.txt")
    assert "no bound can be proven: a bound holds for groups of whole records" in (
        tmp_path / "report.txt"
    ).read_text(encoding="utf-8")


def test_on_the_command_line(tmp_path):
    path, kept = tmp_path / "firms.csv", tmp_path / "proof.npz"
    shoal.write(holes(), path)
    words = [str(path), "-k", "3", "-c", "turnover,wages", "--weight", "w"]
    found = CliRunner().invoke(app, ["bound", *words, "--time-limit", "2", "--save", str(kept), "--json"])
    assert found.exit_code == 0, found.output
    least = json.loads(found.stdout)["bound"]
    assert least > 0
    again = CliRunner().invoke(app, ["bound", *words, "--verify", str(kept), "--json"])
    assert again.exit_code == 0, again.output
    other = CliRunner().invoke(app, ["bound", *words[:-2], "--verify", str(kept)])
    assert "does not prove its bound for this table" in other.output
    asked = ["protect", *words, "-o", str(tmp_path / "out.csv"), "--bound", "--bound-time", "2", "--json"]
    made = CliRunner().invoke(app, asked)
    assert made.exit_code == 0, made.output
    facts = json.loads(made.stdout)
    assert 0 < facts["bound"] <= facts["information_loss"]
    assert not any("no bound" in note for note in facts["notes"])
