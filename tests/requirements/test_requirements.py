"""Every requirement: the kernel answers what the reference answers; the registry finds each by its file."""

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.plan.rules import Rule, read_rule
from shoal.requirements import requirements
from shoal.requirements.contributors import Contributors
from shoal.requirements.units import Units
from shoal.stages.require import failing
from shoal.verify import requirements as verifier

N = 60


def contributors(rng):
    gaps = rng.random(N) < 0.5
    weight = rng.integers(0, 3, N) * rng.choice([1.0, 10.0], N)
    column = Column("x", "continuous", np.where(gaps, 0, rng.integers(0, 3, N)).astype(float), gaps)
    return Contributors.of(
        column,
        int(rng.integers(1, 4)),
        float(rng.choice([0.5, 0.9, 1.0])),
        None if rng.random() < 0.3 else weight,
        None if rng.random() < 0.5 else rng.integers(-5, 5, N) * 10**15,
        bool(rng.random() < 0.5),
    )


RULES = {
    "diversity": (
        3,
        2,
        "entropy:2",
        "entropy:2.5",
        "recursive:1.5,2",
        "recursive:3,3",
        "share:0.5",
        "share:0.4",
    ),
    "closeness": (0.3, 0.5, "beta:1", "beta:2.5", "enhanced_beta:2", "delta:1", "delta:1.5"),
    "dominance": ("1:50", "2:70", "3:80", "p:10", "p:60", "pq:10,50"),
    "spread": (0.5, 2, "rel:0.5", "rel:2"),
}


def watched(rng, rule):
    """A column with few values, ties, gaps and zeros, for any rule; and weights and units, or none."""
    gaps = rng.random(N) < 0.2 if rng.random() < 0.5 else None
    kinds = ["continuous"] if rule.field in ("dominance", "spread") else ["continuous", "nominal", "ordinal"]
    kind = str(rng.choice(kinds))
    values = rng.choice([0.0, 0.0, 1.0, -2.0, 5.0, 70.0], N)
    if kind == "continuous" and rng.random() < 0.5:
        values = rng.normal(size=N).round(1)
    values = values if gaps is None else np.where(gaps, 0, values)
    column = Column("x", kind, values, gaps) if kind == "continuous" else categories("x", kind, values, gaps)
    weight = None if rng.random() < 0.5 else rng.choice([0.0, 1.0, 1.5, 3.0], N)
    return column, weight, None if rng.random() < 0.5 else rng.integers(0, 30, N)


def of_a_column(field):
    def make(rng):
        rule = read_rule(field, "x", RULES[field][rng.integers(len(RULES[field]))])
        column, weight, units = watched(rng, rule)
        more = (weight, units) if field == "dominance" else ()
        requirement = requirements()[field].of(rule, column, *more)
        return requirement, (rule, column, *more)

    return make


#: How to make each requirement of random data of N records.
MAKERS = {
    "units": lambda rng: (Units.of(rng.integers(-4, 4, N), int(rng.integers(1, 6))), None),
    "contributors": lambda rng: (contributors(rng), None),
    **{field: of_a_column(field) for field in RULES},
}


def test_each_requirement_is_registered_and_tested():
    own = {name for name, kind in requirements().items() if kind.__module__.startswith("shoal.")}
    assert own == set(MAKERS)
    for name, kind in requirements().items():
        assert kind.name == name
        assert all((kind.title, kind.needs, kind.__doc__))


@pytest.mark.parametrize("name", MAKERS)
def test_kernel_reference_and_verifier_agree(name):
    rng = np.random.default_rng(7)
    answers, groups = set(), 0
    while groups < 10_000:
        requirement, told = MAKERS[name](rng)
        part = Partition(rng.integers(0, rng.integers(5, 40), N))
        expected = [not requirement.holds(np.flatnonzero(part.labels == g)) for g in range(len(part))]
        groups += len(part)
        assert failing(part, [requirement]).tolist() == expected
        if told is not None:  # the verifier counts the groups of a file, all at a time
            rule, column, *more = told
            figures, fails = verifier.figures_of(rule, column, part.labels, *more)
            assert fails.tolist() == expected
            own = [requirement.figure(np.flatnonzero(part.labels == g)) for g in range(len(part))]
            own = np.array(own) * {"largest": 100, "p": 100, "pq": rule.numbers[-1]}.get(rule.kind, 1)
            np.testing.assert_allclose(figures[own < np.inf], own[own < np.inf], 1e-9, 1e-9)
        for g in rng.choice(len(part), 2):  # and so does what is compiled, as Python
            members = rng.permutation(np.flatnonzero(part.labels == g))
            data = requirement.codes, requirement.values, requirement.parameters
            assert requirement.kernel(members.copy(), len(members), *data) == (not expected[g])
        answers.update(expected)
    assert answers == {True, False}


def test_units_count_distinct_units():
    requirement = Units.of(np.array([7, 7, -2, 7, 9]), 2)
    assert not requirement.holds(np.array([0, 1, 3]))
    assert requirement.holds(np.array([0, 2]))


