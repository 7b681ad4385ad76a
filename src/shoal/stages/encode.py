"""Columns to the matrix that methods group by.

One Euclidean space serves every type: numbers and ordered categories are one coordinate each, nominal
ones a coordinate for each level. Everything is centred: a gap lies at 0, the column's mean, until it is
filled for grouping (see `fill`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.stages.moments import UNCHANGED, Moments, Scale

if TYPE_CHECKING:
    from shoal.plan import Plan

#: Levels of a nominal column that get a coordinate of their own; rarer ones share the last.
MOST_LEVELS = 100
#: Values of a sample by which the ranks of a block's records are found.
KNOTS = 10_001


class Levels(NamedTuple):
    """How a nominal column became coordinates: two different levels are always equally far apart."""

    axis: Ints  # level -> its coordinate
    shares: Floats  # coordinate -> the share of records that have it
    side: float  # the distance of two different levels is side * sqrt(2)

    def apply(self, codes: NDArray) -> Floats:
        axes = self.axis[codes]
        if len(self.shares) == 2:  # one coordinate tells two levels apart
            return self.side * np.sqrt(2) * ((axes == 1) - self.shares[1])[:, None]
        return self.side * ((axes[:, None] == np.arange(len(self.shares))) - self.shares)


class Ranks(NamedTuple):
    """Ranks, standardised, of some values of a column; others lie on the line between their neighbours."""

    values: Floats
    ranks: Floats

    def apply(self, values: NDArray) -> Floats:
        return np.interp(values.astype(np.float64), self.values, self.ranks)


class Drawn(NamedTuple):
    """A column that is grouped by another scale than its loss is measured by."""

    measured: Scale | Levels
    grouped: Scale | Levels | Ranks


class Space(NamedTuple):
    """The records as points, and how each column got there."""

    matrix: Floats
    scales: list[Scale | Levels | Ranks]
    spans: list[slice]  # column -> its coordinates
    unit: str = "standard"  # or "raw": the only column in the unit it has

    def place(self, j: int, values: NDArray) -> Floats:
        """Where these values of column j lie, one row each."""
        return self.scales[j].apply(values).reshape(len(values), -1)


def standardise(columns: Sequence[NDArray]) -> tuple[Floats, list[Scale]]:
    """Columns with mean 0 and standard deviation 1 (n-1 in the divisor), as a C-ordered matrix.

    Each column is first counted from its own smallest value, so a large offset costs no digits: whole
    numbers shifted by 1e9 give the same matrix bit for bit.
    """
    Z = np.empty((len(columns[0]), len(columns)))
    scales = []
    for j, column in enumerate(columns):
        scale = Moments.of(column).scale()
        Z[:, j] = scale.apply(column)
        scales.append(scale)
    return Z, scales


def encode(
    columns: Sequence[Column],
    scaling: Callable[[Column], str] = lambda column: "standard",
    scales: Sequence[Scale | Levels | Ranks | Drawn] | None = None,
) -> Space:
    """Every column as coordinates whose variance sums to 1, or as `scaling` says.

    `scales` are those of the whole table, where the columns hold only a block of it.
    """
    whole = scales is not None
    if scales is None:
        scales = [
            levels_of(np.bincount(c.present, minlength=1), scaling(c))
            if c.type == "nominal"
            else _number(c, scaling(c))
            for c in columns
        ]
    plain_scales = [scale.measured if isinstance(scale, Drawn) else scale for scale in scales]
    many = [len(scale.shares) if isinstance(scale, Levels) else 1 for scale in plain_scales]
    widths = [1 if width == 2 else width for width in many]  # one coordinate tells two levels apart
    ends = np.cumsum(widths).tolist()
    spans = [slice(end - width, end) for width, end in zip(widths, ends)]
    space = Space(np.empty((len(columns[0].values), ends[-1])), plain_scales, spans)
    for j, column in enumerate(columns):
        ranked = scaling(column) == "rank" and column.type != "nominal" and not whole
        values = _ranks(column) if ranked else column.values
        space.matrix[:, spans[j]] = space.place(j, values)
        if column.gaps is not None:
            space.matrix[column.gaps, spans[j]] = 0.0
    return space


def grouping_matrix(
    plan: Plan, columns: Sequence[Column], space: Space, scales: Sequence[Scale | Levels | Drawn] | None
) -> Floats:
    """What to group by: the standardised space itself, unless another scaling, logs or weights are asked for.

    A weight multiplies the column's share in squared distances. `scales` are those of the whole table.
    """

    def scaling(column: Column) -> str:
        return plan.scaling_of(column.name)

    if not plan.log and not plan.column_weights and all(scaling(column) == "standard" for column in columns):
        return space.matrix
    for column in columns:
        if column.name in plan.log and column.categorical:
            raise InputError(
                f"column {column.name!r} is {column.type} and has no logarithm: leave it out of log"
            )
    drawn = [_logarithm(column) if column.name in plan.log else column for column in columns]
    if scales is not None:
        scales = [scale.grouped if isinstance(scale, Drawn) else scale for scale in scales]  # type: ignore[misc]
    with np.errstate(over="ignore"):  # found below
        other = encode(drawn, scaling, scales)
    for column, span in zip(columns, other.spans):
        if not np.abs(other.matrix[:, span]).max() < 1e150:
            raise InputError(
                f"column {column.name!r} has values whose squares overflow: choose a scaling other than none"
            )
        other.matrix[:, span] *= np.sqrt(plan.column_weights.get(column.name, 1.0))
    return other.matrix


def measurable(columns: Sequence[Column]) -> Space:
    """A space in which to measure the loss where no method asked for a standardised one.

    The loss of one column is a ratio, whatever its unit: its values will do as they are, if doubles hold
    them exactly and their squares stay within range.
    """
    values = columns[0].values
    if len(columns) == 1 and columns[0].gaps is None and not columns[0].categorical:
        limit = 1e100 if values.dtype.kind == "f" else 2**53
        largest = max(-values.min().item(), values.max().item())
        if largest < limit and (largest > 1e-100 or not values.any()):
            return Space(values.astype(np.float64, copy=False)[:, None], [UNCHANGED], [slice(0, 1)], "raw")
    return encode(columns)


def raw_matrix(columns: Sequence[Column]) -> NDArray:
    """The values as they are: int64 if all are whole numbers, else float64. A gap lies at the mean.

    One column is not copied, unless it has 64 bits without sign.
    """
    filled = [column.filled(_middle(column)) for column in columns]
    if len(filled) == 1 and filled[0].dtype == np.uint64:  # counted from 2^63, which costs no digit
        return (filled[0] ^ np.uint64(1 << 63)).view(np.int64)[:, None]
    dtype = np.int64 if all(values.dtype.kind in "iu" for values in filled) else np.float64
    if len(filled) == 1:
        return filled[0].astype(dtype, copy=False)[:, None]
    return np.stack(filled, axis=1).astype(dtype, copy=False)


def _middle(column: Column) -> int | float:
    """Where the gaps of a column lie: at its mean, in its own numbers."""
    if column.gaps is None or not len(column.present):
        return 0
    middle = float(column.present.mean())  # a double may lie beyond the largest whole number
    if column.type != "integer" and column.values.dtype.kind == "f":
        return middle
    return min(round(middle), int(column.present.max()))


def drawn(sample: Column, measured: Scale | Levels, log: bool, scaling: str) -> Scale | Levels | Drawn:
    """How a column is measured and grouped, its grouping scaled by a sample of the table."""
    if (not log and scaling == "standard") or not len(sample.present):
        return measured
    if isinstance(measured, Levels):
        side = float(np.sqrt(0.5)) if scaling in ("range", "none") else measured.side
        return Drawn(measured, measured._replace(side=side))
    column = _logarithm(sample) if log else sample
    if scaling != "rank":
        return Drawn(measured, _number(column, scaling))
    values, often = np.unique(column.present.astype(np.float64), return_counts=True)
    ranks = np.repeat(np.cumsum(often) - (often - 1) / 2, often)
    knots = np.unique(np.linspace(0, len(ranks) - 1, KNOTS).astype(np.int64))
    ranks = Moments.of(ranks).scale().apply(ranks)
    return Drawn(measured, Ranks(np.repeat(values, often)[knots], ranks[knots]))


def _logarithm(column: Column) -> Column:
    """sign(x) log(1 + |x|): long tails drawn in on both sides of zero."""
    wide = column.values.astype(np.float64)
    return column.holding(np.sign(wide) * np.log1p(np.abs(wide)), column.gaps)


def _ranks(column: Column) -> Floats:
    """Each value's rank among those present; equal values share their average rank."""
    ranks = np.zeros(len(column.values))
    _, inverse, counts = np.unique(column.present, return_inverse=True, return_counts=True)
    ranks[column.there] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _number(column: Column, scaling: str) -> Scale:
    if not len(column.present):
        return Scale(0, 0, 0.0, 1.0)
    if scaling == "rank":
        return Moments.of(_ranks(column)[column.there]).scale()
    scale = Moments.of(column.present).scale()
    if scaling == "standard":
        return scale
    offsets = scale.offsets(column.present)
    if scaling == "none":
        return scale._replace(deviation=float(np.ldexp(1.0, -scale.exponent)))
    if scaling == "range":
        return scale._replace(deviation=float(offsets.max()) or 1.0)
    low, middle, high = np.quantile(offsets, [0.25, 0.5, 0.75]).tolist()
    if low == high:  # more than half the values are one and the same
        return scale
    return scale._replace(mean=middle, deviation=(high - low) / 1.3489795003921634)  # a normal's quartiles


def levels_of(counts: Ints, scaling: str) -> Levels:
    """Coordinates for the levels of a nominal column that occur so often."""
    order = np.argsort(-counts, kind="stable")
    axis = np.empty(len(counts), np.int64)
    axis[order] = np.minimum(np.arange(len(counts)), MOST_LEVELS - 1)
    n = max(int(counts.sum()), 1)
    shares = np.bincount(axis, counts) / n
    variance = (1 - float(np.square(shares).sum())) * n / max(n - 1, 1)
    if scaling in ("range", "none"):
        return Levels(axis, shares, float(np.sqrt(0.5)))
    return Levels(axis, shares, 1 / float(np.sqrt(variance)) if len(counts) > 1 else 1.0)
