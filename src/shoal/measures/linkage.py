"""Record linkage: an intruder holds true values and takes the nearest released record for the right one."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.measures.columns import Column, Columns
from shoal.measures.groups import joined, numbered, same
from shoal.measures.measure import Measure, measure
from shoal.measures.pair import Pair

# An intruder knows some of the columns, and there are many such subsets. These limits bound the work; the
# confidence interval says what the sampling costs.
MANY = 100_000  # records from which on fewer are tried
SAMPLE = 10_000  # records tried: a share is then known to within one percent; a fifth of it beyond MANY
AMONG = 1_000_000  # records of a larger table among whose published values the right one is sought
SUBSETS = 12  # subsets tried for each number of columns; a third of it beyond MANY
BETWEEN = 2_000  # records that try more than one and less than all columns
CATEGORIES = 60  # a column with more categories is left out: each becomes a coordinate
NEAREST = 8  # released points searched first for ties; where all are tied, the search goes on
TIE = 1e-9  # relative difference below which two distances are the same: rounding makes it


def linkage(both: Pair, sample: int | None, seed: int, notes: list[str], among: int = AMONG) -> list[Measure]:
    """The share of records correctly linked by an intruder who knows one, two, .. all of the columns.

    He takes only records into account that agree with what he knows of the kept columns. Released records
    at the same least distance share the credit: one of m ties counts 1/m, so the order of rows never
    helps. Where records belong to units, the right unit is what counts.
    """
    rng = np.random.default_rng(seed)
    n = len(both.original)
    if sample is None:
        sample = SAMPLE if n <= MANY else SAMPLE // 5
    rows = drawn(n, sample, rng)
    if len(rows) < n and not both.itself:
        told = f"linkage was tried by {len(rows):,} of {n:,} records, drawn by chance"
        more = f", among what {among:,} of them publish: among all it is not higher" if among < n else ""
        notes.append(told + more)
    names, link = _intruder(both, rows, notes, among)
    d, subsets = len(names), SUBSETS if n <= MANY else SUBSETS // 3
    credits = np.zeros(len(rows))
    levels: list[dict[str, Any]] = []
    single = {}
    for size in range(1, d + 1):
        tried = np.arange(len(rows))
        if len(rows) > BETWEEN and 1 < size < d:
            tried = rng.permutation(tried)[:BETWEEN]
        shares = {}
        for subset in _subsets(d, size, subsets, rng):
            credits = link(subset, tried)
            shares[subset] = float(credits.mean())
        if size == 1:
            single = {names[subset[0]]: share for subset, share in shares.items()}
        best = max(shares, key=lambda subset: shares[subset])
        mean = float(np.mean(list(shares.values())))
        low, high = wilson(mean, len(tried), n)
        which = [str(names[j]) for j in best]
        level = {"known": size, "share": mean, "low": low, "high": high, "highest": shares[best]}
        levels.append({**level, "highest_columns": which, "subsets": len(shares), "records": len(tried)})
    last = levels[-1] if levels else {"share": 0.0, "low": 0.0, "high": 0.0}
    alone, known = last["share"], [str(name) for name in both.known]
    if known and names:
        alone = float(link(tuple(range(d)), np.arange(len(rows)), False).mean())
    besides = f" and of {', '.join(known)}, kept as they are," if known else ""
    detail = {"records": len(rows), "low": last["low"], "high": last["high"], "by_known_columns": levels}
    worst = max(levels, key=lambda level: level["highest"], default=None)
    detail |= {"most_telling": worst, "known": known, "without_known": alone}
    measures = [measure("linkage", last["share"], single, detail, known=besides)]
    if both.weight is not None and both.weight[rows].any():
        share = np.average(credits, weights=both.weight[rows])
        measures.append(measure("linkage_weighted", share, {}, {}))
    return measures


def chances(both: Pair, sample: int | None = None, among: int = AMONG) -> tuple[Ints, Floats]:
    """Some records, or all, and the chance of each to be linked correctly by who knows all columns.

    Sampled records seek their own among what others of a larger table publish: among all it is not higher.
    """
    both, n = both.scaled(), len(both.original)
    rows = drawn(n, sample or n, np.random.default_rng(0))
    names, link = _intruder(both, rows, [], n if sample is None else among)
    return rows, link(tuple(range(len(names))), np.arange(len(rows)))


def drawn(records: int, most: int, rng: np.random.Generator) -> Ints:
    """So many of the records at most, drawn by chance, in their order."""
    return np.sort(rng.choice(records, most, replace=False)) if records > most else np.arange(records)


def _intruder(
    both: Pair, rows: Ints, notes: list[str], among: int
) -> tuple[list[Any], Callable[..., Floats]]:
    """The columns to link by, and how to link by some of them.

    The link takes the places of columns, those of records among `rows`, and whether kept columns are known;
    it gives for each record the chance that it is linked correctly.
    """
    chosen = []
    for place, column in enumerate(both.columns.heads):
        if not column.numeric and len(column.levels) > CATEGORIES:
            notes.append(f"column {column.name!r} has too many categories to be linked by")
        else:
            chosen.append(place)
    linking, kept = both.columns.only(chosen), [same(list(both.known.values()))] if both.known else []
    if both.itself:
        return linking.names, partial(_among_equals, linking, kept, rows, both.units)
    labels = same([both.published, *kept])
    pool, counts = _pool(both, rows, among), np.bincount(labels)
    if len(pool) < len(labels):  # what others publish is left out, so that links are found more often
        shown = np.unique(labels[pool])
        number = np.zeros(len(counts), labels.dtype)
        number[shown] = np.arange(len(shown))
        labels, counts = number[labels], counts[shown]
    first = np.empty(len(counts), np.intp)
    first[labels[pool]] = pool
    published, spaces = [], []
    for column in linking:
        published.append(numbered(column.after[first])[0].astype(np.int32))
        spaces.append(_space(column, first, rows))
    classes = [known[first] for known in kept]

    def link(subset: Sequence[int], tried: Ints, knows: bool = True) -> Floats:
        told = classes if knows else []
        alike = same([*(published[j] for j in subset), *told])
        points = [(spaces[j][0], spaces[j][1][tried]) for j in subset]
        return _linked(alike, rows[tried], points, told, counts=counts, labels=labels, units=both.units)

    return linking.names, link


def _pool(both: Pair, rows: Ints, among: int) -> Ints:
    """The records among whose published values the right one is sought: all, or some by chance.

    The tried ones are among them, with all records of their units.
    """
    n = len(both.original)
    if n <= among:
        return np.arange(n)
    drawn = np.random.default_rng(len(rows)).choice(n, among, replace=False)
    members = rows if both.units is None else np.flatnonzero(np.isin(both.units, both.units[rows]))
    return np.union1d(drawn, members)


def _among_equals(
    columns: Columns,
    kept: Sequence[Ints],
    rows: Ints,
    units: Ints | None,
    subset: Sequence[int],
    tried: Ints,
    knows: bool = True,
) -> Floats:
    """The chance of a link in the original itself: the nearest records are those with the same values."""
    labels = same(chain((columns[j].before for j in subset), kept if knows else ()))
    total = np.bincount(labels)[labels[rows[tried]]]
    if units is None:
        return 1 / total
    owned = same([labels, units])
    return np.bincount(owned)[owned[rows[tried]]] / total


def _space(column: Column, first: NDArray, rows: NDArray) -> tuple[NDArray, NDArray]:
    """A column as coordinates, published ones and the sampled true ones, in released standard deviations.

    Two different categories lie one standard deviation apart. A gap lies at the mean, one to the side.
    """
    if not column.numeric:
        size = int(max(column.before.max(), column.after.max())) + 1
        corners = np.eye(size) / np.sqrt(2)
        return corners[column.after[first]], corners[column.before[rows]]
    there = column.after[~np.isnan(column.after)]
    centre = there.mean() if len(there) else 0.0
    spread = there.std(ddof=1) if len(there) > 1 else 0.0
    scale = spread if spread > 0 else max(np.nanmax(np.abs(column.before - centre), initial=0), 1.0)
    places = [(values - centre) / scale for values in (column.after[first], column.before[rows])]
    flags = [np.isnan(place) for place in places]
    sides = [[flag] if any(map(np.any, flags)) else [] for flag in flags]
    published, true = (np.stack([np.nan_to_num(place), *side], 1) for place, side in zip(places, sides))
    return published, true


def _subsets(d: int, size: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Every subset of that size, or some drawn at random where there are more; all of the single ones."""
    if size == 1 or comb(d, size) <= most:
        return list(combinations(range(d), size))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(d, size, replace=False).tolist())))
    return sorted(drawn)


