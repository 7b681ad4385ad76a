"""Groups come to hold what is required: always, near the constrained optimum, at no cost where all holds."""

import functools

import numpy as np
import pytest

import shoal
from shoal.algorithms.tclose import t_first
from shoal.engines.memory import foresee
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method, run_within
from shoal.plan import Plan
from shoal.plan.rules import read_rule
from shoal.requirements import requirements
from shoal.requirements.contributors import Contributors
from shoal.requirements.units import Units
from shoal.stages.gap_patterns import gap_patterns
from shoal.stages.group import group
from shoal.stages.hold import hold
from shoal.stages.part import protect_part
from shoal.stages.require import Part, failing
from shoal.verify.groups import check_groups


def optimum(X, k, requirements):
    """The least SSE of all partitions whose groups hold, by trying each: groups and rests are bit masks."""
    n = len(X)

    @functools.cache
    def cost(mask):
        rows = np.array([i for i in range(n) if mask >> i & 1])
        if len(rows) < k or not all(requirement.holds(rows) for requirement in requirements):
            return np.inf
        return float(np.square(X[rows] - X[rows].mean(axis=0)).sum())

    @functools.cache
    def least(rest):
        first = rest & -rest
        others = subset = rest ^ first
        found = cost(rest)
        while subset:
            subset = (subset - 1) & others  # what goes with the first record
            found = min(found, cost(subset | first) + least(others ^ subset))
        return found

    return least((1 << n) - 1)


