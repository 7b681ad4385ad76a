"""Lower bounds against brute force, and certificates against tampering."""

import ast
import dataclasses
import itertools
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.bounds import Bound, bound_matrix, lower_bound, program, semidefinite, standardised, verify
from shoal.bounds.neighbours import near_sums, neighbour_prices
from shoal.bounds.verify import by_matrix, by_neighbours, by_prices
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.kernels.search.pricing import charge, violated_triples


def sse(X, group):
    return float(np.square(X[list(group)] - X[list(group)].mean(0)).sum())


def optimum(X, k):
    """The least SSE of any partition, by dynamic programming over all subsets (n <= 12)."""
    n = len(X)
    best = {0: 0.0}
    cost = {}
    for s in range(k, min(2 * k, n + 1)):
        for group in itertools.combinations(range(n), s):
            cost[sum(1 << i for i in group)] = sse(X, group)
    for covered in range(1 << n):
        if covered not in best:
            continue
        first = next((i for i in range(n) if not covered >> i & 1), None)
        if first is None:
            continue
        for group, price in cost.items():
            if group >> first & 1 and not group & covered:
                total = best[covered] + price
                if total < best.get(covered | group, np.inf):
                    best[covered | group] = total
    return best[(1 << n) - 1]


def random_table(seed, n=10):
    """Normal, clustered, heavy-tailed, tied or lattice records."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    shape = seed % 5
    X = rng.normal(size=(n, d))
    if shape == 1:
        X += 5 * rng.integers(0, 3, size=(n, 1))
    elif shape == 2:
        X = np.exp(2 * X)
    elif shape == 3:
        X = X[rng.integers(0, n // 2, size=n)]
    elif shape == 4:
        X = np.round(X)
    return X


def all_groups(n, k):
    for s in range(k, min(2 * k, n + 1)):
        yield from itertools.combinations(range(n), s)


def reduced_cost(X, group, prices, triples, penalties):
    due = sum(p for t, p in zip(triples, penalties) if len(set(t) & set(group)) >= 2)
    return sse(X, group) - prices[list(group)].sum() + due


def test_never_above_the_optimum_and_close_with_cuts():
    ratios = []
    for seed in range(40):
        n, k = 8 + seed % 5, 2 + seed % 3
        X = random_table(seed, n)
        best = optimum(X, k) if n >= 2 * k else sse(X, range(n))
        bound = bound_matrix(X, k, time_limit=600)
        assert bound.sse <= best * (1 + 1e-12)
        assert bound.verify()
        if best > 0:
            ratios.append(bound.sse / best)
    assert np.mean(ratios) > 0.98


def test_neighbours_never_above_the_optimum():
    for seed in range(25):
        X = random_table(seed)
        assert by_neighbours(X, 3) <= optimum(X, 3) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_pricing_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, k = 10, 2 + seed % 3
    X = random_table(seed, n)
    prices = rng.random(n) * np.square(X - X.mean(0)).sum() / n
    triples = np.array([np.sort(rng.choice(n, 3, replace=False)) for _ in range(6)])
    penalties = rng.random(6) * prices.mean()
    lowered = prices.copy()
    groups = np.zeros((n, k, 2 * k - 1), np.int64)
    sizes, weighed = np.zeros((n, k), np.int64), np.zeros(n, np.int64)
    cuts = program.cut_lists(n, triples, penalties)
    charge(X, np.arange(n), lowered, near_sums(X, k), k, cuts, 10**9, groups, sizes, weighed)
    expected = prices.copy()
    for lead in range(n - 1, -1, -1):
        led = (group for group in all_groups(n, k) if group[0] == lead)
        costs = (reduced_cost(X, group, expected, triples, penalties) for group in led)
        expected[lead] += min(0.0, min(costs, default=0.0))
    np.testing.assert_allclose(lowered, expected, atol=1e-10 * max(1, prices.max()))


def test_pricing_cut_short_is_still_feasible():
    X = random_table(0, 12)
    near, k, n = near_sums(X, 3), 3, 12
    for budget in (0, 5, 50):
        lowered = np.full(n, 0.8)
        groups, sizes = np.zeros((n, k, 2 * k - 1), np.int64), np.zeros((n, k), np.int64)
        cuts = program.cut_lists(n, np.empty((0, 3), np.int64), np.empty(0))
        charge(X, np.arange(n), lowered, near, k, cuts, budget, groups, sizes, np.zeros(n, np.int64))
        assert min(sse(X, g) - lowered[list(g)].sum() for g in all_groups(n, k)) > -1e-12


def test_prices_on_a_block_only():
    for seed in range(5):
        X = random_table(seed, 12)
        prices = program.solve(X, 3, seconds=600, largest=5)
        value = by_prices(X, 3, prices.records, prices.triples, prices.penalties)
        assert by_neighbours(X, 3) * (1 - 1e-8) <= value <= optimum(X, 3) * (1 + 1e-12)


def test_separated_triples_equal_enumeration():
    rng = np.random.default_rng(3)
    inside = rng.random((9, 8)) < 0.4
    shares = rng.random(8) * 0.6
    found, excess = violated_triples(inside, shares, 0.02)
    found = {tuple(sorted(t)): e for t, e in zip(found.tolist(), excess)}
    expected = {}
    for t in itertools.combinations(range(9), 3):
        total = shares[inside[list(t)].sum(0) >= 2].sum() - 1
        if total > 0.02:
            expected[t] = total
    assert found.keys() == expected.keys()
    assert all(abs(found[t] - expected[t]) < 1e-12 for t in found)


@pytest.mark.parametrize("seed", range(10))
def test_any_matrix_is_a_certificate(seed):
    """M need not be good, nor symmetric, nor cover all records."""
    rng = np.random.default_rng(seed)
    X = random_table(seed, 10)
    best = optimum(X, 3)
    for b in (4, 10):
        block = np.sort(rng.choice(10, b, replace=False))
        M = (rng.normal(size=(b, b)) * rng.choice([0.01, 0.1, 1])).astype(np.float32)
        value = semidefinite.proven(X, 3, block, M)
        assert value <= best * (1 + 1e-12)
        assert value == pytest.approx(by_matrix(X, 3, block, M), rel=1e-9, abs=1e-12)


def test_semidefinite_improves_on_neighbours():
    X = np.random.default_rng(1).normal(size=(40, 3))
    block, M = semidefinite.solve(X, 6, seconds=300)
    assert semidefinite.proven(X, 6, block, M) > 1.1 * by_neighbours(X, 6)


@pytest.fixture(scope="module")
def proven():
    X = np.random.default_rng(0).normal(size=(60, 2))
    bound = lower_bound(X, 3, time_limit=600)
    assert bound.verify()
    assert bound.verify(X)
    return X, bound


def changed(bound, **arrays):
    certificate = dataclasses.replace(bound.certificate, arrays={**bound.certificate.arrays, **arrays})
    return dataclasses.replace(bound, certificate=certificate)


def test_tampering_is_refused(proven):
    _, bound = proven
    arrays = bound.certificate.arrays
    for i in (0, 7, 59):
        for factor in (0.999, 1.001, -1, np.nan):
            prices = arrays["prices"].copy()
            prices[i] *= factor
            assert not changed(bound, prices=prices).verify()
    swapped = arrays["prices"].copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not changed(bound, prices=swapped).verify()
    assert not changed(bound, prices=arrays["prices"][:-1]).verify()
    if len(arrays["penalties"]):
        assert not changed(bound, penalties=0 * arrays["penalties"]).verify()
    assert not changed(bound, penalties=np.append(arrays["penalties"], -1.0)).verify()
    assert not dataclasses.replace(bound, sse=bound.sse * 1.0001).verify()
    assert not dataclasses.replace(bound, information_loss=bound.information_loss * 1.0001).verify()
    for change in (
        {"k": 2},
        {"k": 4},
        {"proof": "neighbours"},
        {"proof": "one group"},
        {"proof": "trust me"},
    ):
        assert not dataclasses.replace(
            bound, certificate=dataclasses.replace(bound.certificate, **change)
        ).verify()


def test_raised_prices_are_refused_even_if_the_figures_follow(proven):
    """Consistent lies: the search for a group that undercuts must find it."""
    _, bound = proven
    for i in (3, 30):
        prices = bound.certificate.arrays["prices"].copy()
        prices[i] += 0.01 * bound.sse
        lie = dataclasses.replace(
            changed(bound, prices=prices),
            sse=1.01 * bound.sse,
            information_loss=1.01 * bound.information_loss,
        )
        assert not lie.verify()


def test_changed_data_are_refused(proven):
    X, bound = proven
    for change in (1e-3, 5.0):
        other = X.copy()
        other[11, 1] += change
        assert not bound.verify(other)
    assert not bound.verify(X[::-1])
    assert not bound.verify(X[:-1])


def test_saved_loaded_pickled(proven, tmp_path):
    X, bound = proven
    bound.save(tmp_path / "bound.npz")
    loaded = Bound.load(tmp_path / "bound.npz")
    assert loaded.sse == bound.sse
    assert loaded.verify(X)
    with pytest.raises(InputError, match="original data"):
        loaded.verify()
    assert pickle.loads(pickle.dumps(bound)).verify()


def test_groups_are_groups(proven):
    _, bound = proven
    assert all(3 <= len(set(group)) <= 5 for group in bound.groups)
    assert set(itertools.chain.from_iterable(bound.groups)) == set(range(60))


def test_shift_and_scale_do_not_matter(proven):
    X, bound = proven
    moved = lower_bound(1e6 + 1e-3 * X, 3, time_limit=600)
    assert moved.information_loss == pytest.approx(bound.information_loss, rel=1e-3)
    assert moved.verify()


def test_single_group_and_k_one():
    X = np.random.default_rng(2).normal(size=(7, 2))
    assert lower_bound(X, 1).sse == 0
    whole = lower_bound(X, 4)
    assert whole.information_loss == pytest.approx(100)
    assert whole.sse <= sse(standardised(X), range(7))
    assert whole.verify()
    assert lower_bound(X, 1).verify()
    with pytest.raises(InputError, match="k=8"):
        lower_bound(X, 8)
    with pytest.raises(InputError, match="gap in row 2"):
        lower_bound([[1.0], [np.nan]], 1)


@given(st.integers(2, 4), st.lists(st.sampled_from([0.0, 1.0, 1.0, 7.0]), min_size=8, max_size=12))
@settings(max_examples=15, deadline=None)
def test_ties_duplicates_and_constant_columns(k, values):
    data = np.column_stack([values, np.full(len(values), 3.0)])
    bound = lower_bound(data, k, time_limit=600)
    X = standardised(data)
    assert bound.sse <= optimum(X, k) + 1e-12
    assert bound.verify()


def test_prices_of_neighbours_prove_no_less_than_their_distances():
    table = survey(800)
    X = standardised(np.column_stack([table[name] for name in ("turnover", "wages", "assets")]).astype(float))
    for k in (2, 3, 5):
        assert neighbour_prices(near_sums(X, k), k).sum() >= by_neighbours(X, k) * (1 - 1e-12) > 0


def test_a_release_knows_its_bound(tmp_path):
    """The release's own groups only save time: what is proven holds for the table as anyone reads it."""
    path = tmp_path / "firms.csv"
    shoal.write(survey(60), path)
    release = shoal.microaggregate(path, 3, columns=["turnover", "wages"])
    bound = release.lower_bound(600)
    assert 0 < bound.information_loss <= release.information_loss
    assert bound.verify(path, ["turnover", "wages"])
    assert not bound.verify(path, ["turnover", "assets"])
    plain = shoal.lower_bound(path, 3, columns=["turnover", "wages"], time_limit=600)
    assert bound.information_loss == pytest.approx(plain.information_loss, rel=1e-3)
    with pytest.raises(InputError, match="whole, unweighted records"):
        shoal.microaggregate(path, 3, columns=["turnover", "wages"], per_column=True).lower_bound()


