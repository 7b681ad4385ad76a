"""Every requirement: the kernel answers what the reference answers; the registry finds each by its file."""

import numpy as np
import pytest

from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.requirements import requirements
from shoal.requirements.contributors import Contributors
from shoal.requirements.units import Units
from shoal.stages.require import failing

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


#: How to make each requirement of random data of N records.
MAKERS = {
    "units": lambda rng: Units.of(rng.integers(-4, 4, N), int(rng.integers(1, 6))),
    "contributors": contributors,
}


def test_each_requirement_is_registered_and_tested():
    own = {name for name, kind in requirements().items() if kind.__module__.startswith("shoal.")}
    assert own == set(MAKERS)
    for name, kind in requirements().items():
        assert kind.name == name
        assert all((kind.title, kind.needs, kind.__doc__))


@pytest.mark.parametrize("name", MAKERS)
def test_kernel_and_reference_agree(name):
    rng = np.random.default_rng(7)
    answers = set()
    for _ in range(400):
        requirement = MAKERS[name](rng)
        part = Partition(rng.integers(0, rng.integers(5, 40), N))
        expected = [not requirement.holds(np.flatnonzero(part.labels == g)) for g in range(len(part))]
        assert failing(part, [requirement]).tolist() == expected
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
