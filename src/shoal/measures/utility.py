"""What was lost: the released table against the original, from single values to models fitted on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.measures.measure import Measure, Measures
from shoal.measures.models import propensity, regression
from shoal.measures.pair import Column, Names, Pair, column_values, names_of, pair

QUANTILES = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95)
BINS = 20  # classes of a marginal distribution, each with the same number of original records
SAMPLE = 5_000  # records that the propensity models see: fitting them takes longest of all measures


def utility(
    original: Any,
    released: Any,
    columns: Names | None = None,
    *,
    formula: str | None = None,
    subgroups: Names | None = None,
    models: bool = True,
    sample: int = SAMPLE,
    seed: int = 0,
) -> Measures:
    """Measure how much of the original the release still tells.

    Parameters
    ----------
    original, released
        Two tables with the same records in the same order, or their paths.
    columns : list, optional
        What to measure; without it every numeric column that both tables have.
    formula : str, optional
        A linear model to fit on both tables, such as "turnover ~ employees + log(assets)".
    subgroups : list, optional
        Columns of the original by whose values the means are compared.
    models : bool
        False leaves out the propensity measures, which take longest.
    sample : int
        How many records the propensity models see.
    seed : int
        Draws that sample.

    Returns
    -------
    Measures
        Each measure with its value for the table and for each column.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(100)
    >>> release = shoal.microaggregate(table, k=4, columns=["turnover", "wages"], method="mdav")
    >>> lost = shoal.utility(table, release.table, release.columns, models=False)
    >>> abs(lost["information_loss"].overall - release.information_loss) < 0.1
    True
    >>> lost["means"].overall < 0.001
    True
    """
    both = pair(original, released, columns)
    return with_further(utility_of(both, models, sample, seed), both, formula, subgroups)


def utility_of(both: Pair, models: bool = True, sample: int = SAMPLE, seed: int = 0) -> Measures:
    """The measures that need no further question."""
    both = both.scaled()
    names = [column.name for column in both.numbers]
    X, Y = both.matrices()
    measures: list[Measure] = []
    if names:
        measures += _values(names, X, Y)
        measures += _moments(names, X, Y)
    measures.append(_hellinger(both.columns))
    if any(not column.numeric for column in both.columns):
        measures.append(_changed(both.columns))
    if models and names and len(X) >= 20:
        measures += [propensity(names, X, Y, kind, sample, seed) for kind in ("logistic", "tree")]
    return Measures(measures, len(both.rows), both.notes)


def with_further(
    measures: Measures, both: Pair, formula: str | None = None, subgroups: Names | None = None
) -> Measures:
    """The measures, with a model and subgroups that somebody asks for."""
    more = []
    if formula is not None:
        more.append(regression(both.original, both.released, formula))
    if subgroups is not None and both.numbers:
        by = {n: column_values(both.original, n, "original")[both.rows] for n in names_of(subgroups)}
        scaled = both.scaled()
        more.append(_subgroups([column.name for column in both.numbers], *scaled.matrices(), by))
    return Measures([*measures.values(), *more], measures.records, measures.notes)


def deviations(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations (n-1); 1 for a constant column, so that dividing by it is harmless."""
    if len(X) < 2:
        return np.ones(X.shape[1])
    spread = X.std(axis=0, ddof=1)
    return np.where(np.ptp(X, axis=0) > 0, spread, 1.0)


def _by(names: Sequence[Any], values: NDArray) -> dict[Any, float]:
    return {name: float(value) for name, value in zip(names, values)}


def _values(names: Sequence[Any], X: NDArray, Y: NDArray) -> list[Measure]:
    """Measures that compare each value with its own original."""
    sd = deviations(X)
    gap = (X - Y) / sd
    sst = np.square((X - X.mean(axis=0)) / sd).sum(axis=0)
    sse = np.square(gap).sum(axis=0)
    il1s = np.abs(gap).sum(axis=0) / np.sqrt(2)
    return [
        Measure(
            "information_loss",
            "Information lost (IL)",
            "The squared distance between published and original values as a percentage of the total "
            "variation: 0 % is the original, 100 % publishes nothing but the column means.",
            float(100 * sse.sum() / sst.sum()) if sst.sum() else 0.0,
            _by(names, 100 * sse / np.where(sst > 0, sst, 1)),
            "%",
        ),
        Measure(
            "il1s",
            "Absolute change (IL1s)",
            "The sum over all cells of the absolute change, each divided by the column's standard deviation "
            "times the square root of two: it weighs a few large changes less than the squared loss does.",
            float(il1s.sum()),
            _by(names, il1s),
            "",
            {"mean_per_cell": float(il1s.sum() / X.size)},
        ),
    ]