def test_bound_on_the_command_line(tmp_path):
    path, kept = tmp_path / "firms.csv", tmp_path / "proof.npz"
    shoal.write(survey(60), path)

    def call(*words, status=0):
        outcome = CliRunner().invoke(app, ["bound", *map(str, words)])
        assert outcome.exit_code == status, outcome.output
        return outcome

    words = (path, "-k", 3, "-c", "turnover", "-c", "wages")
    found = json.loads(call(*words, "--time-limit", 600, "--save", kept, "--json").stdout)
    assert found["bound"] == shoal.Bound.load(kept).information_loss
    assert "proven again" in call(*words, "--verify", kept).stderr
    assert "does not prove" in call(path, "-k", 3, "-c", "turnover", "--verify", kept, status=1).stderr
    words = [
        "protect",
        path,
        "-k",
        3,
        "-c",
        "turnover",
        "-c",
        "wages",
        "--bound",
        "--bound-time",
        600,
        "--json",
    ]
    outcome = CliRunner().invoke(app, list(map(str, words)))
    outcome_facts = json.loads(outcome.stdout)
    assert outcome_facts["gap"] == pytest.approx(
        outcome_facts["information_loss"] / outcome_facts["bound"] - 1
    )
    assert "no release with k=3 can lose less than" in " ".join(outcome.stderr.split())


