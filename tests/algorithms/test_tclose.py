"""The three ways to t-closeness of Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, beside plain Python."""

import math

import numpy as np
import pytest

import shoal
from shoal.algorithms.tclose import tclose_k_first, tclose_merge, tclose_t_first
from shoal.errors import InputError
from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method, run_within
from shoal.plan.rules import read_rule
from shoal.requirements.closeness import Closeness
from shoal.stages.hold import hold
from shoal.stages.require import failing

KEYS = ("tclose_merge", "tclose_k_first", "tclose_t_first")


def rule_of(values, t, ordered=True):
    column = Column("x", "continuous", values) if ordered else categories("x", "nominal", values, None)
    return Closeness.of(read_rule("closeness", "x", t), column)


def case(seed, n=60, ordered=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    values = X[:, 0] + rng.normal(size=n)
    return X, values if ordered else np.digitize(values, [-1, 0, 1]).astype(float)


def far_from(X, rows, point):
    return max(rows, key=lambda x: (math.dist(X[x], point), -x))


def mean(X, rows):
    return [math.fsum(X[x][j] for x in rows) / len(rows) for j in range(len(X[0]))]


def plain_merged(X, groups, figure, t):
    groups = [list(group) for group in groups]
    while len(groups) > 1:
        g = max(range(len(groups)), key=lambda g: (figure(groups[g]), -g))
        if figure(groups[g]) <= t + 1e-9:
            break
        centre = mean(X, groups[g])
        others = [h for h in range(len(groups)) if h != g]
        h = min(others, key=lambda h: (math.dist(mean(X, groups[h]), centre), h))
        groups[h] += groups.pop(g) if g > h else []
        if g < h:
            groups[h] += groups[g]
            groups.pop(g)
    return {frozenset(group) for group in groups}


def plain_k_first(X, k, values, figure, t):
    free, groups, seed = list(range(len(X))), [], None
    while len(free) >= 2 * k:
        seed = far_from(X, free, X[seed] if len(groups) % 2 else mean(X, free))
        order = sorted(free, key=lambda x: (math.dist(X[x], X[seed]), x))
        group = order[:k]
        for following in order[k:]:
            if figure(group) <= t + 1e-9:
                break
            group.sort(key=lambda x: values[x])
            swaps = [[following if x == out else x for x in group] for out in group]
            nearest = min(swaps, key=lambda swap: round(figure(swap), 10))
            if figure(nearest) < figure(group) - 1e-12:
                group = nearest
        groups.append(group)
        free = [x for x in free if x not in group]
    return [*groups, free]


def plain_t_first(X, k, values, t):
    n = len(X)
    parts = max(k, math.ceil(n / (2 * (n - 1) * (t + 1e-9) + 1)))
    parts += n % parts // (n // parts)
    odd, ranked, subsets = n % parts, sorted(range(n), key=lambda x: (values[x], x)), []
    for part in range(parts):
        size = n // parts + (odd // 2) * (part == (parts - 1) // 2) + (odd - odd // 2) * (part == parts // 2)
        subsets.append(ranked[:size])
        ranked = ranked[size:]
    groups, count, seed = [], n // parts, None
    for made in range(count):
        free = sorted(x for subset in subsets for x in subset)
        seed = far_from(X, free, X[seed] if made % 2 else mean(X, free))
        group = []
        for subset in subsets:
            group.append(min(subset, key=lambda x: (math.dist(X[x], X[seed]), x)))
            subset.remove(group[-1])
        fullest = max(subsets, key=len)
        if len(fullest) > count - made - 1:
            group.append(min(fullest, key=lambda x: (math.dist(X[x], X[seed]), x)))
            fullest.remove(group[-1])
        groups.append(group)
    return groups


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}