def _moments(names: Sequence[Any], X: NDArray, Y: NDArray) -> list[Measure]:
    """Measures that compare means, spread and dependence of the two tables."""
    sd, d = deviations(X), len(names)
    centre = X.mean(axis=0)
    shift = (Y - centre).mean(axis=0) / sd
    A, B = (X - centre) / sd, (Y - centre) / sd
    before, after = _covariance(A), _covariance(B)
    spread = np.diag(before)
    ratio = np.where(spread > 0, np.diag(after) / np.where(spread > 0, spread, 1), 1.0)
    other = ~np.eye(d, dtype=bool)
    moved = np.abs(after - before)
    R, S = _correlation(before), _correlation(after)
    turned = np.abs(S - R)
    values = np.linalg.eigvalsh(before)[::-1], np.linalg.eigvalsh(after)[::-1]
    positive = values[0] > 1e-12 * max(values[0].max(initial=0.0), 1e-300)
    eigen = np.abs(values[1] - values[0])[positive] / values[0][positive]
    q = np.abs(np.quantile(A, QUANTILES, axis=0) - np.quantile(B, QUANTILES, axis=0))
    measures = [
        Measure(
            "means",
            "Change of means",
            "How far each column's mean moved, in standard deviations of the original: microaggregation "
            "by means keeps it at 0, but for rounding.",
            float(np.abs(shift).mean()),
            _by(names, shift),
            "sd",
        ),
        Measure(
            "variances",
            "Change of variances",
            "How much each column's variance shrank or grew, in percent of the original: averaging within "
            "groups takes spread away, so expect a loss (overall: the mean absolute change).",
            float(100 * np.abs(ratio - 1).mean()),
            _by(names, 100 * (ratio - 1)),
            "%",
        ),
        Measure(
            "quantiles",
            "Change of quantiles",
            "The mean absolute move of the quantiles from 5 % to 95 %, in standard deviations of the "
            "original: it tells whether the shape of a column survived.",
            float(q.mean()),
            _by(names, q.mean(axis=0)),
            "sd",
            {"quantiles": QUANTILES, "moves": dict(zip(names, q.T))},
        ),
    ]
    if d > 1:
        measures += [
            Measure(
                "covariances",
                "Change of covariances",
                "The mean absolute change of the covariances with the other columns, all columns measured in "
                "their original standard deviations: sums and linear estimates depend on them.",
                float(moved[other].mean()),
                _by(names, moved.sum(axis=1, where=other) / (d - 1)),
            ),
            Measure(
                "correlations",
                "Change of correlations",
                "The mean absolute change of the correlations with the other columns: averaging usually "
                "makes relations look a little stronger than they are.",
                float(turned[other].mean()),
                _by(names, turned.sum(axis=1, where=other) / (d - 1)),
                "",
                {"names": [str(name) for name in names], "before": R, "after": S},
            ),
        ]
    measures.append(
        Measure(
            "eigenvalues",
            "Change of eigenvalues",
            "The mean relative change of the eigenvalues of the covariance matrix, columns measured in their "
            "original standard deviations: it tells whether the directions of variation kept their weight.",
            float(eigen.mean()) if len(eigen) else 0.0,
            {},
            "share",
            {"before": values[0], "after": values[1]},
        )
    )
    return measures


def _covariance(Z: NDArray) -> NDArray:
    return np.atleast_2d(np.cov(Z, rowvar=False)) if len(Z) > 1 else np.zeros((Z.shape[1],) * 2)


def _correlation(covariance: NDArray) -> NDArray:
    """Correlations; 0 where a column is constant."""
    sd = np.sqrt(np.diag(covariance))
    sd = np.where(sd > 1e-12, sd, np.inf)
    R = np.clip(covariance / sd[:, None] / sd, -1, 1)
    np.fill_diagonal(R, 1.0)
    return R


def _hellinger(columns: Sequence[Column]) -> Measure:
    by_column = {}
    for column in columns:
        if column.numeric:
            edges = np.unique(np.quantile(column.before, np.linspace(0, 1, BINS + 1)[1:-1]))
            old, new = (np.searchsorted(edges, v, side="right") for v in (column.before, column.after))
        else:
            old, new = column.before, column.after
        size = int(max(old.max(), new.max())) + 1
        p, q = (np.bincount(v, minlength=size) / len(v) for v in (old, new))
        by_column[column.name] = float(np.sqrt(np.square(np.sqrt(p) - np.sqrt(q)).sum() / 2))
    return Measure(
        "hellinger",
        "Hellinger distance of distributions",
        f"How far a column's distribution, cut into at most {BINS} classes of equally many original records, "
        "moved: 0 is the same distribution, 1 shares no class with it.",
        float(np.mean(list(by_column.values()))),
        by_column,
    )


def _changed(columns: Sequence[Column]) -> Measure:
    by_column = {c.name: float((c.before != c.after).mean()) for c in columns if not c.numeric}
    return Measure(
        "changed",
        "Categories changed",
        "The share of records whose category was published as another one.",
        float(np.mean(list(by_column.values()))),
        by_column,
        "share",
    )


def _subgroups(names: Sequence[Any], X: NDArray, Y: NDArray, by: dict[Any, NDArray]) -> Measure:
    """Means within subgroups; each subgroup counts with its records."""
    gap = (Y - X) / deviations(X)
    total, records, worst = np.zeros(len(names)), 0, []
    for name, values in by.items():
        levels, codes = np.unique(values, return_inverse=True)
        sizes = np.bincount(codes)
        moves = np.stack([np.bincount(codes, column) for column in gap.T], axis=1) / sizes[:, None]
        total += sizes @ np.abs(moves)
        records += len(values)
        for g in range(len(levels)):
            j = int(np.abs(moves[g]).argmax())
            worst.append((abs(moves[g, j]), name, levels[g], int(sizes[g]), names[j], moves[g, j]))
    worst.sort(key=lambda item: -item[0])
    keys = ("by", "value", "records", "column", "move")
    return Measure(
        "subgroups",
        "Change of subgroup means",
        "The mean absolute move of the means within subgroups, in standard deviations of the whole column: "
        "groups that cross subgroups pull their means together.",
        float(total.mean() / records),
        _by(names, total / records),
        "sd",
        {"largest": [dict(zip(keys, item[1:])) for item in worst[:10]]},
    )
