"""What is at risk: what an intruder can still learn about single records from the released table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.measures.columns import Column
from shoal.measures.groups import Groups, numbered, real_cells, same
from shoal.measures.linkage import linkage
from shoal.measures.measure import Measure, Measures, by_column, measure
from shoal.measures.pair import Names, Pair, names_of, pair, value_codes
from shoal.measures.uniqueness import FEW, lone, random_bits

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
    types: Mapping[Any, str] | None = None,
    levels: Mapping[Any, Sequence[Any]] | None = None,
    weight: Any = None,
    known: Names | None = None,
    units: Ints | None = None,
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
    types, levels : mapping, optional
        What columns hold, as in a plan: a code that is nominal is then measured as a category.
    weight : column, optional
        Each record's weight; measures that use it stand beside those that do not.
    known : list, optional
        Kept columns that the intruder knows too; without it all with at most 20 different values, but not the
        confidential ones and the weight.
    units : array of int, optional
        A number for each record that says whom it is about: to find the right unit is then enough.

    Returns
    -------
    Measures
        Each measure with its value for the table and for each column.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(100)
    >>> release = shoal.microaggregate(table, k=4, columns=["turnover", "wages"], method="mdav")
    >>> risks = shoal.risk(table, release.table, release.columns, known=())
    >>> risks["linkage"].overall <= 1 / 4
    True
    """
    hidden = [] if confidential is None else names_of(confidential)
    facts = {"types": types, "levels": levels, "weight": weight, "known": known, "hidden": hidden}
    both = pair(original, released, columns, per_column=per_column, units=units, **facts)
    measures = risk_of(both, interval=interval, sample=sample, seed=seed)
    return with_groups(measures, both, confidential, interval, dominance)


def risk_of(both: Pair, *, interval: float = 0.05, sample: int | None = None, seed: int = 0) -> Measures:
    """What the published values alone give away: k, record linkage, interval disclosure."""
    both, notes = both.scaled(), list(both.notes)
    measures = [_achieved(both), _unique(both), *linkage(both, sample, seed, notes)]
    return Measures([*measures, *_intervals(both.columns, interval)], len(both.original), notes)


def with_groups(
    measures: Measures,
    both: Pair,
    confidential: Names | None = None,
    interval: float = 0.05,
    dominance: tuple[float, float] = DOMINANCE,
) -> Measures:
    """The measures, with what membership of a group gives away."""
    both = both.scaled()
    together, each = both.groups

    def watched() -> Iterator[tuple[Column, Ints]]:
        for name in names_of(() if confidential is None else confidential):
            yield both.read(name).scaled(), together

    def published() -> Iterator[tuple[Column, Ints]]:
        return zip(both.columns, each)

    hidden, n = confidential is not None and len(names_of(confidential)) > 0, len(both.original)
    more = _watch(watched() if hidden else published(), interval, n)
    more += _dominance(chain(published(), watched()), dominance, n)
    real = {c.name: real_cells(c.before, c.after, labels) for c, labels in published() if c.numeric}
    if real:
        more.append(by_column("real_cells", list(real), np.array(list(real.values()))))
    return Measures([*measures.values(), *more], measures.records, measures.notes)


def _achieved(both: Pair) -> Measure:
    """Counted over all records: a published gap is a value like any other."""
    sizes = _sizes(both.published, both.units)
    counted = np.bincount(sizes)
    columns = {c.name: float(_sizes(numbered(c.after)[0], both.units).min()) for c in both.columns}
    detail = {
        "groups": len(sizes),
        "sizes": {int(s): int(counted[s]) for s in np.flatnonzero(counted)},
        "mean_size": float(sizes.mean()),
        "unique_records": int((sizes == 1).sum()),
        "expected_share_found": len(sizes) / len(both.original),
    }
    return measure("k", sizes.min(), columns, detail, records="records" if both.units is None else "units")


def _sizes(labels: Ints, units: Ints | None) -> Ints:
    """How many records, or different units, publish each combination."""
    if units is not None:
        labels = labels[np.unique(same([labels, units]), return_index=True)[1]]
    return np.bincount(labels)


def _unique(both: Pair) -> Measure:
    """Rows that are one of a kind, in protected and kept columns with few values, and in all columns."""
    names, few, rng = both.columns.names, [], np.random.default_rng(0)
    some, every = (np.zeros(len(both.original), np.uint64) for _ in range(2))
    for name in both.released.names:
        codes = value_codes(both.released, name)
        bits = random_bits(codes, rng)
        every += bits
        if name in names or codes.max() < FEW:
            some += bits
            few += [] if name in names else [str(name)]
    detail = {"on_all_columns": lone(every), "kept": few}
    return measure("unique_rows", lone(some), {}, detail, kept=", ".join(few) or "none")


