"""Groups that are gathered anew where too many fail: how many records each takes, and from where."""

import numpy as np

from shoal.frame.column import categories
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from shoal.plan.rules import read_rule
from shoal.requirements import requirements
from shoal.stages.gather import alike, parts_of, region, tend_to_hold
from shoal.stages.hold import hold
from shoal.stages.require import failing


def closeness(codes, t):
    column = categories("ill", "nominal", np.asarray(codes), None)
    return requirements()["closeness"].of(read_rule("closeness", "ill", t), column)


def test_groups_take_as_many_records_as_their_shares_need():
    ill = (
        np.arange(400) % 4 == 0
    )  # a quarter: of six records one or two, within 0.1 of it; of five two are not
    rule, rows = closeness(ill.astype(int), 0.1), np.arange(400)
    assert not tend_to_hold(rule, rule.ranks(), rows, 5)
    assert tend_to_hold(rule, rule.ranks(), rows, 6)
    assert parts_of(rule, rule.ranks(), rows, 5) == 6
    assert parts_of(rule, rule.ranks(), rows, 4) == 4  # exactly one each
    assert parts_of(rule, rule.ranks(), rows, 300) == 300


def test_the_search_is_spared_where_near_records_would_mostly_fail():
    """Groups of records alike come instead; else, and in small tables, those of the method."""
    x, mixed = np.arange(2400.0)[:, None], np.arange(2400) % 4
    apart = np.arange(2400) // 600
    start = alike(x, 4, [closeness(mixed, 0.1), closeness(apart, 0.1)])
    assert start is not None
    assert start.sizes.min() == 4
    assert all(len(np.unique(apart[start.labels == g])) == 1 for g in range(len(start)))
    assert alike(x, 4, [closeness(mixed, 0.1)]) is None
    assert alike(x[:400], 4, [closeness(apart[:400], 0.1)]) is None


def test_shares_that_no_part_has_end_at_half_of_the_records():
    ill = np.arange(101) % 2
    assert parts_of(closeness(ill, 1e-4), ill, np.arange(101), 2) >= 50


def test_a_region_has_the_groups_nearest_to_those_that_fail_and_no_more_than_it_needs():
    x = np.arange(1200.0)[:, None]
    ill = (np.arange(1200) % 4 == 0).astype(int)
    ill[:40] = 1  # all of ten groups, at one end
    part, rule = Partition(np.arange(1200) // 4), closeness(ill, 0.3)
    fails = failing(part, [rule])
    assert np.flatnonzero(fails).tolist() == list(range(10))
    rows = region(rule, rule.ranks(), np.arange(1200), part, fails, part.means(x), 5)
    assert np.array_equal(rows, np.arange(len(rows)))
    assert 40 < len(rows) < 300
    assert tend_to_hold(rule, rule.ranks(), rows, 5)
    everywhere = np.ones(len(part), bool)
    assert len(region(rule, rule.ranks(), np.arange(1200), part, everywhere, part.means(x), 5)) == 1200


def test_groups_that_fail_in_one_place_are_not_merged_into_a_large_one():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2400, 2))
    ill = (rng.random(2400) < np.where(X[:, 0] > 1.0, 0.9, 0.1)).astype(int)
    rule = closeness(ill, 0.4)
    start = run_method(get_method("mdav"), X, 4)
    part = hold(start, X, 4, None, [rule])
    assert 0 < failing(start, [rule]).sum() < len(start) / 4
    assert not failing(part, [rule]).any()
    assert part.sizes.min() >= 4
    assert part.sizes.max() < 60
