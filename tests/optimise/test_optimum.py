"""The optimum against brute force, its certificate against tampering, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bounds import standardised
from shoal.bounds.program import Program
from shoal.bounds.tree import Tree
from shoal.bounds.verify_tree import by_tree
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.optimise.optimum import Optimum, optimum_of, tree_arrays
from shoal.testing import brute_force
from tests.bounds.test_bounds import random_table, sse


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(10))
def test_equal_to_brute_force(seed):
    """Fifty small tables in each case, with ties, clusters, outliers and lattices among them."""
    for number in range(50 * seed, 50 * seed + 50):
        n, k = 6 + number % 7, 2 + number % 2
        X = random_table(number, n)
        found = optimum_of(X, k, 600)
        best = brute_force(X, k) if n >= 2 * k else sse(X, range(n))
        total = np.square(X - X.mean(0)).sum()
        lost = 100 * best / total if total > 0 else 0.0
        assert found.information_loss == pytest.approx(lost, rel=1e-9, abs=1e-12)
        assert found.proven
        assert found.bound <= lost * (1 + 1e-12)
        assert np.bincount(found.labels).min() >= k
        if number % 5 == 0:
            assert found.verify()


@pytest.fixture(scope="module")
def proven():
    """A table whose proof needs a tree."""
    X = np.random.default_rng(80).normal(size=(80, 3))
    found = shoal.optimum(X, 3, time_limit=3600)
    assert found.proven
    assert len(found.certificate.arrays["pairs"]) > 2
    return X, found


def test_proven_again_by_other_code_also_from_a_file(proven, tmp_path):
    X, found = proven
    assert found.verify()
    assert found.verify(X)
    found.save(tmp_path / "best.npz")
    assert (tmp_path / "best.npz").stat().st_mode & 0o777 == 0o600
    loaded = Optimum.load(tmp_path / "best.npz")
    assert loaded.proven
    assert loaded.verify(X)
    assert repr(loaded) == repr(found) == f"Optimum(k=3: {found.information_loss:.6g} % is lost, proven)"
    with pytest.raises(InputError, match="original data"):
        loaded.verify()


def changed(found, labels=None, **arrays):
    if labels is not None:
        found = dataclasses.replace(found, labels=labels)
    certificate = dataclasses.replace(found.certificate, arrays={**found.certificate.arrays, **arrays})
    return dataclasses.replace(found, least=dataclasses.replace(found.least, certificate=certificate))


def tampered(labels, arrays):
    """Name and arrays of every kind of lie."""
    rng = np.random.default_rng(0)
    nodes, n = len(arrays["pairs"]), arrays["prices"].shape[1]
    leaf = int(np.flatnonzero(arrays["pairs"][:, 0] < 0)[-1])
    inner = int(np.flatnonzero(arrays["pairs"][:, 0] >= 0)[-1])

    def edited(name, place, value):
        array = arrays[name].copy()
        array[place] = value
        return {name: array}

    prices = arrays["prices"]
    yield "a raised price of the list", edited("prices", (0, 5), prices[0, 5] + 1)
    yield "all prices of the list raised", {"prices": prices + np.eye(nodes + 1)[0][:, None]}
    yield "lowered prices of the list", {"prices": prices - 5 * np.eye(nodes + 1)[0][:, None]}
    yield "a lowered price of a leaf", edited("prices", (leaf + 1, 5), prices[leaf + 1, 5] - 1)
    yield "a raised price of a leaf", edited("prices", (leaf + 1, 5), prices[leaf + 1, 5] + 9)
    yield "prices of another node", edited("prices", leaf + 1, prices[0])
    yield "no prices at a leaf", edited("prices", leaf + 1, 0.0)
    yield "prices of other records", {"prices": prices[:, ::-1]}
    yield "a price that is no number", edited("prices", (1, 1), np.nan)
    yield "an endless price", edited("prices", (1, 1), np.inf)
    yield "a huge price and a huge penalty", edited("prices", (leaf + 1, 1), 1e300)
    yield "a row of prices is missing", {"prices": prices[:-1]}
    yield "a column of prices is missing", {"prices": prices[:, :-1]}
    yield "whole prices", {"prices": prices.astype(int)}
    yield "a leaf is missing", {"pairs": arrays["pairs"][:-1]}
    yield (
        "the last two nodes are missing",
        {
            "pairs": arrays["pairs"][:-2],
            "prices": prices[:-2],
            "owed_start": arrays["owed_start"][:-2],
            "owed_cut": arrays["owed_cut"][: arrays["owed_start"][-3]],
            "penalties": arrays["penalties"][: arrays["owed_start"][-3]],
        },
    )
    yield "a divided node becomes a leaf", edited("pairs", inner, -1)
    yield "a leaf is divided", edited("pairs", leaf, [0, 1])
    yield "divided at another pair", edited("pairs", 0, rng.permutation(n)[:2])
    yield "divided at one record", edited("pairs", inner, [3, 3])
    yield "divided at no record", edited("pairs", inner, [3, n])
    yield "a negative record", edited("pairs", inner, [-5, 3])
    yield (
        "children exchanged",
        {
            name: np.concatenate([arrays[name][:at], arrays[name][at:][::-1]])
            for name, at in (("pairs", 1), ("prices", 2))
        },
    )
    yield "no penalties", {"penalties": 0 * arrays["penalties"]}
    yield "a negative penalty", edited("penalties", 0, -1.0)
    yield "a penalty too many", {"penalties": np.append(arrays["penalties"], 0.5)}
    yield "penalties of other cuts", {"owed_cut": arrays["owed_cut"][::-1]}
    yield "a cut that is not there", edited("owed_cut", 0, 10**6)
    yield "penalties of another node", edited("owed_start", -2, arrays["owed_start"][-1])
    yield "lists that run backwards", edited("owed_start", 1, 10**9)
    yield "larger divisors", {"divisors": arrays["divisors"] + 1}
    yield "divisors of nought", {"divisors": 0 * arrays["divisors"]}
    yield "larger weights", {"weights": 2 * arrays["weights"]}
    yield "records twice in a cut", {"cuts": np.where(arrays["cuts"] >= 0, 7, -1)}
    yield "records beyond the table", {"cuts": arrays["cuts"] + n}
    for name, factor in (("lower", 0.999), ("higher", 1.001), ("negative", -1.0), ("endless", np.inf)):
        yield f"a {name} target", {"target": factor * arrays["target"]}
    yield "two targets", {"target": np.repeat(arrays["target"], 2)}
    yield "a record in another group", {"labels": np.append(labels[labels != labels[0]][0], labels[1:])}
    yield "a group too small", {"labels": np.append(labels.max() + 1, labels[1:])}
    yield "one group", {"labels": 0 * labels}
    yield "a label is missing", {"labels": labels[:-1]}


def test_every_kind_of_tampering_is_refused(proven):
    _, found = proven
    lies = list(tampered(found.labels, found.certificate.arrays))
    assert len(lies) >= 30
    for name, arrays in lies:
        assert not changed(found, **arrays).verify(), name
    for change in ({"k": 2}, {"k": 4}, {"proof": "prices"}, {"proof": "one group"}, {"fingerprint": ""}):
        certificate = dataclasses.replace(found.certificate, **change)
        least = dataclasses.replace(found.least, certificate=certificate)
        assert not dataclasses.replace(found, least=least).verify(), change


def test_figures_and_data_are_part_of_the_proof(proven):
    X, found = proven
    assert not dataclasses.replace(found, information_loss=0.999 * found.information_loss).verify()
    assert not dataclasses.replace(found, labels=found.labels[::-1]).verify()
    assert not dataclasses.replace(found, labels=found.labels[:-1]).verify()
    less = dataclasses.replace(found.least, sse=1.001 * found.least.sse)
    assert not dataclasses.replace(found, least=less).verify()
    other = X.copy()
    other[3, 1] += 1e-3
    assert not found.verify(other)
    assert not found.verify(X[:-1])


def test_a_better_partition_than_the_certificates_is_not_hidden(proven):
    """A worse partition with the same tree, its figures made to fit: the leaves do not reach it."""
    X, found = proven
    Z = standardised(X)
    labels = found.labels.copy()
    a, b = 0, int(np.flatnonzero(labels != labels[0])[0])
    labels[[a, b]] = labels[[b, a]]
    cost = sum(sse(Z, np.flatnonzero(labels == g)) for g in np.unique(labels))
    lost = 100 * cost / np.square(Z).sum()
    least = dataclasses.replace(found.least, sse=cost * (1 - 1e-9), information_loss=lost * (1 - 1e-9))
    lie = dataclasses.replace(found, information_loss=lost, least=least)
    lie = changed(lie, labels=labels, target=np.array(cost))
    assert lie.proven
    assert not lie.verify()


@pytest.mark.parametrize(("nodes", "why"), [(60_000, "too much work"), (500, "too deep")])
def test_a_tree_without_end_is_given_up(nodes, why):
    """All groups of 30 records are listed, and the tree divides them at one pair again and again."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    none = np.empty(0, np.int64)
    arrays = {"target": np.array(1e3), "pairs": np.tile([0, 1], (nodes, 1))}
    arrays |= {"prices": np.zeros((nodes + 1, 30)), "owed_start": np.zeros(nodes + 2, np.int64)}
    arrays |= {"cuts": np.empty((0, 3), np.int64), "weights": np.empty((0, 3), np.int64), "divisors": none}
    with pytest.raises(ValueError, match=why):
        by_tree(X, 3, **arrays, owed_cut=none, penalties=np.empty(0))


