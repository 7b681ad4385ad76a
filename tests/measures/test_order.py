"""What the order of rows gives away, against a search by hand and against chance."""

from itertools import permutations

import numpy as np
import pytest

import shoal
from shoal.measures.order import order_attack


def by_hand(values, labels, upwards):
    """The mean credit over every way to rank equal values, one group after another."""
    found = 0.0
    for group in np.unique(labels):
        members = np.flatnonzero(labels == group)
        key = [np.inf if np.isnan(v) else v for v in values[members]]
        ranked = sorted(key, reverse=not upwards)
        fits = [p for p in permutations(range(len(members))) if [key[i] for i in p] == ranked]
        found += np.mean([sum(seat == i for seat, i in enumerate(p)) for p in fits])
    return found / len(labels)


@pytest.mark.parametrize("seed", range(4))
def test_the_share_is_what_ranking_by_hand_finds(seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(6, size=120)).astype(float)
    values[rng.integers(120, size=9)] = np.nan
    labels = rng.permutation(np.arange(120) % 30)
    attack = order_attack({"wage": values}, labels, alpha=10.0)
    assert attack.share == pytest.approx(max(by_hand(values, labels, up) for up in (True, False)))
    assert attack.chance == pytest.approx(30 / 120)


def test_a_sorted_file_gives_everybody_away_upwards_and_downwards():
    values, labels = np.arange(90.0), np.arange(90) // 3
    for column in (values, -values):
        attack = order_attack({"noise": np.random.default_rng(0).normal(size=90), "wage": column}, labels)
        assert attack == ("wage", 1.0, pytest.approx(1 / 3))


def test_a_sorted_table_grouped_and_shuffled():
    table = shoal.datasets.survey(600)
    wages = np.sort(np.asarray(table["wages"], float) + np.linspace(0, 0.5, 600))
    labels = shoal.microaggregate(wages[:, None], k=5, method="mdav").labels
    assert order_attack({"wages": wages}, labels).share > 0.9
    mixed = np.random.default_rng(1).permutation(600)
    assert order_attack({"wages": wages[mixed]}, labels[mixed]) is None


def test_each_set_of_groups_is_tried_where_columns_have_their_own():
    rng = np.random.default_rng(3)
    columns = {"a": np.arange(80.0), "b": rng.normal(size=80)}
    labels = np.stack((rng.permutation(80) // 4, rng.permutation(80) // 5), axis=1)
    assert order_attack(columns, labels) == ("a", 1.0, 0.25)


def test_chance_alone_is_not_taken_for_an_attack():
    rng = np.random.default_rng(7)
    for groups in (2, 5, 40):
        labels = np.arange(3 * groups) % groups
        for _ in range(50):
            columns = {j: rng.normal(size=3 * groups) for j in range(5)}
            assert order_attack(columns, labels) is None


def test_groups_of_one_say_nothing_about_the_order():
    assert order_attack({"wage": np.arange(50.0)}, np.arange(50)) is None
    assert order_attack({"wage": np.zeros(50)}, np.arange(50) // 5) is None
