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
from shoal.bounds import (
    Bound,
    bound_matrix,
    lower_bound,
    program,
    semidefinite,
    standardised,
    verify,
    verify_groups,
)
from shoal.bounds.cuts import PATTERNS, VIOLATED, Cuts, _sorted_cuts, eliminate, on_grid, separate
from shoal.bounds.neighbours import near_sums, neighbour_prices
from shoal.bounds.verify import by_matrix, by_neighbours, by_prices
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.kernels.search.cuts import group_costs, reduced_costs, violated_triples
from shoal.kernels.search.pricing import charge, list_groups
from shoal.testing import brute_force


def sse(X, group):
    return float(np.square(X[list(group)] - X[list(group)].mean(0)).sum())


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


def times(cuts, t, group):
    """How often the group's weights fill the divisor of cut t."""
    weight = {i: w for i, w in zip(cuts.records[t].tolist(), cuts.weights[t].tolist()) if i >= 0}
    return sum(weight.get(i, 0) for i in group) // int(cuts.divisors[t])


def reduced_cost(X, group, prices, cuts, penalties):
    due = sum(penalties[t] * times(cuts, t, group) for t in range(len(cuts)))
    return sse(X, group) - prices[list(group)].sum() + due


def random_cuts(rng, n, each=1):
    """Cuts of every pattern."""
    found = Cuts.none()
    for weights, divisor in (((1, 1, 1), 2), *PATTERNS):
        if len(weights) <= n:
            chosen = np.array([rng.choice(n, len(weights), replace=False) for _ in range(each)])
            found += _sorted_cuts(chosen, np.array(weights), divisor)
    return found


def test_never_above_the_optimum_and_close_with_cuts():
    ratios = []
    for seed in range(30):  # every shape with every k
        n, k = 8 + seed % 5, 2 + seed % 3
        X = random_table(seed, n)
        best = brute_force(X, k) if n >= 2 * k else sse(X, range(n))
        bound = bound_matrix(X, k, time_limit=600)
        assert bound.sse <= best * (1 + 1e-12)
        assert bound.verify()
        if best > 0:
            ratios.append(bound.sse / best)
    assert np.mean(ratios) > 0.98


def test_neighbours_never_above_the_optimum():
    for seed in range(25):
        X = random_table(seed)
        assert by_neighbours(X, 3) <= brute_force(X, 3) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_pricing_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, k = 10, 2 + seed % 3
    X = random_table(seed, n)
    prices = rng.random(n) * np.square(X - X.mean(0)).sum() / n
    cuts = random_cuts(rng, n)
    penalties = on_grid(rng.random(len(cuts)) * prices.mean())
    lowered = prices.copy()
    rows, costs = np.zeros((n, 3, 2 * k - 1), np.int32), np.zeros((n, 3))
    lists, near = cuts.lists(n, penalties), near_sums(X, k)
    charge(X, None, np.arange(n), lowered, near, k, lists, 10**9, rows, costs, np.zeros(n, np.int64))
    expected = prices.copy()
    for lead in range(n - 1, -1, -1):
        led = (group for group in all_groups(n, k) if group[0] == lead)
        least = sorted(reduced_cost(X, group, expected, cuts, penalties) for group in led)
        under = [cost for cost in least if cost < -1e-12][:3]
        np.testing.assert_allclose(
            np.sort(costs[lead])[: len(under)], under, atol=1e-10 * max(1, prices.max())
        )
        expected[lead] += min([0.0, *least])
    np.testing.assert_allclose(lowered, expected, atol=1e-10 * max(1, prices.max()))


