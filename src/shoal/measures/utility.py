"""What was lost: the released table against the original, from single values to models fitted on both."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.frame.large import PIECE
from shoal.measures.columns import Column, Columns
from shoal.measures.groups import joined, same
from shoal.measures.measure import Measure, Measures, by_column, measure
from shoal.measures.models import propensity, regression
from shoal.measures.pair import Names, Pair, coded, names_of, pair

QUANTILES = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95)
BINS = 20  # classes of a marginal distribution, each with the same number of original records
LEVELS = 100  # of a category, as releases count them: rarer ones are one level
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
    types: Mapping[Any, str] | None = None,
    levels: Mapping[Any, Sequence[Any]] | None = None,
    weight: Any = None,
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
    types, levels : mapping, optional
        What columns hold, as in a plan: a code that is nominal is then measured as a category.
    weight : column, optional
        Each record's weight: the loss counts it, and measures that use it stand beside those that do not.

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
    both = pair(original, released, columns, types=types, levels=levels, weight=weight)
    return with_further(utility_of(both, models, sample, seed), both, formula, subgroups)


def utility_of(both: Pair, models: bool = True, sample: int = SAMPLE, seed: int = 0) -> Measures:
    """The measures that need no further question."""
    both = both.scaled()
    numbers, measures = both.numbers, [_loss(both)] if both.matched else []
    lengths, notes = (len(both.original), len(both.released)), list(both.notes)
    records = min(lengths)
    if numbers:
        measures += [_absolute(numbers)] if both.matched else []
        measures += _moments(numbers, lengths)
        if both.weight is not None and both.matched:
            measures += _weighted(numbers, both.weight)
    measures.append(_hellinger(both.columns))
    if len(numbers) < len(both.columns) and both.matched:
        measures.append(_changed([column for column in both.columns if not column.numeric]))
    if models and numbers and records >= 20:
        measures += [propensity(both, kind, sample, seed) for kind in ("logistic", "tree")]
        if records > sample:
            notes.append(f"the models that tell the tables apart saw {sample:,} of {records:,} records")
    return Measures(measures, records, notes)


def with_further(
    measures: Measures, both: Pair, formula: str | None = None, subgroups: Names | None = None
) -> Measures:
    """The measures, with a model and subgroups that somebody asks for."""
    more = []
    if formula is not None:
        more.append(regression(both.original, both.released, formula, both.matched))
    if subgroups is not None and both.numbers:
        by = {n: coded(both.original, n, "original") for n in names_of(subgroups)}
        more.append(_subgroups(both.scaled().numbers, by))
    return Measures([*measures.values(), *more], measures.records, measures.notes)


def deviations(X: Floats) -> Floats:
    """Standard deviations (n-1) of what is there; 1 for a constant column: dividing by it is harmless."""
    return np.array([deviation(values) for values in X.T])


def deviation(values: Floats) -> float:
    """The same of one column."""
    centre, squares, count, low, high = _mean(values), 0.0, 0, np.inf, -np.inf
    for piece in _present(values):
        squares += float(np.square(piece - centre).sum())
        count += len(piece)
        low, high = min(low, piece.min(initial=np.inf)), max(high, piece.max(initial=-np.inf))
    return float(np.sqrt(squares / max(count - 1, 1))) if high > low else 1.0


def _mean(values: Floats, weight: NDArray | None = None) -> float:
    """The mean over what is there; 0 where nothing is."""
    there = (
        (~np.isnan(values)).astype(np.float64) if weight is None else np.where(np.isnan(values), 0, weight)
    )
    total = there.sum()
    if total <= 0:
        return 0.0
    mean = 0.0
    for begin in range(0, len(values), PIECE):
        piece, share = (v[begin : begin + PIECE] for v in (values, there))
        mean += float((share / total * np.where(np.isnan(piece), 0, piece)).sum())
    return mean  # divided first: the sum cannot overflow


def _present(values: Floats) -> Iterator[Floats]:
    """What is there, some of it after the other: what is made of it is small."""
    for begin in range(0, len(values), PIECE):
        piece = values[begin : begin + PIECE]
        yield piece[~np.isnan(piece)]


def _loss(both: Pair) -> Measure:
    """The definition of `Outcome.information_loss`, for each column."""
    weight = np.broadcast_to(1.0, len(both.original)) if both.weight is None else both.weight
    labels = dict(both.labels)
    if labels and both.units is not None:  # what is the same in all records of a unit was grouped over units
        _, first, unit = np.unique(both.units, return_index=True, return_inverse=True)
        alike = (np.array_equal(c.before, c.before[first[unit]], c.numeric) for c in both.columns)
        once = both.columns.only([j for j, same_in_unit in enumerate(alike) if same_in_unit])
        labels |= dict.fromkeys(once.names, same(c.after for c in once)) if len(once) else {}
    squares = {c.name: _squares(c, weight, labels.get(c.name)) for c in both.columns}
    lost, total = (sum(pair[side] for pair in squares.values()) for side in (0, 1))
    means = "the means of their groups" if both.labels else "what is published"
    overall = both.loss if both.loss is not None else 100 * lost / total if total else 0.0
    columns = {name: 100 * sse / sst if sst else 0.0 for name, (sse, sst) in squares.items()}
    return measure("information_loss", overall, columns, {}, means=means)


def _squares(column: Column, weight: NDArray, labels: NDArray | None) -> tuple[float, float]:
    """What a column lost, and its total variation, as sums of squares in standard deviations.

    With `labels` the loss is that of the groups with their exact means, else that of the cells. What is
    published as a gap lies at the column's mean.
    """
    whole = column.there
    there: Any = slice(None) if whole.all() else whole  # so that nothing is copied
    w, x, y = weight[there], column.before[there], column.after[there]
    if not w.any():
        return 0.0, 0.0
    groups, silent = None if labels is None else labels[there], (y != y) | (y == column.gap)
    sums = np.ones(1) if groups is None else np.bincount(groups, w)
    sums = np.where(sums > 0, sums, 1)
    if column.numeric or column.ordered:
        numbers = x.astype(np.float64, copy=False)
        centre, sd = _mean(numbers), deviation(numbers)
        z = (x - centre) / sd
        lost, total, middle = 0.0, 0.0, w @ z / w.sum()
        means = None if groups is None else np.bincount(groups, w * z) / sums
        for begin in range(0, len(z), PIECE):
            some = slice(begin, begin + PIECE)
            if means is None or groups is None:
                placed = np.where(silent[some], 0, (y[some] - centre) / sd)
            else:
                placed = means[groups[some]]
            lost += float(w[some] @ np.square(z[some] - placed))
            total += float(w[some] @ np.square(z[some] - middle))
        return lost, total
    counts = np.bincount(x, minlength=int(max(x.max(), y.max())) + 1)
    axis = np.empty(len(counts), np.int64)
    axis[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), LEVELS - 1)
    x, y = axis[x], axis[y]
    shares, m = np.bincount(x) / len(x), int(x.max()) + 1
    square = float(np.square(shares).sum())
    variance = (1 - square) * len(x) / max(len(x) - 1, 1) if m > 1 else 1.0
    total = w.sum() - np.square(np.bincount(x, w)).sum() / w.sum()
    if groups is None:
        lost = w @ np.where(silent, 1 - 2 * shares[x] + square, 2 * (x != y))
    else:
        which, cells = np.unique(joined(groups, x, m), return_inverse=True)
        lost = w.sum() - (np.square(np.bincount(cells, w)) / sums[which // m]).sum()
    return float(lost) / variance, float(total) / variance


def _absolute(columns: Sequence[Column]) -> Measure:
    il1s, cells = {}, 0
    for column in columns:
        whole = column.complete
        gap = np.abs(whole.before - whole.after) / deviation(column.before)
        il1s[column.name], cells = float(gap.sum() / np.sqrt(2)), cells + len(gap)
    total = sum(il1s.values())
    return measure("il1s", total, il1s, {"mean_per_cell": total / max(cells, 1)})


def _weighted(columns: Columns, weight: NDArray) -> list[Measure]:
    """Estimates for the population: each record counts with its weight."""
    names, facts = columns.names, []
    for column in columns:
        old, new = (np.where(np.isnan(values), 0, values) @ weight for values in column[1:3])
        total = 100 * (new / old - 1) if old != 0 else 0.0
        means = (_mean(values, weight) for values in column[1:3])
        facts.append((deviation(column.before), *means, total))
    sd, centre, means, totals = np.array(facts).T
    R, S = (
        _dependence(
            ((Z - centre) / sd, w)
            for Z, w in zip(
                columns.pieces(len(weight), side), np.split(weight, range(PIECE, len(weight), PIECE))
            )
        )[1]
        for side in (1, 2)
    )
    return [
        by_column("weighted_means", names, (means - centre) / sd),
        by_column("weighted_totals", names, totals),
        *_with_others("weighted_correlations", names, R, S, before=R, after=S),
    ]


def _moments(columns: Columns, lengths: tuple[int, int]) -> list[Measure]:
    """Measures that compare means, spread and dependence of the two tables."""
    names, facts, q = columns.names, [], []
    for column in columns:
        sd, centre = deviation(column.before), _mean(column.before)
        moved = [float((piece - centre).sum()) for piece in _present(column.after)]
        count = int((~np.isnan(column.after)).sum())
        facts.append((sd, centre, sum(moved) / max(count, 1) / sd))
        q.append(np.abs(_quantiles(column.before) - _quantiles(column.after)) / sd)
    sd, centre, means = np.array(facts).T
    (before, R), (after, S) = (
        _dependence(((Z - centre) / sd, None) for Z in columns.pieces(records, side))
        for side, records in enumerate(lengths, 1)
    )
    spread = np.diag(before)
    ratio = np.where(spread > 0, np.diag(after) / np.where(spread > 0, spread, 1), 1.0)
    values = np.linalg.eigvalsh(before)[::-1], np.linalg.eigvalsh(after)[::-1]
    positive = values[0] > 1e-12 * max(values[0].max(initial=0.0), 1e-300)
    eigen = np.abs(values[1] - values[0])[positive] / values[0][positive]
    spectra = {"before": values[0], "after": values[1]}
    return [
        by_column("means", names, means),
        by_column("variances", names, 100 * (ratio - 1)),
        by_column("quantiles", names, np.mean(q, axis=1), quantiles=QUANTILES, moves=dict(zip(names, q))),
        *_with_others("covariances", names, before, after),
        *_with_others("correlations", names, R, S, before=R, after=S),
        measure("eigenvalues", eigen.mean() if len(eigen) else 0.0, {}, spectra),
    ]


def _with_others(key: str, names: Sequence[Any], R: NDArray, S: NDArray, **detail: Any) -> list[Measure]:
    """How far the figures of each column with the others moved, on average; nothing of a single column."""
    moved, d = np.abs(S - R), len(names)
    means = moved.sum(axis=1, where=~np.eye(d, dtype=bool)) / max(d - 1, 1)
    if detail:
        detail["names"] = [str(name) for name in names]
    return [by_column(key, names, means, **detail)] if d > 1 else []


def _quantiles(values: Floats) -> Floats:
    there = values[~np.isnan(values)]
    return np.quantile(there if len(there) else np.zeros(1), QUANTILES, overwrite_input=True)


def _dependence(pieces: Iterable[tuple[NDArray, NDArray | None]]) -> tuple[NDArray, NDArray]:
    """Covariances and correlations of columns near 0, each over the records that have both values.

    Rows come in pieces, with their weights. Covariances divide by n-1, or by the sum of weights. The
    correlation of a constant column is 0.
    """
    total: Any = 0
    for Z, weight in pieces:
        there = (~np.isnan(Z)).astype(np.float64)
        Z = np.where(there > 0, Z, 0)
        M, W = (there, Z) if weight is None else (there * weight[:, None], Z * weight[:, None])
        # of column i where column j is there: how many, their sum, products and squares
        total = total + np.stack([M.T @ there, W.T @ there, W.T @ Z, (W * Z).T @ there])
    n, sums, products, squares = total
    n = np.where(n > 0, n, 1)
    products = products - sums * sums.T / n
    squares = np.maximum(squares - np.square(sums) / n, 0)
    sd = np.sqrt(squares / n)
    sd = np.where(sd > 1e-12, sd, np.inf)
    R = np.clip(products / n / sd / sd.T, -1, 1)
    np.fill_diagonal(R, 1.0)
    return products / (np.maximum(n - 1, 1) if weight is None else n), R


def _hellinger(columns: Sequence[Column]) -> Measure:
    by_name = {}
    for column in columns:
        old, new = column.before, column.after
        if column.numeric:
            there = old[column.there]
            edges = np.unique(np.quantile(there, np.linspace(0, 1, BINS + 1)[1:-1])) if len(there) else there
            old, new = (np.searchsorted(edges, v, side="right") + np.isnan(v) for v in (old, new))
        size = int(max(old.max(), new.max())) + 1
        p, q = (np.bincount(v, minlength=size) / len(v) for v in (old, new))
        by_name[column.name] = float(np.sqrt(np.square(np.sqrt(p) - np.sqrt(q)).sum() / 2))
    return measure("hellinger", np.mean(list(by_name.values())), by_name, {}, bins=str(BINS))


def _changed(columns: Sequence[Column]) -> Measure:
    changed = [(c.before != c.after)[c.there].sum() / max(c.there.sum(), 1) for c in columns]
    return by_column("changed", [c.name for c in columns], np.array(changed))


def _subgroups(columns: Columns, by: dict[Any, tuple[NDArray, Ints]]) -> Measure:
    """Means within subgroups; each subgroup counts with its records."""
    names = columns.names
    spread = [deviation(column.before) for column in columns]
    total, records, worst = np.zeros(len(names)), 0, []
    for name, (levels, codes) in by.items():
        sizes = np.bincount(codes)
        moves = np.stack([_moved(codes, c.before, c.after) / sd for c, sd in zip(columns, spread)], axis=1)
        total += sizes @ np.abs(moves)
        records += len(codes)
        for g in range(len(levels)):
            j = int(np.abs(moves[g]).argmax())
            worst.append((abs(moves[g, j]), name, levels[g], int(sizes[g]), names[j], moves[g, j]))
    worst.sort(key=lambda item: -item[0])
    keys = ("by", "value", "records", "column", "move")
    largest = [dict(zip(keys, item[1:])) for item in worst[:10]]
    return by_column("subgroups", names, total / records, largest=largest)


def _moved(codes: NDArray, before: NDArray, after: NDArray) -> NDArray:
    """How far each subgroup's mean moved; 0 where there is nothing before or after."""
    there = ~np.isnan(before), ~np.isnan(after)
    low = np.where(there[0], before, 0).mean()
    (n, old), (m, new) = (
        (np.bincount(codes, t), np.bincount(codes, np.where(t, v - low, 0)))
        for t, v in zip(there, (before, after))
    )
    return np.where((n > 0) & (m > 0), new / np.maximum(m, 1) - old / np.maximum(n, 1), 0)
