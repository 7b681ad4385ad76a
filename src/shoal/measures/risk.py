"""What is at risk: what an intruder can still learn about single records from the released table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.measures.groups import Groups, same
from shoal.measures.linkage import linkage
from shoal.measures.measure import Measure, Measures
from shoal.measures.pair import Column, Names, Pair, column_values, names_of, pair

#: Largest one, largest two contributors: the share of a group's total from which they dominate it.
DOMINANCE = (0.8, 0.9)


def risk(
    original: Any,
    released: Any,
    columns: Names | None = None,
    confidential: Names | None = None,
    *,
    per_column: bool = False,
    interval: float = 0.05,
    dominance: tuple[float, float] = DOMINANCE,
    sample: int | None = None,
    seed: int = 0,
) -> Measures:
    """Measure what an intruder can learn who knows true values of `columns`.

    Parameters
    ----------
    original, released
        Two tables with the same records in the same order, or their paths.
    columns : list, optional
        What the intruder knows; without it every numeric column that both tables have.
    confidential : list, optional
        Columns, kept as they are, that must not be learnt through the groups. Without them the protected
        columns themselves are watched.
    per_column : bool
        Whether each column was grouped on its own.
    interval : float
        How near counts as known: this share of a standard deviation, or of all ranks.
    dominance : tuple of float
        The shares of a group's total from which its largest one, or largest two, dominate it.
    sample : int, optional
        How many records try to be linked with all of the release. Without it 10,000, or 2,000 of more
        than 100,000; a confidence interval tells what that costs.
    seed : int
        Draws the sample.

    Returns
    -------
    Measures
        Each measure with its value for the table and for each column.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(100)
    >>> release = shoal.microaggregate(table, k=4, columns=["turnover", "wages"], method="mdav")
    >>> risks = shoal.risk(table, release.table, release.columns)
    >>> risks["linkage"].overall <= 1 / 4
    True
    """
    both = pair(original, released, columns)
    measures = risk_of(both, interval=interval, sample=sample, seed=seed)
    return with_groups(measures, both, confidential, per_column, interval, dominance)


def risk_of(both: Pair, *, interval: float = 0.05, sample: int | None = None, seed: int = 0) -> Measures:
    """What the published values alone give away: k, record linkage, interval disclosure."""
    columns, notes = both.scaled().columns, list(both.notes)
    labels = same([column.after for column in columns])
    measures = [_achieved([column.name for column in columns], [column.after for column in both.whole])]
    measures.append(linkage(columns, labels, sample, seed, notes))
    measures += _intervals(columns, interval)
    return Measures(measures, len(both.rows), notes)


def with_groups(
    measures: Measures,
    both: Pair,
    confidential: Names | None = None,
    per_column: bool = False,
    interval: float = 0.05,
    dominance: tuple[float, float] = DOMINANCE,
) -> Measures:
    """The measures, with what membership of a group gives away."""
    columns, notes = both.scaled().columns, list(measures.notes)
    labels = same([column.after for column in columns])
    published = [(column, same([column.after]) if per_column else labels) for column in columns]
    further = [] if confidential is None else _confidential(both, confidential, notes)
    watched = [(column, labels) for column in further]
    more = [*_watch(watched or published, interval), *_dominance(published + watched, dominance)]
    return Measures([*measures.values(), *more], measures.records, notes)


def _confidential(both: Pair, names: Names, notes: list[str]) -> list[Column]:
    """The confidential columns. Only the original has them; a gap in a text is a value like others."""
    columns = []
    for name in names_of(names):
        values = column_values(both.original, name, "original")[both.rows]
        numeric = values.dtype.kind == "f"
        if numeric and np.isnan(values).any():
            notes.append(f"gaps in {name!r} count as its mean in the measures of confidential values")
            present = values[~np.isnan(values)]
            values = np.where(np.isnan(values), present.mean() if len(present) else 0.0, values)
        if not numeric:
            values = np.unique(values, return_inverse=True)[1]
        columns.append(Column(name, values, values, numeric))
    return columns


def _achieved(names: Sequence[Any], published: Sequence[NDArray]) -> Measure:
    """Counted over all records: a published gap is a value like any other."""
    sizes = np.bincount(same(published))
    counted = np.bincount(sizes)
    return Measure(
        "k",
        "Smallest group (achieved k)",
        "How many records share the rarest published combination of values; for a column, its rarest value "
        "taken alone.",
        float(sizes.min()),
        {name: float(np.bincount(same([values])).min()) for name, values in zip(names, published)},
        "",
        {
            "groups": len(sizes),
            "sizes": {int(s): int(counted[s]) for s in np.flatnonzero(counted)},
            "mean_size": float(sizes.mean()),
            "unique_records": int((sizes == 1).sum()),
            "expected_share_found": len(sizes) / len(published[0]),
        },
    )


def _intervals(columns: Sequence[Column], reach: float) -> list[Measure]:
    """Interval disclosure: is the original within reach of the published value?"""
    by_sd, by_rank = {}, {}
    for c in columns:
        if not c.numeric:
            by_sd[c.name] = by_rank[c.name] = c.before == c.after
            continue
        spread = c.after.std(ddof=1) if len(c.after) > 1 else 0.0
        by_sd[c.name] = np.abs(c.before - c.after) <= reach * spread
        placed = np.sort(c.before)
        ranks = [_twice_the_rank(placed, values) for values in (c.before, c.after)]
        by_rank[c.name] = np.abs(ranks[0] - ranks[1]) <= 2 * reach * len(placed)
    percent = f"{100 * reach:g} %"
    return [
        Measure(
            key,
            title,
            meaning,
            float(np.logical_and.reduce(list(inside.values())).mean()),
            {name: float(values.mean()) for name, values in inside.items()},
            "share",
        )
        for key, title, meaning, inside in (
            (
                "interval_sd",
                "Interval disclosure (standard deviation)",
                f"The share of records whose original values all lie within {percent} of the published "
                "column's standard deviation around the published values; for a column, that value alone.",
                by_sd,
            ),
            (
                "interval_rank",
                "Interval disclosure (rank)",
                "The share of records whose original values all lie within "
                f"{percent} of the ranks around the published values' places; for a column, that value "
                "alone.",
                by_rank,
            ),
        )
    ]


def _twice_the_rank(placed: NDArray, values: NDArray) -> NDArray[np.intp]:
    """Where values stand among the placed ones, ties in their middle; each different value is sought once."""
    different, which = np.unique(values, return_inverse=True)
    return (np.searchsorted(placed, different) + np.searchsorted(placed, different, "right"))[which]


def _watch(watched: Sequence[tuple[Column, NDArray]], reach: float) -> list[Measure]:
    """What membership of a group alone gives away about a value."""
    n = len(watched[0][1])
    fixed, mean, distance, proximity, fewest = {}, {}, {}, {}, {}
    anywhere = np.zeros(n, bool)
    for c, labels in watched:
        groups = Groups(labels, c.before)
        different = groups.distinct()
        fewest[c.name] = float(different.min())
        tight = different == 1
        if c.numeric:
            near = reach * (c.before.std(ddof=1) if n > 1 else 0.0)
            tight = groups.ranges() <= near
            proximity[c.name] = float(groups.near(near).mean())
        anywhere |= tight[labels]
        fixed[c.name] = float(tight[labels].mean())
        far = groups.distances_ordered() if c.numeric else groups.distances_unordered()
        distance[c.name], mean[c.name] = float(far.max()), float(far @ groups.sizes / n)
    percent = f"{100 * reach:g} %"
    measures = [
        Measure(
            "fixed",
            "Values nearly fixed by their group",
            f"The share of records in groups whose values all lie within {percent} of a standard deviation "
            "of each other, or are all the same category: knowing the group is knowing the value (overall: "
            "in any column).",
            float(anywhere.mean()),
            fixed,
            "share",
        ),
        Measure(
            "l_diversity",
            "Fewest different values in a group (l-diversity)",
            "How many different original values the least diverse group holds: 1 means that all its "
            "records agree, and the value is known of each.",
            min(fewest.values()),
            fewest,
        ),
        Measure(
            "t_closeness",
            "Largest distance of a group's distribution (t-closeness)",
            "How far the values of the most peculiar group lie from those of the whole table, from 0 "
            "(alike) to 1 (all at one end): a large distance means that membership tells something.",
            max(distance.values()),
            distance,
            "",
            {"mean": mean},
        ),
    ]
    if proximity:
        measures.append(
            Measure(
                "proximity",
                "Proximity within groups",
                f"The mean share of a record's group with a value within {percent} of a standard deviation "
                "of its own, itself included: how surely the group gives the value away.",
                float(np.mean(list(proximity.values()))),
                proximity,
                "share",
            )
        )
    return measures


def _dominance(columns: Sequence[tuple[Column, NDArray]], rule: tuple[float, float]) -> list[Measure]:
    """The statistical offices' rule: does one unit, or do two, make up most of a group's total?"""
    ruled, shares = {}, {}
    anywhere = np.zeros(len(columns[0][1]), bool)
    for c, labels in columns:
        if not c.numeric:
            continue
        groups = Groups(labels, c.before)
        first, two = groups.shares_of_largest()
        flagged = (first > rule[0]) | (two > rule[1]) & (groups.sizes > 2)
        ruled[c.name] = float(flagged[labels].mean())
        anywhere |= flagged[labels]
        shares[c.name] = {
            "groups": int(flagged.sum()),
            "largest_one": float(first.max()),
            "largest_two": float(two.max()),
            "median_largest_one": float(np.median(first)),
        }
    if not ruled:
        return []
    return [
        Measure(
            "dominance",
            "Groups with a dominating unit",
            "The share of records in groups of whose total the largest value makes up more than "
            f"{100 * rule[0]:g} %, or the largest two more than {100 * rule[1]:g} %: the published mean then "
            "nearly tells the largest value (overall: in any column).",
            float(anywhere.mean()),
            ruled,
            "share",
            {"rule": {"largest_one": rule[0], "largest_two": rule[1]}, "columns": shares},
        )
    ]
