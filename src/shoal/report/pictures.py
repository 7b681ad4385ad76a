"""What pictures show, as plain numbers: report, notebook and page draw these, so that they never disagree."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.measures.columns import Column
from shoal.measures.pair import Pair
from shoal.measures.utility import deviation

BINS = 24  # classes of a distribution: as many as a picture of 3.5 inches can show
COLUMNS = 24  # distributions in a report: those of the columns that lost most
BARS = 16  # classes of group sizes, where single sizes would be too many
NAMES = 30  # columns of a table of correlations: those that changed most
RECORDS = 600  # records of the map, in whole groups: more of them hide each other
#: The change of a correlation that has the full colour; larger ones have it too.
CHANGE_SCALE = 0.5


def distributions(both: Pair, most: int = COLUMNS) -> list[dict[str, Any]]:
    """The distribution of each column, before and after; of many columns those that lost most."""
    every = [distribution(c) for c in both.columns if not c.numeric or len(c.complete.before)]
    chosen = sorted(range(len(every)), key=lambda i: -every[i]["lost"])[:most]
    return [every[i] for i in sorted(chosen)]


def distribution(column: Column) -> dict[str, Any]:
    """The share of records in classes of equal width, before and after.

    Long tails are drawn together (inverse hyperbolic sine of the value over the typical one), so that
    the bulk of a skewed column stays visible. A category has the share of each level instead.
    """
    if not column.numeric:
        return _level_shares(column)
    x, y = (values[~np.isnan(values)] for values in (column.before, column.after))
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    unit = None if column.moment else _unit(x)
    ends = placed(low, unit), placed(high, unit)
    edges = np.linspace(ends[0], ends[1] if high > low else ends[0] + 1, BINS + 1)
    shares = [np.histogram(placed(v, unit), edges)[0] / len(v) for v in (x, y)]
    near = column.complete.scaled()
    sst = np.square(near.before - near.before.mean()).sum()
    return {
        "column": column.name,
        "edges": edges if unit is None else np.clip(np.sinh(edges) * unit, low, high),
        "unit": unit,
        "moment": column.moment,
        "before": shares[0],
        "after": shares[1],
        "lost": float(np.square(near.before - near.after).sum() / sst) if sst else 0.0,
    }


def _level_shares(column: Column) -> dict[str, Any]:
    """Of many levels the most frequent, and the others together; by their order where they have one."""
    names = np.array(column.levels, object)
    before, after = (np.bincount(v, minlength=len(names)) / len(v) for v in (column.before, column.after))
    chosen = np.argsort(-before, kind="stable")[: BINS if len(names) <= BINS else BINS - 1]
    chosen = np.sort(chosen) if column.ordered else chosen
    rest = len(names) - len(chosen)
    shares = [[*v[chosen], 1 - v[chosen].sum()][: len(chosen) + (rest > 0)] for v in (before, after)]
    return {
        "column": column.name,
        "levels": [*names[chosen], f"{rest} others"][: len(chosen) + (rest > 0)],
        "before": shares[0],
        "after": shares[1],
        "lost": float(np.mean(column.before != column.after)),
    }


def placed(values: Any, unit: float | None) -> Any:
    """Where values stand on the axis of a column."""
    return values if unit is None else np.arcsinh(np.asarray(values) / unit)


def _unit(x: NDArray) -> float | None:
    """The typical size of a column with a long tail; None where plain classes show it well."""
    largest = max(abs(x.min()), abs(x.max()))
    if largest > 1e100:
        return None if largest < 1e307 else float(largest) / 1e6  # differences could overflow
    spread = x.std()
    if spread == 0 or abs(float(np.mean(((x - x.mean()) / spread) ** 3))) < 2:
        return None
    typical = float(np.median(np.abs(x)))
    return typical if typical > 0 else float(np.abs(x).mean())


def record_map(both: Pair, labels: Ints) -> dict[str, Any] | None:
    """Some whole groups in the plane of the two first principal components; None for groups per column."""
    both = both.scaled()
    names, n = both.numbers.names, len(both.original)
    if labels.ndim > 1 or min(n, len(names)) < 2:
        return None
    filled = (column.filled()[0] for column in both.numbers)
    centre, spread = np.array([(values.mean(), deviation(values)) for values in filled]).T
    pieces = (np.nan_to_num((X - centre) / spread) for X in both.numbers.pieces(n, 1))  # a gap: at the mean
    values, vectors = np.linalg.eigh(sum(Z.T @ Z for Z in pieces) / (n - 1))
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes.sum(axis=0) < 0, -1, 1)  # a direction is free: take the one that grows
    order = np.random.default_rng(0).permutation(int(labels.max()) + 1)
    chosen = np.cumsum(np.bincount(labels)[order]) <= RECORDS
    chosen[0] = True
    shown = np.flatnonzero(np.isin(labels, order[chosen]))
    points = (both.matrices(shown)[0] - centre) / spread @ axes
    return {
        "points": np.round(points, 4),
        "groups": labels[shown],
        "explained": values[::-1][:2] / max(values.sum(), 1e-300),
        "records": len(shown),
        "of": n,
    }


def map_places(facts: Mapping[str, Any]) -> tuple[NDArray, NDArray, NDArray]:
    """Records of a map, centres of their groups, and which is whose; large values drawn together."""
    points, codes = np.asarray(facts["points"], float), np.unique(facts["groups"], return_inverse=True)[1]
    centres = np.stack([np.bincount(codes, points[:, j]) / np.bincount(codes) for j in (0, 1)], axis=1)
    return np.arcsinh(points), np.arcsinh(centres), codes


def size_classes(sizes: Mapping[Any, int]) -> tuple[list[str], list[int]]:
    """How many groups have how many records: each size, or classes that widen where sizes lie far apart."""
    wide = sorted((int(size), count) for size, count in sizes.items())
    low, high = wide[0][0], wide[-1][0]
    edges = np.arange(low, max(high, low + 4) + 2)
    if len(wide) > NAMES or high - low > 60:
        edges = np.unique(np.geomspace(low, high + 1, BARS).round().astype(int))
    counts = np.histogram([s for s, _ in wide], edges, weights=[c for _, c in wide])[0]
    names = [str(a) if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(edges.tolist())]
    return names, counts.astype(int).tolist()


def correlation_changes(detail: Mapping[str, Any]) -> tuple[list[str], Floats, float]:
    """The change of each correlation, and the change that ends the scale of colours: the same in all reports.

    The public edition tells the change alone, not what it was before and after.
    """
    names = detail["names"]
    if "change" in detail:
        change = np.asarray(detail["change"], float)
    else:
        change = np.asarray(detail["after"], float) - np.asarray(detail["before"], float)
    most = np.sort(np.argsort(-np.abs(change).sum(axis=0), kind="stable")[:NAMES])
    change = change[np.ix_(most, most)]
    return [names[i] for i in most], change, CHANGE_SCALE


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which points no other beats in loss and in risk, by growing loss."""
    lowest, best = float("inf"), []
    for place in sorted(range(len(points)), key=lambda i: points[i]):
        if points[place][1] < lowest:
            lowest = points[place][1]
            best.append(place)
    return best