def case(kind, rng, n, k):
    X = rng.normal(size=(n, 2))
    if kind == "units":
        units = rng.integers(0, n // 2 + 1, n)
        X += 2 * rng.normal(size=(n, 2))[units]  # records of one unit are alike
        return X, [Units.of(units, k)]
    weight = rng.choice([0.0, 1.0, 1.0, 30.0], n)
    gaps = rng.random(n) < 0.4
    column = Column("x", "continuous", np.where(gaps, 0, X[:, 0]), gaps)
    return X, [
        Contributors.of(column, 2, 0.8, weight),
        Contributors.of(Column("y", "continuous", X[:, 1]), 2, 0.8, weight),
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["units", "contributors"])
@pytest.mark.parametrize("k", [2, 3])
def test_near_the_constrained_optimum_and_never_infeasible(kind, k):
    rng = np.random.default_rng(k)
    ratios = []
    while len(ratios) < 15:
        X, required = case(kind, rng, int(rng.integers(6, 10)), k)
        if not all(requirement.holds(np.arange(len(X))) for requirement in required):
            continue
        start = run_method(get_method("mdav"), X, k)
        part = hold(start, X, k, None, required)
        assert part.sizes.min() >= k
        assert not failing(part, required).any()
        if failing(start, required).any():
            ratios.append(part.sse(X) / optimum(X, k, required))
        else:
            assert part is start
    assert min(ratios) > 1 - 1e-9
    assert np.mean(ratios) < 1.05


def panel(n=400, years=8, seed=0):
    """Records of people over years: those of one person are alike."""
    rng = np.random.default_rng(seed)
    units = np.arange(n) // years
    return rng.normal(size=(n // years, 3))[units] + 0.2 * rng.normal(size=(n, 3)), units


def fewest_units(labels, units):
    return min(len(set(units[labels == g].tolist())) for g in set(labels.tolist()))


def columns_of(X):
    return [Column(j, "continuous", x) for j, x in enumerate(X.T)]


def test_what_holds_already_costs_nothing_and_stays_as_it_is():
    X, _ = panel()
    part = run_method(get_method("mdav"), X, 3)
    assert hold(part, X, 3, None, []) is part
    assert hold(part, X, 3, None, [Units.of(np.arange(len(X)), 3)]) is part


def test_strata_without_a_group_that_fails_are_not_touched():
    X, units = panel()
    strata = np.arange(400) // 200
    units = np.where(strata == 0, np.arange(400), units)
    start = run_within(get_method("mdav"), X, 3, strata)
    part = hold(start, X, 3, strata, [Units.of(units, 3)])
    assert not failing(part, [Units.of(units, 3)]).any()
    assert np.array_equal(Partition(part.labels[:200]).labels, Partition(start.labels[:200]).labels)
    assert all(len(set(strata[part.labels == g])) == 1 for g in range(len(part)))


@pytest.mark.no_cover
@pytest.mark.parametrize("method", ["mdav", "auto"])
def test_units_in_a_panel(method):
    X, units = panel()
    release = group(Plan(5, method=method), Part(columns_of(X), units=units * 10**15 - 7))
    labels = release.partition.labels
    assert fewest_units(labels, units) >= 5
    merged = hold(Partition(labels), X, 5, None, [Units.of(units, 5)])
    assert merged.labels is labels or np.array_equal(merged.labels, labels)
    published = protect_part(Plan(5, method=method), Part(columns_of(X), units=units))
    assert fewest_units(published.partition.labels, units) >= 5
    assert published.partition.sizes.max() < 40  # not merged into a few large groups


def test_large_pools_are_gathered_in_blocks_with_enough_units():
    X, units = panel(6000)
    start = run_method(get_method("mdav"), X, 4)
    part = hold(start, X, 4, None, [Units.of(units, 4)])
    assert fewest_units(part.labels, units) >= 4
    assert part.sse(X) < 1.6 * start.sse(X)
    X[:, 0] *= 9
    few = np.argsort(np.argsort(X[:, 0])) // 1500  # a half has fewer than four units
    assert fewest_units(hold(start, X, 4, None, [Units.of(few, 4)]).labels, few) == 4


@pytest.mark.no_cover
def test_the_same_seed_gives_the_same_groups_and_time_may_end_it():
    X, units = panel()
    start, required = run_method(get_method("mdav"), X, 3), [Units.of(units, 3)]
    once, again = (hold(start, X, 3, None, required, seed=4) for _ in range(2))
    assert np.array_equal(once.labels, again.labels)
    hurried = hold(start, X, 3, None, required, time_limit=0.0)
    assert fewest_units(hurried.labels, units) >= 3


def test_a_few_groups_that_fail_are_repaired_where_they_are():
    X, _ = panel(seed=3)
    start = run_method(get_method("mdav"), X, 3)
    units = np.arange(400)
    units[start.labels == 7] = 0
    part = hold(start, X, 3, None, [Units.of(units, 3)])
    assert fewest_units(part.labels, units) >= 3
    assert part.sse(X) < 1.02 * start.sse(X)


def test_far_from_all_others_a_group_still_finds_one_to_join():
    X = np.vstack([np.random.default_rng(0).normal(size=(40, 2)), np.full((40, 2), 1e6)])
    units = np.where(np.arange(80) < 40, np.arange(80), 99)
    start = Partition(np.arange(80) // 40)
    assert fewest_units(hold(start, X, 2, None, [Units.of(units, 2)]).labels, units) >= 2


def test_too_few_units_are_told_before_the_work():
    X, units = panel(40)
    with pytest.raises(InputError, match="the table of 40 records has fewer than k=6 distinct units"):
        group(Plan(6), Part(columns_of(X), units=units))


def test_the_check_counts_distinct_units_by_itself():
    labels, column = np.array([0, 0, 0, 1, 1, 1]), Column("a", "continuous", np.repeat([1.0, 2.0], 3))
    check_groups({"a": column}, labels, 2, None, np.array([5, 5, -3, 5, 5, 0]))
    with pytest.raises(CheckFailed, match="a group of 1 units is short of k=2"):
        check_groups({"a": column}, labels, 2, None, np.array([5, 5, -3, 5, 5, 5]))


@pytest.mark.parametrize("thin", ["widen", "gap"])
@pytest.mark.parametrize("missing", ["group", "impute"])
def test_no_cell_rests_on_one_value(thin, missing):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 3))
    X[rng.random(X.shape) < 0.6] = np.nan
    release = shoal.microaggregate(X, 3, thin=thin, missing=missing, method="mdav")
    rested = 0
    for j in range(3):
        for g in range(release.labels.max() + 1):
            rows = release.labels == g
            there = np.isfinite(X[rows, j]).sum()
            rested += there == 1
            assert np.isnan(release.table[rows, j]).all() == (there < 2)
    assert thin == "gap" or rested == 0
    assert missing == "group" or (rested > 0) == (thin == "gap")
    assert any("became gaps" in note for note in release.outcome.notes) == (rested > 0)


@pytest.mark.parametrize("thin", ["widen", "gap"])
def test_no_mean_rests_on_one_weight(thin):
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(120, 2)), rng.choice([0.0, 0.0, 1.0, 2.0, 100.0], 120)
    table = {"a": X[:, 0], "b": rng.integers(0, 50, 120), "w": weight}
    import pandas as pd

    release = shoal.microaggregate(
        pd.DataFrame(table), 3, columns=["a", "b"], weight="w", thin=thin, method="mdav"
    )
    thinned = 0
    for g in range(release.labels.max() + 1):
        rows = release.labels == g
        own = weight[rows] if weight[rows].any() else np.ones(rows.sum())
        lone = (own > 0).sum() < 2 or own.max() > 0.9 * own.sum() * (1 + 1e-9)
        assert release.table["a"][rows].isna().all() == release.table["b"][rows].isna().all() == lone
        thinned += lone
    assert (thinned > 0) == (thin == "gap")
    assert release.table["b"].dtype == ("Int64" if thin == "gap" else "int64")
    assert release.outcome.rounding_loss > (1 if thin == "gap" else 0)


def test_one_unit_with_most_of_the_weight_of_all_publishes_a_gap():
    numbers = np.array([[1, 5], [2, 6], [3, 7], [4, 8]])
    whole = shoal.microaggregate(numbers, 2, columns=[0], weight=1, contributor_share=0.2)
    assert np.isnan(whole.table[:, 0]).all()
    assert whole.table[:, 1].tolist() == [5, 6, 7, 8]
    category = {"c": ["x", "y", "x", "y"], "w": [1.0, 0, 0, 0]}
    import pyarrow as pa

    with pytest.raises(InputError, match="column 'c' has too few contributors in the table, and no gap"):
        shoal.microaggregate(pa.table(category), 2, columns=["c"], types={"c": "nominal"}, weight="w")
    less = {"contributors": 1, "contributor_share": 1.0}
    release = shoal.microaggregate(
        pa.table(category), 2, columns=["c"], types={"c": "nominal"}, weight="w", **less
    )
    assert None not in release.table["c"].to_pylist()


@pytest.mark.parametrize("strata", [None, "s"])
def test_a_category_without_gaps_is_widened_where_numbers_are_gaps(strata):
    rng = np.random.default_rng(4)
    table = {"c": rng.choice(list("xyz"), 60), "a": rng.normal(size=60), "w": rng.choice([0.0, 1.0, 9.0], 60)}
    table["s"] = np.arange(60) % 2
    import pyarrow as pa

    plan = Plan(3, columns=["c", "a"], weight="w", thin="gap", contributor_share=0.8, strata=strata)
    release = shoal.pipeline.run(plan, pa.table(table))
    assert release.table["c"].null_count == 0
    for g in range(release.labels.max() + 1):
        own = table["w"][release.labels == g]
        own = own if own.any() else np.ones(len(own))
        assert (own > 0).sum() >= 2
        assert own.max() <= 0.8 * own.sum() * (1 + 1e-9)
    lone = table | {"w": (np.arange(60) == 0) + (np.arange(60) % 2 if strata else 0.0)}
    where = "a stratum" if strata else "the table"
    with pytest.raises(InputError, match=f"column 'c' has too few contributors in {where}"):
        foresee(plan, pa.table(lone))


def test_one_column_of_whole_numbers_in_an_array_takes_gaps():
    plan = Plan(2, contributors=2, zeros="group", thin="gap")
    column = Column(0, "integer", np.array([0, 0, 0, 5]))
    assert protect_part(plan, Part([column])).thinned == 2
    array = shoal.microaggregate(np.array([0, 0, 0, 5]), 2, zeros="group", thin="gap")
    assert (array.table == 0).sum() == np.isnan(array.table).sum() == 2


def test_k_one_stays_the_identity():
    X = np.array([[1.0, np.nan], [0.0, 3.0], [2.0, np.nan]])
    release = shoal.microaggregate(X, 1, zeros="group", contributors=5)
    assert np.array_equal(release.table, X, equal_nan=True)
    assert len(group(Plan(1), Part(columns_of(X[:, :1]), units=np.zeros(3, np.int64))).partition) == 3


def test_zeros_are_a_pattern_of_their_own():
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(200, 2))) + 0.1
    X[rng.random(200) < 0.4, 1] = 0
    apart = shoal.microaggregate(X, 4, zeros="group", method="mdav")
    assert np.array_equal(apart.table[:, 1] == 0, X[:, 1] == 0)
    together = shoal.microaggregate(X, 4, method="mdav")
    lost = int(((X == 0) & (together.table != 0)).sum())
    assert lost > 0
    assert any(note.startswith(f"{lost} zeros became other numbers;") for note in together.outcome.notes)
    assert not any("zeros" in note for note in apart.outcome.notes)