def _intervals(columns: Iterable[Column], reach: float) -> list[Measure]:
    """Interval disclosure: is the original within reach of the published value?"""
    found: list[dict[Any, float]] = [{}, {}]
    everywhere: list[Any] = [True, True]
    for c in columns:
        for place, inside in enumerate(_within(c, reach)):
            found[place][c.name] = float(inside.mean())
            everywhere[place] = everywhere[place] & inside
    return [
        measure(key, inside.mean(), by_name, {}, reach=_percent(reach))
        for key, inside, by_name in zip(("interval_sd", "interval_rank"), everywhere, found)
    ]


def _within(c: Column, reach: float) -> tuple[NDArray, NDArray]:
    """Which records publish a value within reach of their own, in standard deviations and in ranks."""
    if not c.numeric:
        return c.before == c.after, c.before == c.after
    gaps = np.isnan(c.before), np.isnan(c.after)
    whole, silent = ~(gaps[0] | gaps[1]), gaps[0] & gaps[1]  # a gap published as a gap is told
    by_sd = (np.abs(c.before - c.after) <= reach * _spread(c.after[~gaps[1]])) | silent
    placed = np.sort(c.before[~gaps[0]])
    ranks = [_twice_the_rank(placed, values) for values in (c.before, c.after)]
    return by_sd, (np.abs(ranks[0] - ranks[1]) <= 2 * reach * len(placed)) & whole | silent


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _spread(values: NDArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _twice_the_rank(placed: NDArray, values: NDArray) -> NDArray[np.intp]:
    """Where values stand among the placed ones, ties in their middle; each different value is sought once."""
    different, which = np.unique(values, return_inverse=True)
    return (np.searchsorted(placed, different) + np.searchsorted(placed, different, "right"))[which]


def _watch(watched: Iterable[tuple[Column, NDArray]], reach: float, n: int) -> list[Measure]:
    """What membership of a group alone gives away about a value."""
    fixed, mean, distance, proximity, fewest = {}, {}, {}, {}, {}
    anywhere = np.zeros(n, bool)
    for c, labels in watched:
        groups = Groups(labels, c.before)
        different = groups.distinct()
        fewest[c.name] = float(different.min())
        tight = different == 1
        if c.numeric:
            near = reach * _spread(c.before[c.there])
            tight = tight | (groups.ranges() <= near)
            some = groups if c.there.all() else _present(c, labels)[1] if c.there.any() else None
            proximity[c.name] = 0.0 if some is None else float(some.near(near).mean())
            del some
        anywhere |= tight[labels]
        fixed[c.name] = float(tight[labels].mean())
        far = groups.distances_ordered() if c.numeric or c.ordered else groups.distances_unordered()
        distance[c.name], mean[c.name] = float(far.max()), float(far @ groups.sizes / n)
    measures = [
        measure("fixed", anywhere.mean(), fixed, {}, reach=_percent(reach)),
        measure("l_diversity", min(fewest.values()), fewest, {}),
        measure("t_closeness", max(distance.values()), distance, {"mean": mean}),
    ]
    if proximity:
        mean_share = np.mean(list(proximity.values()))
        measures.append(measure("proximity", mean_share, proximity, {}, reach=_percent(reach)))
    return measures


def _present(column: Column, labels: NDArray) -> tuple[NDArray, Groups]:
    """The group of each record that has a number, and these groups."""
    if column.there.all():
        return labels, Groups(labels, column.before)
    codes = np.unique(labels[column.there], return_inverse=True)[1]
    return codes, Groups(codes, column.before[column.there])


def _dominance(columns: Iterable[tuple[Column, NDArray]], rule: tuple[float, float], n: int) -> list[Measure]:
    """The statistical offices' rule: does one unit, or do two, make up most of a group's total?"""
    ruled, shares = {}, {}
    anywhere = np.zeros(n, bool)
    for c, labels in columns:
        if not c.numeric or not c.there.any():
            continue
        codes, groups = _present(c, labels)
        first, two = groups.shares_of_largest()
        flagged = (first > rule[0]) | (two > rule[1]) & (groups.sizes > 2)
        inside = np.zeros(len(labels), bool)
        inside[c.there] = flagged[codes]
        ruled[c.name] = float(inside.mean())
        anywhere |= inside
        shares[c.name] = {
            "groups": int(flagged.sum()),
            "largest_one": float(first.max()),
            "largest_two": float(two.max()),
            "median_largest_one": float(np.median(first)),
        }
    if not ruled:
        return []
    detail = {"rule": {"largest_one": rule[0], "largest_two": rule[1]}, "columns": shares}
    return [
        measure("dominance", anywhere.mean(), ruled, detail, one=_percent(rule[0]), two=_percent(rule[1]))
    ]