def _linked(
    alike: NDArray,
    rows: NDArray,
    spaces: Sequence[tuple[NDArray, NDArray]],
    classes: Sequence[NDArray],
    *,
    counts: NDArray,
    labels: NDArray,
    units: NDArray | None,
) -> Floats:
    """For each sampled record, one of `rows`, the chance that it is linked correctly.

    `labels` numbers what each record publishes, `counts` says how many publish it, and `alike` numbers it
    anew by what the intruder sees of it. Combinations of different `classes` lie too far apart to be taken
    for each other.
    """
    from scipy.spatial import cKDTree

    sizes, target = np.bincount(alike, counts), alike[labels[rows]]
    wanted, at, far = np.hstack([true for _, true in spaces]), 0, 0.0
    points = np.empty((len(sizes), wanted.shape[1] + len(classes)))
    for coordinates, true in spaces:
        points[alike, at : at + coordinates.shape[1]] = coordinates
        at += coordinates.shape[1]
        far = max(far, *(max(side.max(), -side.min()) for side in (coordinates, true)))
    if classes:
        points[alike, -1] = 4 * np.sqrt(points.shape[1]) * (1 + far) * classes[0]
        wanted = np.column_stack((wanted, points[target, -1]))
    tree = cKDTree(points, compact_nodes=False, balanced_tree=False)  # few ask: it is built sooner
    near = min(NEAREST, len(points))
    distance, which = (a.reshape(len(rows), near) for a in tree.query(wanted, k=near, workers=2))
    reach = distance[:, 0] * (1 + TIE) + 1e-12
    tied = distance <= reach[:, None]
    whose = rows if units is None else units[rows]
    members = rows if units is None else np.flatnonzero(np.isin(units, whose))
    owners, base = members if units is None else units[members], int(whose.max()) + 1
    theirs, times = np.unique(joined(alike[labels[members]], owners, base), return_counts=True)

    def own(i: Any, found: NDArray) -> NDArray:
        """How many records of record i's unit publish what was found."""
        asked = found * base + whose[i]
        place = np.minimum(np.searchsorted(theirs, asked), len(theirs) - 1)
        return np.where(theirs[place] == asked, times[place], 0)

    hits = np.where(tied, own(np.arange(len(rows))[:, None], which), 0).sum(axis=1)
    total = np.where(tied, sizes[which], 0).sum(axis=1)
    more = np.flatnonzero(tied[:, -1]) if near < len(points) else ()
    for i, found in zip(
        more, tree.query_ball_point(wanted[more], reach[more], workers=2) if len(more) else ()
    ):
        hits[i], total[i] = own(i, np.array(found)).sum(), sizes[found].sum()
    return hits / total


def wilson(share: float, drawn: int, records: int) -> tuple[float, float]:
    """A 95 % confidence interval for a share found in a sample; the share itself where all were tried.

    Fractional credits vary less than yes and no, so the interval is on the safe side.
    """
    if drawn >= records:
        return share, share
    z = 1.96
    middle = (share + z * z / (2 * drawn)) / (1 + z * z / drawn)
    half = z * np.sqrt(share * (1 - share) / drawn + z * z / (4 * drawn * drawn)) / (1 + z * z / drawn)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