@pytest.mark.parametrize("seed", range(12))
def test_listed_groups_equal_enumeration(seed):
    """Both listings, the search's and the verifier's, which share no code."""
    rng = np.random.default_rng(seed)
    n, k = 10, 2 + seed % 3
    X = random_table(seed, n)
    prices = rng.random(n) * np.square(X - X.mean(0)).sum() / n
    cuts = random_cuts(rng, n)
    penalties = on_grid(rng.random(len(cuts)) * prices.mean())
    every = {group: reduced_cost(X, group, prices, cuts, penalties) for group in all_groups(n, k)}
    goal = float(np.quantile(list(every.values()), 0.3)) + 1e-9
    expected = {group for group, cost in every.items() if cost < goal}
    rows, costs = np.empty((9999, 2 * k - 1), np.int32), np.empty(9999)
    lists, near = cuts.lists(n, penalties), near_sums(X, k)
    count = list_groups(X, np.arange(n), prices, near, k, lists, goal, rows, costs)
    found = {tuple(sorted(row[row >= 0].tolist())): cost for row, cost in zip(rows[:count], costs)}
    assert found.keys() == expected
    assert count == len(expected)
    assert all(cost == pytest.approx(every[group], abs=1e-9) for group, cost in found.items())
    np.testing.assert_allclose(
        reduced_costs(rows[:count], group_costs(X, rows[:count]), prices, lists), costs[:count], atol=1e-9
    )
    table = verify_groups.cut_table(n, cuts.records, cuts.weights, cuts.divisors)
    again = verify_groups.groups_below(X, k, prices, table, penalties, goal, 9999)
    assert {tuple(sorted(row[row >= 0].tolist())) for row in again} == expected
    assert len(again) == len(expected)
    assert verify_groups.groups_below(X, k, prices, table, penalties, goal, len(expected) // 9) is None
    assert list_groups(X, np.arange(n), prices, near, k, lists, goal, rows[:2], costs[:2]) == 3


def all_partitions(records, k):
    """Every division into groups of at least k."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for s in range(k - 1, len(rest) + 1):
        for others in itertools.combinations(rest, s):
            for more in all_partitions([i for i in rest if i not in others], k):
                yield [(first, *others), *more]


def test_every_family_of_cuts_holds_for_every_partition():
    rng = np.random.default_rng(0)
    for n, k in ((9, 1), (9, 2), (10, 3)):
        cuts = random_cuts(rng, n, each=2)
        for partition in itertools.islice(all_partitions(list(range(n)), k), 2000):
            for t in range(len(cuts)):
                assert sum(times(cuts, t, group) for group in partition) <= cuts.limits[t]


def test_found_cuts_are_violated_as_said_and_spread():
    """A fractional solution of a linear program breaks them; each is a cut of a known pattern."""
    X = np.random.default_rng(5).normal(size=(60, 3))
    solved = program.Program(X, 3)
    assert solved.converge(np.inf, 1e-6)
    rows, shares = solved.fractional
    known = set()
    cuts = separate(rows, shares, known, 40)
    assert 0 < len(cuts) <= 40
    assert len(known) == len(cuts)
    groups = [row[row >= 0].tolist() for row in rows]
    for t in range(len(cuts)):
        total = sum(share * times(cuts, t, group) for group, share in zip(groups, shares))
        assert total > cuts.limits[t] + VIOLATED - 1e-9
        weights = tuple(w for w in cuts.weights[t].tolist() if w)
        assert (weights, int(cuts.divisors[t])) in (((1, 1, 1), 2), *PATTERNS)
    assert not len(separate(rows, shares, known, 40).divisors) or len(known) > len(cuts)


@pytest.mark.parametrize("divisor", [2, 3])
def test_cuts_by_elimination_are_violated_and_hold_for_every_partition(divisor):
    X = np.random.default_rng(7).normal(size=(60, 3))
    solved = program.Program(X, 3)
    assert solved.converge(np.inf, 1e-6)
    rows, shares = solved.fractional
    known = set()
    cuts = eliminate(rows, shares, divisor, np.random.default_rng(0), known)
    assert 0 < len(cuts) == len(known)
    groups = [row[row >= 0].tolist() for row in rows]
    partitions = [
        list(map(list, np.array_split(np.random.default_rng(s).permutation(60), 17))) for s in range(9)
    ]
    for t in range(len(cuts)):
        assert set(cuts.weights[t][cuts.records[t] >= 0].tolist()) <= set(range(1, divisor))
        total = sum(share * times(cuts, t, group) for group, share in zip(groups, shares))
        assert total > cuts.limits[t] + VIOLATED - 1e-9
        for partition in partitions:
            assert sum(times(cuts, t, group) for group in partition) <= cuts.limits[t]
    both = separate(rows, shares, set(), 5) + cuts
    assert len(both) == 5 + len(cuts)
    assert np.array_equal(both.limits, np.append(separate(rows, shares, set(), 5).limits, cuts.limits))


def test_pricing_cut_short_is_still_feasible():
    X = random_table(0, 12)
    near, k, n = near_sums(X, 3), 3, 12
    for budget in (0, 5, 50):
        lowered = np.full(n, 0.8)
        rows, costs = np.zeros((n, 2, 2 * k - 1), np.int32), np.zeros((n, 2))
        cuts = Cuts.none().lists(n, np.empty(0))
        charge(X, None, np.arange(n), lowered, near, k, cuts, budget, rows, costs, np.zeros(n, np.int64))
        assert min(sse(X, g) - lowered[list(g)].sum() for g in all_groups(n, k)) > -1e-12


def test_prices_on_a_block_only():
    for seed in range(5):
        X = random_table(seed, 12)
        prices = program.solve(X, 3, seconds=600, largest=5)
        value = by_prices(X, 3, **prices.arrays())
        assert by_neighbours(X, 3) * (1 - 1e-8) <= value <= brute_force(X, 3) * (1 + 1e-12)


def test_separated_triples_equal_enumeration():
    rng = np.random.default_rng(3)
    inside = rng.random((9, 8)) < 0.4
    shares = rng.random(8) * 0.6
    rows = np.full((8, 9), -1)
    for g in range(8):
        rows[g, : inside[:, g].sum()] = np.flatnonzero(inside[:, g])
    start = np.concatenate([[0], np.cumsum(inside.sum(1))])
    found, excess = violated_triples(rows, shares, start, np.nonzero(inside)[1].copy(), 0.02)
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
    """M need not be good, nor symmetric, nor cover all records; nor need charges on triples."""
    rng = np.random.default_rng(seed)
    X = random_table(seed, 10)
    best = brute_force(X, 3)
    for b in (4, 10):
        block = np.sort(rng.choice(10, b, replace=False))
        M = (rng.normal(size=(b, b)) * rng.choice([0.01, 0.1, 1])).astype(np.float32)
        triples = np.stack([rng.choice(b, 3, replace=False) for _ in range(8)])
        for size in (0.0, 0.1):
            found = semidefinite.Multipliers(block, M, triples, size * rng.random(8))
            value = semidefinite.proven(X, 3, found)
            assert value <= best * (1 + 1e-12)
            assert value == pytest.approx(by_matrix(X, 3, **vars(found)), rel=1e-9, abs=1e-12)


def test_no_partition_breaks_a_triple():
    """Charges may stand on any three records, for they add nothing to a partition: all of seven records."""
    triples = np.array(list(itertools.permutations(range(7), 3)))
    for labels in itertools.product(range(3), repeat=7):
        same = np.equal.outer(labels, labels)
        Z = same / same.sum(axis=1)
        i, j, other = triples.T
        assert (Z[i, j] + Z[i, other] <= Z[i, i] + Z[j, other] + 1e-15).all()
        T = semidefinite.charged(7, triples[:50], np.ones(50))
        broken = Z[i, j] + Z[i, other] - Z[i, i] - Z[j, other]
        assert (T * Z).sum() == pytest.approx(broken[:50].sum(), abs=1e-12)


def test_semidefinite_improves_on_neighbours():
    X = np.random.default_rng(1).normal(size=(40, 3))
    found = semidefinite.solve(X, 6, seconds=300)
    assert semidefinite.proven(X, 6, found) > 1.1 * by_neighbours(X, 6)
    assert len(found.triples)
    assert by_matrix(X, 6, **vars(found)) == pytest.approx(semidefinite.proven(X, 6, found), rel=1e-12)
    plain = semidefinite.Multipliers(found.block, found.M, found.triples[:0], found.charges[:0])
    assert semidefinite.proven(X, 6, found) > semidefinite.proven(X, 6, plain)
    for change in (
        {"charges": -found.charges},
        {"charges": found.charges[1:]},
        {"triples": found.triples[:, [0, 0, 1]]},
        {"triples": found.triples + 40},
        {"triples": found.triples - 40},
    ):
        with pytest.raises(ValueError, match="triple"):
            by_matrix(X, 6, **(vars(found) | change))


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
    assert len(arrays["penalties"])
    assert not changed(bound, penalties=0 * arrays["penalties"]).verify()
    for name, change in (
        ("divisors", arrays["divisors"] + 1),
        ("divisors", arrays["divisors"] * 0),
        ("divisors", arrays["divisors"][:-1]),
        ("divisors", arrays["divisors"] + 2**40),
        ("weights", arrays["weights"] * 2),
        ("weights", -arrays["weights"]),
        ("weights", arrays["weights"] + 1),
        ("cuts", arrays["cuts"] + 60),
        ("cuts", np.where(arrays["cuts"] >= 0, 7, -1)),
        ("cuts", arrays["cuts"][:, ::-1]),
        ("cuts", arrays["cuts"].astype(float)),
    ):
        assert not changed(bound, **{name: change}).verify()
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
        lower_bound([[1.0], [np.nan]], 1, missing="error")


@given(st.integers(2, 4), st.lists(st.sampled_from([0.0, 1.0, 1.0, 7.0]), min_size=8, max_size=12))
@settings(max_examples=15, deadline=None)
def test_ties_duplicates_and_constant_columns(k, values):
    data = np.column_stack([values, np.full(len(values), 3.0)])
    bound = lower_bound(data, k, time_limit=600)
    X = standardised(data)
    assert bound.sse <= brute_force(X, k) + 1e-12
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
    with pytest.raises(InputError, match="groups of whole records"):
        shoal.microaggregate(path, 3, columns=["turnover", "wages"], per_column=True).lower_bound()


@pytest.mark.parametrize("command", ["bound", "optimum"])
@pytest.mark.parametrize(
    ("place", "why"),
    [("no/proof.npz", "does not exist"), ("", "is a folder"), ("firms.csv", "never overwritten")],
)
def test_where_no_certificate_can_be_kept_none_is_sought(tmp_path, monkeypatch, command, place, why):
    path = tmp_path / "firms.csv"
    shoal.write(survey(60), path)
    before = path.read_bytes()
    monkeypatch.setattr("shoal.cli.bound.interruptible", lambda work: pytest.fail("the work began"))
    words = [command, path, "-k", 3, "-c", "turnover", "--save", tmp_path / place]
    outcome = CliRunner().invoke(app, list(map(str, words)))
    assert outcome.exit_code == 2
    assert why in " ".join(outcome.stderr.split())
    assert path.read_bytes() == before


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
    for name in ("verify", "verify_groups", "verify_tree"):
        for node in ast.walk(ast.parse(Path(verify.__file__).with_name(f"{name}.py").read_text())):
            if isinstance(node, ast.ImportFrom):
                imported |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {(alias.name, "") for alias in node.names}
    ours = {pair for pair in imported if pair[0].split(".")[0] == "shoal"}
    assert {pair for pair in ours if not pair[0].startswith("shoal.bounds.verify_")} == allowed


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