@pytest.mark.parametrize(("n", "k", "t"), [(40, 3, 0.1), (41, 3, 0.15), (53, 4, 0.25), (30, 2, 0.02)])
def test_each_reads_like_the_paper(n, k, t):
    X, values = case(n, n)
    rule = rule_of(values, t)
    records, column = X.tolist(), rule.coded()

    def figure(rows):
        return rule.figure(np.array(rows))

    mdav = run_method(get_method("mdav"), X, k).labels
    starts = [
        [np.flatnonzero(mdav == g).tolist() for g in range(mdav.max() + 1)],
        plain_k_first(records, k, values, figure, t),
        plain_t_first(records, k, values, t),
    ]
    for way, start in zip((tclose_merge, tclose_k_first, tclose_t_first), starts):
        assert as_sets(way(X, k, confidential=column)) == plain_merged(records, start, figure, t)


def test_t_closeness_first_needs_no_merging_where_no_value_is_tied():
    """The paper's proof: of n / parts records that lie a rank apart, one of each part is within t."""
    for n, k, t in ((120, 3, 0.05), (97, 4, 0.1), (64, 2, 0.2)):
        X, values = case(n, n)
        sizes = Partition(tclose_t_first(X, k, confidential=rule_of(values, t).coded())).sizes
        parts = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
        assert sizes.min() >= parts
        assert sizes.max() <= parts + 1 + n % parts // (n // parts)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("t", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("n", [12, 150, 151])
def test_k_and_t_are_held_and_ours_loses_no_more_than_the_best(n, t, ordered):
    X, values = case(n, n, ordered)
    rule = rule_of(values, t, ordered)
    parts = [run_method(get_method(key), X, 3, confidential=rule.coded()) for key in KEYS]
    for part in parts:
        assert part.sizes.min() >= 3
        assert not failing(part, [rule]).any()
    ours = hold(run_method(get_method("auto"), X, 3), X, 3, None, [rule])
    assert ours.sse(X) <= min(part.sse(X) for part in parts) * (1 + 1e-9)


def test_where_ours_ends_higher_it_begins_again_from_theirs():
    """Two far clouds with one level each: auto's groups are merged across, the ranks are dealt at once."""
    X = np.vstack(
        [np.random.default_rng(0).normal(size=(10, 2)), np.random.default_rng(0).normal(size=(10, 2)) + 9]
    )
    rule = rule_of(np.repeat([0.0, 1.0], 10), 0.0, ordered=False)
    theirs = min(run_method(get_method(key), X, 2, confidential=rule.coded()).sse(X) for key in KEYS)
    ours = hold(run_method(get_method("mdav"), X, 2), X, 2, None, [rule], time_limit=0.0)
    assert ours.sse(X) <= theirs * (1 + 1e-9)


def test_within_strata_the_whole_table_is_what_groups_are_compared_with():
    X, values = case(3, 120, ordered=False)
    strata, rule = np.arange(120) % 2, rule_of(values, 0.3, ordered=False)
    for key in KEYS:
        part = run_within(get_method(key), X, 3, strata, confidential=rule.coded())
        assert all(len(set(strata[part.labels == g])) == 1 for g in range(len(part)))
        assert not failing(part, [rule]).any()


def test_without_closeness_they_say_what_to_ask_for():
    table = shoal.datasets.survey(60)
    for asked in ({}, {"closeness": {"sector": "beta:2"}}, {"diversity": {"sector": 2}}):
        with pytest.raises(InputError, match=r"needs a column .* within t: ask for closeness, such as"):
            shoal.microaggregate(table, 3, columns=["turnover", "wages"], method="tclose_merge", **asked)
    with pytest.raises(InputError, match="'tclose_merge' needs a column"):
        shoal.microaggregate(
            table, 3, columns=["turnover", "wages"], method="igd", parameters={"start": "tclose_merge"}
        )
    release = shoal.microaggregate(
        table, 3, columns=["turnover", "wages"], method="tclose_t_first", closeness={"sector": 0.4}
    )
    assert release.used == ("tclose_t_first",)
