"""Record linkage: an intruder holds true values and takes the nearest released record for the right one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.measures.groups import same
from shoal.measures.measure import Measure
from shoal.measures.pair import Column

# An intruder knows some of the columns, and there are many such subsets. These limits bound the work; the
# confidence interval says what the sampling costs.
MANY = 100_000  # records from which on fewer are tried
SAMPLE = 10_000  # records tried: a share is then known to within one percent; a fifth of it beyond MANY
SUBSETS = 12  # subsets tried for each number of columns; a third of it beyond MANY
BETWEEN = 2_000  # records that try more than one and less than all columns
CATEGORIES = 60  # a column with more categories is left out: each becomes a coordinate
NEAREST = 8  # released points searched first for ties; where all are tied, the search goes on
TIE = 1e-9  # relative difference below which two distances are the same: rounding makes it


def linkage(
    columns: Sequence[Column], labels: NDArray[np.int64], sample: int | None, seed: int, notes: list[str]
) -> Measure:
    """The share of records correctly linked by an intruder who knows one, two, .. all of the columns.

    Released records at the same least distance share the credit: one of m ties counts 1/m, so a group of
    k records never gives more than 1/k, and the order of rows never helps. `labels` tells which records
    are published alike, so that each published combination is looked at once.
    """
    rng = np.random.default_rng(seed)
    n = len(columns[0].before)
    if sample is None:
        sample = SAMPLE if n <= MANY else SAMPLE // 5
    rows = np.sort(rng.choice(n, sample, replace=False)) if n > sample else np.arange(n)
    linking = []
    for column in columns:
        if not column.numeric and int(column.before.max()) >= CATEGORIES:
            notes.append(f"column {column.name!r} has too many categories to be linked by")
        else:
            linking.append(column)
    first = np.empty(int(labels.max()) + 1, np.intp)
    first[labels] = np.arange(n)
    published = [column.after[first] for column in linking]
    spaces = [_space(column, first, rows) for column in linking]
    counts, combination = np.bincount(labels), labels[rows]
    d, subsets = len(linking), SUBSETS if n <= MANY else SUBSETS // 3
    levels: list[dict[str, Any]] = []
    single, worst = {}, None
    for size in range(1, d + 1):
        tried = np.arange(len(rows))
        if len(rows) > BETWEEN and 1 < size < d:
            tried = rng.permutation(tried)[:BETWEEN]
        shares = {}
        for subset in _subsets(d, size, subsets, rng):
            alike = same([published[j] for j in subset])
            points = [(spaces[j][0], spaces[j][1][tried]) for j in subset]
            shares[subset] = float(_linked(alike, counts, combination[tried], points).mean())
        if size == 1:
            single = {linking[subset[0]].name: share for subset, share in shares.items()}
        best = max(shares, key=lambda subset: shares[subset])
        mean = float(np.mean(list(shares.values())))
        low, high = wilson(mean, len(tried), n)
        levels.append(
            {
                "known": size,
                "share": mean,
                "low": low,
                "high": high,
                "highest": shares[best],
                "highest_columns": [str(linking[j].name) for j in best],
                "subsets": len(shares),
                "records": len(tried),
            }
        )
        if worst is None or shares[best] > worst["highest"]:
            worst = levels[-1]
    overall = levels[-1]["share"] if levels else 0.0
    return Measure(
        "linkage",
        "Records correctly linked",
        "The share of records that an intruder finds who knows the true values of all the columns and takes "
        "the nearest released record, ties counted at their chance; for a column, knowing only it.",
        overall,
        single,
        "share",
        {
            "records": len(rows),
            "low": levels[-1]["low"] if levels else 0.0,
            "high": levels[-1]["high"] if levels else 0.0,
            "by_known_columns": levels,
            "most_telling": worst,
        },
    )


def _space(column: Column, first: NDArray, rows: NDArray) -> tuple[NDArray, NDArray]:
    """A column as coordinates, published ones and the sampled true ones, in released standard deviations.

    Two different categories lie one standard deviation apart.
    """
    if not column.numeric:
        size = int(max(column.before.max(), column.after.max())) + 1
        corners = np.eye(size) / np.sqrt(2)
        return corners[column.after[first]], corners[column.before[rows]]
    centre = column.after.mean()
    spread = column.after.std(ddof=1) if len(column.after) > 1 else 0.0
    scale = spread if spread > 0 else max(np.abs(column.before - centre).max(), 1.0)
    published, true = column.after[first], column.before[rows]
    return ((published - centre) / scale)[:, None], ((true - centre) / scale)[:, None]


def _subsets(d: int, size: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Every subset of that size, or some drawn at random where there are more; all of the single ones."""
    if size == 1 or comb(d, size) <= most:
        return list(combinations(range(d), size))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(d, size, replace=False).tolist())))
    return sorted(drawn)


def _linked(
    alike: NDArray, counts: NDArray, combination: NDArray, spaces: Sequence[tuple[NDArray, NDArray]]
) -> NDArray[np.float64]:
    """For each sampled record the chance that it is linked correctly.

    `alike` numbers the published combinations by what the intruder sees of them, `counts` says how many
    records publish each, and `combination` which one each sampled record published.
    """
    from scipy.spatial import cKDTree

    sizes = np.bincount(alike, counts)
    points = np.empty((len(sizes), sum(space[0].shape[1] for space in spaces)))
    points[alike] = np.hstack([published for published, _ in spaces])
    wanted = np.hstack([true for _, true in spaces])
    tree = cKDTree(points)
    near = min(NEAREST, len(points))
    distance, which = (a.reshape(len(combination), near) for a in tree.query(wanted, k=near, workers=2))
    reach = distance[:, 0] * (1 + TIE) + 1e-12
    target = alike[combination]
    right = np.sqrt(np.square(wanted - points[target]).sum(axis=1)) <= reach
    tied = np.where(distance <= reach[:, None], sizes[which], 0).sum(axis=1)
    if near < len(points):
        for i in np.flatnonzero(right & (distance[:, -1] <= reach)):
            tied[i] = sizes[tree.query_ball_point(wanted[i], reach[i])].sum()
    return np.where(right, 1 / np.maximum(tied, sizes[target]), 0.0)


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
