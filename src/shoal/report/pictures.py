"""What the report's pictures show, as plain numbers: distributions, a map of records and groups."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.measures.pair import Column, Pair
from shoal.measures.utility import deviations

BINS = 24  # classes of a distribution: as many as a picture of 3.5 inches can show
COLUMNS = 24  # distributions in a report: those of the columns that lost most
RECORDS = 600  # records of the map, in whole groups: more of them hide each other


def distributions(both: Pair, most: int = COLUMNS) -> list[dict[str, Any]]:
    """The distribution of each numeric column, before and after; of many columns those that lost most."""
    every = [distribution(column) for column in both.numbers if len(column.complete.before)]
    chosen = sorted(range(len(every)), key=lambda i: -every[i]["lost"])[:most]
    return [every[i] for i in sorted(chosen)]


def distribution(column: Column) -> dict[str, Any]:
    """The share of records in classes of equal width, before and after.

    Long tails are drawn together (inverse hyperbolic sine of the value over the typical one), so that
    the bulk of a skewed column stays visible.
    """
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
    X, _ = both.scaled().matrices()
    if labels.ndim > 1 or min(X.shape) < 2:
        return None
    Z = (X - X.mean(axis=0)) / deviations(X)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(Z, rowvar=False)))
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes.sum(axis=0) < 0, -1, 1)  # a direction is free: take the one that grows
    points = Z @ axes
    order = np.random.default_rng(0).permutation(int(labels.max()) + 1)
    chosen = np.cumsum(np.bincount(labels)[order]) <= RECORDS
    chosen[0] = True
    shown = np.isin(labels, order[chosen])
    return {
        "points": np.round(points[shown], 4),
        "groups": labels[shown],
        "explained": values[::-1][:2] / max(values.sum(), 1e-300),
        "records": int(shown.sum()),
        "of": len(labels),
    }