def rule(values, gaps=None, *rest):
    gaps = None if gaps is None else np.array(gaps, bool)
    return Contributors.of(Column("x", "continuous", np.array(values, float), gaps), *rest)


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (rule([1, 2, 3], [0, 1, 1], 2), False),  # one value: it would be published as it is
        (rule([1, 2, 3], [0, 0, 1], 2), True),
        (rule([1, 2, 3], [1, 1, 1], 2), True),  # no value: a gap tells nothing
        (rule([1, 2, 3], None, 2, 0.9, np.array([1.0, 0, 0])), False),  # one weight: its value is the mean
        (rule([1, 2, 3], None, 2, 0.9, np.array([0.0, 0, 0])), True),  # the plain mean of three
        (rule([1, 2, 3], [0, 1, 1], 2, 0.9, np.array([0.0, 1, 1])), False),  # the plain mean of one
        (rule([1, 2, 3], None, 2, 0.9, np.array([9.0, 0.5, 0.5])), True),
        (rule([1, 2, 3], None, 2, 0.9, np.array([9.1, 0.5, 0.4])), False),
        (rule([1, 2, 3], None, 2, 0.9, None, np.array([4, 4, 4])), False),  # three records of one unit
        (rule([1, 2, 3], None, 2, 0.9, np.array([5.0, 5, 1]), np.array([4, 4, 8])), False),  # 10 of 11
        (rule([0, 0, 3], None, 2, 1.0, None, None, True), False),  # zeros are a pattern, not contributors
        (rule([0, 0, 0], None, 2, 1.0, None, None, True), True),
        (rule([0, 0, 3], None, 2), True),
    ],
)
def test_contributors_by_hand(requirement, holds):
    assert requirement.holds(np.arange(3)) == holds
    assert failing(Partition(np.zeros(3, np.int64)), [requirement]).tolist() == [not holds]


def test_levels_of_a_category_are_no_zeros():
    column = categories("c", "nominal", np.array([0, 0, 1]), None)
    assert Contributors.of(column, 2, zeros=True).holds(np.arange(3))


@pytest.mark.parametrize("field", RULES)
def test_two_groups_that_hold_hold_together(field):
    """So what the whole table does not hold, no partition of it does; delta is the one exception."""
    rng, seen = np.random.default_rng(3), 0
    while seen < 300:
        requirement, (rule, *_) = MAKERS[field](rng)
        rows, cut = rng.permutation(N), rng.integers(2, 12)
        one, other = rows[:cut], rows[cut : cut + rng.integers(2, 12)]
        if rule.kind != "delta" and requirement.holds(one) and requirement.holds(other):
            assert requirement.holds(np.concatenate([one, other]))
            seen += 1


def made(field, given, values, kind="nominal", gaps=None, *more):
    values, gaps = np.array(values), None if gaps is None else np.array(gaps, bool)
    number = kind in ("continuous", "integer")
    column = Column("x", kind, values, gaps) if number else categories("x", kind, values, gaps)
    return requirements()[field].of(read_rule(field, "x", given), column, *more)


@pytest.mark.parametrize(
    ("requirement", "members", "figure"),
    [
        (made("diversity", 3, [0, 1, 1, 2]), [0, 1, 2], 2),
        (made("diversity", 3, [0, 1, 1, 2], "nominal", [0, 0, 0, 1]), [0, 1, 3], 3),  # a gap is a value
        (made("diversity", "entropy:2", [0, 1, 1, 0]), [0, 1, 2, 3], 2),
        (made("diversity", "share:0.6", [0, 1, 1, 0]), [0, 1, 2], 2 / 3),
        (made("diversity", "recursive:3,2", [0, 1, 1, 2, 1]), [0, 1, 2, 3, 4], 3 / 2),
        (made("diversity", "recursive:3,3", [0, 1, 1, 2, 1]), [0, 1, 2, 3, 4], 3),
        # salaries 3k, 4k, 5k of 3k..11k: 0.375; 6k, 8k, 11k: 0.167 (Li, Li, Venkatasubramanian 2007)
        (made("closeness", 0.2, [3, 4, 5, 6, 7, 8, 9, 10, 11], "integer"), [0, 1, 2], 0.375),
        (made("closeness", 0.2, [3, 4, 5, 6, 7, 8, 9, 10, 11], "integer"), [3, 5, 8], 1 / 6),
        (made("closeness", 0.2, [0, 0, 1, 1]), [0, 1], 0.5),
        (made("closeness", "beta:1", [0, 0, 0, 1]), [2, 3], 1),
        (made("closeness", "enhanced_beta:1", [0, 0, 0, 1]), [2, 3], 1),
        (made("closeness", "enhanced_beta:9", [0, 0, 1, 1]), [0, 1], np.inf),  # 2 > 1 + ln 2
        (made("closeness", "delta:1", [0, 0, 1, 1]), [0, 1], np.log(2)),  # the value that it lacks is ignored
        (made("dominance", "1:80", [80.0, 10, 10], "continuous"), [0, 1, 2], 0.8),
        (made("dominance", "2:80", [-80.0, 10, 10], "continuous"), [0, 1, 2], 0.9),
        (made("dominance", "p:10", [100.0, 50, 8], "continuous"), [0, 1, 2], 0.08),
        # 100 with weight 4 and 10 with weight 7: four of 100 and seven of 10, 470 in all
        (made("dominance", "2:80", [100.0, 10], "continuous", None, np.array([4.0, 7])), [0, 1], 200 / 470),
        (
            made("dominance", "1:80", [5.0, 5, 10], "continuous", None, None, np.array([1, 1, 2])),
            [0, 1, 2],
            0.5,
        ),
        (made("spread", 1, [0.0, 10.0, 10.0, 0.0], "continuous"), [0, 1], 2),
        (made("spread", "rel:1", [5.0, 15.0], "continuous"), [0, 1], 1),
        (made("spread", 1, [0.0, 10.0, 10.0, 0.0], "continuous", [0, 0, 1, 0]), [0, 2], 0),
    ],
)
def test_figures_by_hand(requirement, members, figure):
    assert requirement.figure(np.array(members)) == pytest.approx(figure)