def test_too_few_zeros_join_and_are_counted_but_rare_zeros_are_not():
    X = np.arange(1.0, 41)[:, None] @ np.ones((1, 2))
    X[::18, 1] = 0  # three of 40
    release = shoal.microaggregate(X, 5, zeros="group", method="mdav")
    assert "3 zeros became other numbers" in release.outcome.notes
    X[18:, 1] += 1  # one zero of 40: a value like any other
    assert not any("zeros" in note for note in shoal.microaggregate(X, 5, method="mdav").outcome.notes)


def test_patterns_count_units_and_what_is_required_of_them():
    gaps = np.arange(12) < 4
    columns = [Column(0, "continuous", np.ones(12), gaps)]
    assert gap_patterns(columns, None, 3).tolist() == [1] * 4 + [0] * 8
    assert gap_patterns(columns, None, 3, np.where(gaps, 0, np.arange(12))) is None
    assert gap_patterns(columns, None, 3, gaps=False) is None
    level = categories("c", "nominal", np.zeros(12, np.int64), None)
    assert gap_patterns([*columns, level], None, 3, gaps=False, zeros=True) is None
    lone = Column(1, "continuous", np.ones(12), np.arange(12) != 2)
    rules = [Contributors.of(lone, 2)]  # never holds: nothing can be done by joining
    assert gap_patterns(columns, None, 3, None, rules).tolist() == [1] * 4 + [0] * 8
    rules = [Contributors.of(Column(1, "continuous", np.ones(12), ~np.isin(np.arange(12), (2, 7))), 2)]
    assert gap_patterns(columns, None, 3, None, rules) is None