def test_the_verifier_shares_no_code_with_the_search():
    """Beside libraries it imports the form of a bound and the compiler, and nothing that finds bounds."""
    allowed = {("shoal.bounds.certificate", "Bound"), ("shoal.kernels.runtime.jit", "kernel")}
    imported = set()
    for node in ast.walk(ast.parse(Path(verify.__file__).read_text())):
        if isinstance(node, ast.ImportFrom):
            imported |= {(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {(alias.name, "") for alias in node.names}
    assert {pair for pair in imported if pair[0].split(".")[0] == "shoal"} == allowed


GOOD = {"sse": 1.0, "information_loss": 1.0, "method": "m", "seconds": 0.1, "proof": "prices", "k": 1}
HOSTILE = {
    "no zip": b"nothing",
    "empty": b"",
    "no figures": {"facts": None},
    "no JSON": {"facts": "{"},
    "deep JSON": {"facts": "[" * 100_000},
    "a list": {"facts": "[1, 2]"},
    "k is a text": {"facts": {"k": "3"}},
    "k is negative": {"facts": {"k": -3}},
    "k has 5,000 digits": {
        "facts": json.dumps({**GOOD, "fingerprint": ""}).replace('"k": 1', '"k": ' + "9" * 5000)
    },
    "sse is no number": {"facts": {"sse": float("nan")}},
    "a figure is missing": {"facts": json.dumps(GOOD)},
    "a figure too many": {"facts": {"records": 3}},
    "objects": {"prices": np.array([{}], dtype=object)},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_malformed_certificate_is_one_sentence(kind, tmp_path):
    path, content = tmp_path / "bound.npz", HOSTILE[kind]
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        facts = content.get("facts", {})
        text = json.dumps({**GOOD, "fingerprint": "", **facts}) if isinstance(facts, dict) else facts
        with path.open("wb") as file:
            np.savez(file, **{**content, "facts": text} if text is not None else {"prices": np.ones(3)})
    with pytest.raises(InputError, match="is no certificate of a bound") as said:
        Bound.load(path)
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 500


def test_a_certificate_that_unpacks_to_gigabytes_is_refused(tmp_path):
    path = tmp_path / "bound.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("prices.npy", bytes(400 << 20))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        Bound.load(path)
    with pytest.raises(InputError, match="there is no certificate"):
        Bound.load(tmp_path / "none.npz")


@pytest.mark.parametrize("k", [1, 31, 59, 60])
@pytest.mark.parametrize("proof", ["prices", "neighbours", "matrix"])
def test_a_hostile_k_does_not_reach_the_kernels(proven, tmp_path, k, proof):
    """It crashed the process: the search for groups of 2k - 1 = 1 record writes beside its arrays."""
    X, bound = proven
    arrays = dict(bound.certificate.arrays)
    arrays = {"matrix": {"block": np.arange(60), "M": np.zeros((60, 60))}, "prices": arrays}.get(proof, {})
    certificate = dataclasses.replace(
        bound.certificate, k=k, proof=proof, arrays=arrays, fingerprint=verify._fingerprint(bound.records, k)
    )
    lie = dataclasses.replace(bound, certificate=certificate)
    assert not lie.verify()
    lie.save(tmp_path / "lie.npz")
    assert not Bound.load(tmp_path / "lie.npz").verify(X)
    assert (tmp_path / "lie.npz").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "arrays",
    [
        {"prices": np.array(["a"] * 60)},
        {"prices": np.ones(60, complex)},
        {"triples": np.zeros((0, 3))},
        {"triples": np.zeros((0, 3), bool), "penalties": np.zeros(0, np.uint8)},
        {"more": np.ones(3)},
    ],
)
def test_arrays_of_another_kind_prove_nothing(proven, arrays):
    assert not changed(proven[1], **arrays).verify()