@pytest.mark.parametrize(
    ("requirement", "near"),
    [
        (made("diversity", 3, [0, 1, 1, 0]), "diversity 2"),
        (made("diversity", "entropy:3", [0, 1, 1, 1]), "diversity entropy:1.754"),
        (made("diversity", "share:0.5", [0, 1, 1]), "diversity share:0.6667"),
        (made("diversity", "recursive:1,2", [0, 1, 1]), "diversity recursive:2.002,2"),
        (made("diversity", "recursive:1,2", [1, 1, 1]), "leave that out"),
        (made("dominance", "1:50", [80.0, 10, 10], "continuous"), "dominance 1:80"),
        (made("dominance", "p:10", [100.0, 50, 8], "continuous"), "dominance p:8"),
        (made("dominance", "p:10", [100.0, 50], "continuous"), "leave that out"),
        (made("spread", 9, [0.0, 10.0, 10.0, 0.0], "continuous"), "spread 2"),
        (made("spread", "rel:3", [5.0, 15.0], "continuous"), "spread rel:1"),
        (made("spread", 0.1, [5.0, 5.0], "continuous"), "leave that out"),
    ],
)
def test_what_cannot_be_held_tells_the_nearest_that_can(requirement, near):
    whole = np.arange(len(requirement.codes))
    assert not requirement.holds(whole)
    assert requirement.fault(whole).endswith(near)


def test_closeness_of_a_part_of_the_table_tells_the_nearest():
    part = np.array([0, 1, 2])
    assert made("closeness", 0.1, [0, 0, 0, 1]).nearest(part) == "0.25"
    assert made("closeness", "beta:0.1", [0, 0, 0, 1]).nearest(part) == "beta:0.3334"
    assert made("closeness", "enhanced_beta:0.1", [0, 0, 1, 1]).nearest(part[:2]) is None


def test_the_least_distance_of_a_group_is_that_of_trying_all():
    from itertools import combinations

    rng = np.random.default_rng(1)
    for kind in ("nominal", "ordinal"):
        for _ in range(12):
            requirement = made("closeness", 0.0, rng.integers(0, 4, 9), kind)
            tried = [
                max(requirement.figure(np.array(some)), requirement.figure(np.setdiff1d(np.arange(9), some)))
                for size in (2, 3, 4)
                for some in combinations(range(9), size)
            ]
            assert requirement.least(2) == pytest.approx(min(tried))
    assert made("closeness", "beta:1", [0, 1]).least(1) == 0
    met = 0
    for _ in range(12):
        levels = rng.integers(0, 4, 9)
        for rule in ("beta:0.01", "enhanced_beta:0.01", "delta:0.01"):
            requirement = made("closeness", rule, levels)
            tried = [
                requirement.figure(np.array(s)) for size in (2, 3, 4) for s in combinations(range(9), size)
            ]
            assert requirement.least(2) <= min(tried) * (1 + 1e-5) + 1e-9  # never refuses what can be had
            met += rule == "beta:0.01" and requirement.least(2) == pytest.approx(min(tried), rel=1e-5)
    assert met >= 6
    assert made("closeness", "enhanced_beta:0.01", [0, 1]).least(1) == np.inf


def test_rules_as_plans_write_them():
    assert read_rule("dominance", "a", "1:80") == Rule("dominance", "a", "largest", (1, 80))
    assert read_rule("diversity", "a", "recursive:3,2").numbers == (3, 2)
    assert read_rule("closeness", "a", "0.2") == read_rule("closeness", "a", 0.2)
    for field, wrong in (
        *(("diversity", w) for w in (0, 2.5, "entropy:0", "share:1.2", "recursive:3", "many", True, None)),
        *(("closeness", w) for w in (-0.1, 1.1, "beta:0", "gamma:1")),
        *(("dominance", w) for w in ("1:101", 1, "0:50", "pq:10")),
        *(("spread", w) for w in (0, "rel:", "1,2")),
    ):
        with pytest.raises(InputError, match=f"{field} of column 'a' is"):
            read_rule(field, "a", wrong)
