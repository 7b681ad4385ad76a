"""What is at risk: what an intruder can still learn about single records from the released table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints, numbers_to
from shoal.frame.large import PIECE
from shoal.measures.columns import Column
from shoal.measures.groups import Groups, numbered, real_cells, same
from shoal.measures.linkage import linkage
from shoal.measures.measure import Measure, Measures, by_column, measure
from shoal.measures.pair import Names, Pair, names_of, pair, value_codes
from shoal.measures.uniqueness import FEW, lone

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
    measures = [_achieved(both), _unique(both)]
    if both.matched:
        measures += [*linkage(both, sample, seed, notes), *_intervals(both.columns, interval)]
    return Measures(measures, len(both.released), notes)


def with_groups(
    measures: Measures,
    both: Pair,
    confidential: Names | None = None,
    interval: float = 0.05,
    dominance: tuple[float, float] = DOMINANCE,
) -> Measures:
    """The measures, with what membership of a group gives away, where the records of a group are known."""
    if not both.matched:
        return measures
    both = both.scaled()
    together, each = both.groups
    hidden = [] if confidential is None else names_of(confidential)
    watched: dict[Any, dict[str, float]] = {}
    ruled, real = dict[Any, dict[str, float]](), dict[Any, float]()
    fixed, dominated = np.zeros((2, len(both.original)), bool)
    for j in range(len(each) + len(hidden)):
        published = j < len(each)
        c = both.columns[j] if published else both.read(hidden[j - len(each)]).scaled()
        labels = each[j] if published else together
        groups = Groups(labels, c.before)
        if not (published and hidden):
            inside, watched[c.name] = _watched(c, labels, groups, interval)
            fixed |= inside
        if c.numeric and c.there.any():
            inside, ruled[c.name] = _dominated(c, labels, groups, dominance)
            dominated |= inside
        if c.numeric and published:
            real[c.name] = real_cells(c.before, c.after, labels)
        del c, groups  # before the next is read

    def of(key: str) -> dict[Any, float]:
        return {name: facts[key] for name, facts in watched.items() if key in facts}

    more = [
        measure("fixed", fixed.mean(), of("fixed"), {}, reach=_percent(interval)),
        measure("l_diversity", min(of("fewest").values()), of("fewest"), {}),
        measure("t_closeness", max(of("farthest").values()), of("farthest"), {"mean": of("mean")}),
    ]
    if near := of("near"):
        more.append(measure("proximity", np.mean(list(near.values())), near, {}, reach=_percent(interval)))
    if ruled:
        one, two = dominance
        shares = {name: facts.pop("share") for name, facts in ruled.items()}
        detail = {"rule": {"largest_one": one, "largest_two": two}, "columns": ruled}
        words = {"one": _percent(one), "two": _percent(two)}
        more.append(measure("dominance", dominated.mean(), shares, detail, **words))
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
        "expected_share_found": len(sizes) / len(both.released),
    }
    return measure("k", sizes.min(), columns, detail, records="records" if both.units is None else "units")


def _sizes(labels: Ints, units: Ints | None) -> Ints:
    """How many records, or different units, publish each combination."""
    if units is not None:
        labels = labels[np.unique(same([labels, units]), return_index=True)[1]]
    return np.bincount(labels)


def _unique(both: Pair) -> Measure:
    """Rows that are one of a kind, in protected and kept columns with few values, and in all columns."""
    names, frame = both.columns.names, both.released
    kept = [name for name in frame.names if name not in names and value_codes(frame, name).max() < FEW]
    some, every = (
        lone(value_codes(frame, name) for name in those) for those in ([*names, *kept], frame.names)
    )
    few = [str(name) for name in kept]
    return measure(
        "unique_rows", some, {}, {"on_all_columns": every, "kept": few}, kept=", ".join(few) or "none"
    )


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
    if c.after is c.before:
        return np.ones(len(c.before), bool), np.ones(len(c.before), bool)
    gaps = np.isnan(c.before), np.isnan(c.after)
    whole, silent = ~(gaps[0] | gaps[1]), gaps[0] & gaps[1]  # a gap published as a gap is told
    by_sd = (np.abs(c.before - c.after) <= reach * _spread(c.after[~gaps[1]])) | silent
    placed = c.before[~gaps[0]]
    placed.sort()
    moved = _twice_the_rank(placed, c.before)
    moved -= _twice_the_rank(placed, c.after)
    return by_sd, (np.abs(moved, out=moved) <= 2 * reach * len(placed)) & whole | silent


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _spread(values: NDArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _twice_the_rank(placed: NDArray, values: NDArray) -> Ints:
    """Where values stand among the placed ones, ties in their middle; neighbours are sought one by one."""
    order, ranks = np.argsort(values), np.empty(len(values), numbers_to(2 * len(placed)))
    for begin in range(0, len(order), PIECE):
        some = order[begin : begin + PIECE]
        sought = values[some]
        ranks[some] = np.searchsorted(placed, sought) + np.searchsorted(placed, sought, "right")
    return ranks


def _watched(c: Column, labels: Ints, groups: Groups, reach: float) -> tuple[Bools, dict[str, float]]:
    """What membership of a group alone gives away about a value: for which records, and how much."""
    different, facts = groups.distinct(), {}
    tight = different == 1
    if c.numeric:
        near = reach * _spread(c.before[c.there])
        tight = tight | (groups.ranges() <= near)
        some = _present(c, labels, groups)[1] if c.there.any() else None
        facts["near"] = 0.0 if some is None else float(some.near(near).mean())
    far = groups.distances_ordered() if c.numeric or c.ordered else groups.distances_unordered()
    facts |= {"fewest": float(different.min()), "farthest": float(far.max())}
    inside = tight[labels]
    facts |= {"fixed": float(inside.mean()), "mean": float(far @ groups.sizes / len(labels))}
    return inside, facts


def _present(column: Column, labels: Ints, groups: Groups) -> tuple[Ints, Groups]:
    """The group of each record that has a number, and these groups; `groups` are those of all records."""
    if column.there.all():
        return labels, groups
    codes = numbered(labels[column.there])[0]
    return codes, Groups(codes, column.before[column.there])


def _dominated(
    c: Column, labels: Ints, groups: Groups, rule: tuple[float, float]
) -> tuple[Bools, dict[str, float]]:
    """The statistical offices' rule: does one unit, or do two, make up most of a group's total?"""
    codes, groups = _present(c, labels, groups)
    first, two = groups.shares_of_largest()
    flagged = (first > rule[0]) | (two > rule[1]) & (groups.sizes > 2)
    inside = np.zeros(len(labels), bool)
    inside[c.there] = flagged[codes]
    return inside, {
        "share": float(inside.mean()),
        "groups": int(flagged.sum()),
        "largest_one": float(first.max()),
        "largest_two": float(two.max()),
        "median_largest_one": float(np.median(first)),
    }