def test_totals_keep_what_is_required():
    rng = np.random.default_rng(0)
    numbers, units = rng.integers(0, 1000, 40), np.arange(40) // 2
    plan = Plan(4, preserve="totals", method="mdav")
    published = protect_part(plan, Part([Column("x", "integer", numbers)], units=units))
    assert fewest_units(published.partition.labels, units) >= 4
    assert published.cells["x"].values.sum() == numbers.sum()


RULES = [
    ("diversity", 2),
    ("diversity", "entropy:1.8"),
    ("diversity", "recursive:2,2"),
    ("diversity", "share:0.7"),
    ("closeness", 0.3),
    ("closeness", "beta:0.6"),
    ("dominance", "1:60"),
    ("dominance", "p:20"),
    ("spread", 1.0),
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("field", "given"), RULES)
def test_rules_on_a_column_are_held_near_the_constrained_optimum(field, given):
    rng = np.random.default_rng(11)
    ratios = []
    while len(ratios) < 8:
        n = int(rng.integers(7, 10))
        X = rng.normal(size=(n, 2))
        numbers = field in ("dominance", "spread")
        values = np.exp(rng.normal(size=n)) if numbers else (X[:, 0] + rng.normal(size=n) > 0).astype(float)
        column = Column("x", "continuous", values) if numbers else categories("x", "nominal", values, None)
        rule = requirements()[field].of(read_rule(field, "x", given), column)
        start = run_method(get_method("mdav"), X, 2)
        if not rule.holds(np.arange(n)) or not failing(start, [rule]).any():
            continue
        part = hold(start, X, 2, None, [rule])
        assert part.sizes.min() >= 2
        assert not failing(part, [rule]).any()
        ratios.append(part.sse(X) / optimum(X, 2, [rule]))
    assert min(ratios) > 1 - 1e-9
    assert np.mean(ratios) < 1.05


@pytest.mark.no_cover
def test_groups_are_gathered_anew_where_most_are_far_from_the_whole_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    ill = categories("ill", "nominal", (X[:, 0] > 0).astype(int), None)
    rule = requirements()["closeness"].of(read_rule("closeness", "ill", 0.2), ill)
    start = run_method(get_method("mdav"), X, 4)
    part = hold(start, X, 4, None, [rule])
    assert not failing(part, [rule]).any()
    assert len(part) >= 40  # not merged into a few large groups
    wage = Column("wage", "continuous", X[:, 0].copy())
    rule = requirements()["closeness"].of(read_rule("closeness", "wage", 0.15), wage)
    labels = t_first(X, 4, rule.codes, 0.15)
    assert not failing(Partition(labels), [rule]).any()  # as the paper proves
    part = hold(start, X, 4, None, [rule])
    assert not failing(part, [rule]).any()
    assert part.sse(X) <= Partition(labels).sse(X)


@pytest.mark.no_cover
def test_all_requirements_together_with_strata_gaps_units_weights_and_categories():
    import pyarrow as pa

    rng = np.random.default_rng(8)
    n = 240
    a = rng.normal(size=n)
    table = pa.table(
        {
            "a": pa.array(a, mask=rng.random(n) < 0.1),
            "sex": rng.choice(["f", "m"], n),
            "sales": np.exp(rng.normal(size=n)),
            "ill": rng.choice(["flu", "cold", "ulcer"], n),
            "wage": a + rng.normal(size=n),
            "w": rng.choice([1.0, 2.0], n),
            "firm": [f"f{i // 2}" for i in range(n)],
            "region": rng.choice(["n", "s"], n),
        }
    )
    release = shoal.microaggregate(
        *(table, 3),
        columns=["a", "sex", "sales"],
        types={"sex": "nominal"},
        weight="w",
        unit="firm",
        strata="region",
        diversity={"ill": 2},
        closeness={"wage": 0.4},
        dominance={"sales": "1:80"},
        spread={"wage": 0.3},
    )
    release.require(release.table)
    assert release.outcome.smallest_group >= 3