def test_a_target_that_no_partition_is_below_becomes_the_bound():
    """Where too many groups could be in a better partition, a lower target than its cost is tried."""
    X = standardised(np.random.default_rng(7).normal(size=(40, 2)))
    best = optimum_of(X, 3, 60)
    cost = best.information_loss * np.square(X).sum() / 100
    program = Program(X, 3)
    assert program.converge(np.inf, 1e-6)
    target = 0.9 * (cost * program.scale**2 - program.value) + program.value
    rows, excess = program.most_groups(target - program.value, 10**6, 1.0, np.inf)
    assert excess == target - program.value
    tree = Tree(program.X, 3, rows, program.best, program.master.cuts, program.penalties, target)
    assert tree.search(np.inf)
    assert tree.best is None
    proven = by_tree(X, 3, **tree_arrays(program, tree))
    assert proven == pytest.approx(target * program.scale**-2, rel=1e-8)
    assert proven < cost
    fewer, excess = program.most_groups(target - program.value, len(rows) // 2, 0.01, np.inf)
    assert len(fewer) <= len(rows) // 2
    assert 0.01 * target <= excess + program.value < target


def test_two_groups_at_most_are_solved_at_once():
    """Fewer than 3k records: with a group its partition is known, so the list alone decides."""
    for seed in range(6):
        X = standardised(np.random.default_rng(seed).normal(size=(12 + seed % 3, 2)))
        found = optimum_of(X, 5, 60)
        assert found.proven
        assert found.verify()
        assert len(found.certificate.arrays["pairs"]) == 1
        assert found.information_loss * np.square(X).sum() / 100 == pytest.approx(brute_force(X, 5))


def test_stopped_early_it_says_what_it_has(tmp_path):
    X = np.random.default_rng(3).normal(size=(300, 4))
    found = shoal.optimum(X, 4, time_limit=1e-3)
    assert not found.proven
    assert 0 < found.bound < found.information_loss
    assert found.gap == pytest.approx(found.information_loss / found.bound - 1)
    assert np.bincount(found.labels).min() >= 4
    assert "above the least" in repr(found)
    found.save(tmp_path / "part.npz")
    loaded = Optimum.load(tmp_path / "part.npz")
    assert loaded.verify(X)
    assert loaded.gap == found.gap


def test_an_unfinished_tree_proves_its_own_bound(monkeypatch):
    """The nodes that are still open bound what they may hold."""
    X = np.random.default_rng(80).normal(size=(80, 3))
    search = Tree.search

    def root_only(tree, deadline, progress=None, nodes=1):
        return search(tree, deadline, progress, 1)

    monkeypatch.setattr(Tree, "search", root_only)
    found = shoal.optimum(X, 3, time_limit=3600)
    assert found.certificate.proof == "tree"
    assert not found.proven
    assert found.verify()


def test_a_start_is_taken_and_checked():
    X = np.random.default_rng(1).normal(size=(12, 2))
    start = np.repeat([5, 9, 2], 4)
    found = shoal.optimum(X, 3, start=start)
    assert found.proven
    assert found.information_loss == shoal.optimum(X, 3).information_loss
    with pytest.raises(InputError, match="one whole number for each of the 12 records"):
        shoal.optimum(X, 3, start=start[:-1])
    with pytest.raises(InputError, match="a group of 2 records, fewer than k=3"):
        shoal.optimum(X, 3, start=[0, 0, *[1] * 10])
    with pytest.raises(InputError, match="time_limit"):
        shoal.optimum(X, 3, time_limit=0)
    with pytest.raises(InputError, match="without weights and gaps"):
        shoal.optimum([[np.nan], [1.0]], 1)


def test_shift_and_scale_copies_and_one_group():
    X = np.random.default_rng(7).normal(size=(20, 2))
    best = shoal.optimum(X, 3)
    moved = shoal.optimum(1e9 + 1024.0 * np.round(X * 2**20), 3)
    assert moved.information_loss == pytest.approx(best.information_loss, rel=1e-4)
    copies = shoal.optimum(np.repeat(X[:5], 4, axis=0), 3)
    assert copies.information_loss == 0
    assert copies.proven
    assert copies.verify()
    for k in (1, 11, 20):
        single = shoal.optimum(X, k)
        assert single.proven
        assert single.verify()


def test_larger_groups_have_a_bound():
    X = np.random.default_rng(7).normal(size=(40, 2))
    found = shoal.optimum(X, 8, time_limit=4)
    assert 0 < found.bound <= found.information_loss
    assert found.verify()


@pytest.mark.parametrize(
    "arrays",
    [{}, {"labels": np.zeros(3)}, {"labels": np.zeros(3, int)}, {"labels": np.zeros(3, int), "lost": np.inf}],
)
def test_a_file_without_labels_or_loss_is_refused(arrays, tmp_path):
    least = shoal.lower_bound(np.arange(6.0)[:, None], 3)
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    certificate = dataclasses.replace(least.certificate, arrays={**least.certificate.arrays, **arrays})
    dataclasses.replace(least, certificate=certificate).save(tmp_path / "bound.npz")
    with pytest.raises(InputError, match="no certificate of an optimum"):
        Optimum.load(tmp_path / "bound.npz")


def test_on_the_command_line(tmp_path):
    path, kept = tmp_path / "firms.csv", tmp_path / "best.npz"
    shoal.write(survey(40), path)

    def call(*words, status=0):
        outcome = CliRunner().invoke(app, ["optimum", *map(str, words)])
        assert outcome.exit_code == status, outcome.output
        return outcome

    words = (path, "-k", 3, "-c", "turnover", "-c", "wages")
    found = json.loads(call(*words, "--save", kept, "--json").stdout)
    assert found["proven"] is True
    assert float(call(*words, "--verify", kept).stdout) == found["information_loss"]
    assert "does not prove" in call(path, "-k", 3, "-c", "turnover", "--verify", kept, status=1).stderr
