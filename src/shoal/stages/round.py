"""Rounding after publishing: to decimals, to significant digits, to multiples of a base."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.stages.publish import GroupValues, nearest

if TYPE_CHECKING:
    from shoal.plan import Plan

#: Doubles have no more decimal digits that mean something.
MOST_DECIMALS = 15


def refuse_rounding(plan: Plan, columns: Iterable[Column]) -> None:
    """Say before the work which of these columns cannot be rounded as the plan says."""
    for column in columns:
        if column.name in plan.round:
            _rounder(plan.round[column.name], column)
            if plan.preserve is not None and column.name in (plan.columns or ()):
                raise InputError(
                    f"rounding {column.name!r} would change its total: leave round or preserve out"
                )


def rounded_groups(plan: Plan, column: Column, groups: GroupValues) -> GroupValues:
    """What the groups publish, rounded as the plan says of the column."""
    rule = plan.round.get(column.name)
    rule = column.decimals if rule is None else rule
    if rule is None:
        return groups
    return GroupValues(rounded(groups.values, rule, column), groups.gaps)


def rounded(values: NDArray, rule: int | str, column: Column) -> NDArray:
    """These values of a column, each rounded by the rule; halves go away from zero."""
    one = _rounder(rule, column)
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([one(value) for value in distinct.tolist()], values.dtype)[places]


def decimals_of(column: Column) -> int | None:
    """The fewest decimals that show the column's numbers whole; None if it has other values, or too many."""
    if column.categorical or column.values.dtype.kind != "f":
        return None
    distinct = np.unique(column.present.astype(np.float64))
    for digits in range(MOST_DECIMALS + 1):
        power = 10.0**digits
        with np.errstate(over="ignore", invalid="ignore"):
            distinct = distinct[np.rint(distinct * power) / power != distinct]
        if not len(distinct):
            return digits
    return None


def _rounder(rule: int | str, column: Column) -> Callable[[Any], Any]:
    """A function that rounds one value."""
    kind, _, word = str(rule).rpartition(":")
    if column.categorical or column.type == "date":
        raise InputError(f"column {column.name!r} is {column.type}: only numbers can be rounded")
    real, dtype = column.values.dtype.kind == "f", column.values.dtype
    if kind == "sig":
        digits = int(word)
        if real:
            return lambda value: float(f"{value:.{digits - 1}e}")
        return lambda value: _multiple(value, 10 ** max(len(str(abs(value))) - digits, 0), dtype)
    step = Fraction(word) if kind == "base" else Fraction(1, 10 ** int(word))
    if real:
        return partial(_real_multiple, float(step.numerator), float(step.denominator))
    units = step * 10 ** getattr(column.stored, "scale", 0)  # decimals are whole numbers of their last digit
    if units.denominator != 1 or units == 1:
        raise InputError(
            f"round has no effect on column {column.name!r}, which holds "
            f"{'decimals' if column.stored is not None else 'whole numbers'}: say base:10, or leave it out"
        )
    return lambda value: _multiple(value, int(units), dtype)


def _multiple(value: int, unit: int, dtype: np.dtype) -> int:
    """The nearest multiple of a unit that the type can hold."""
    near, limits = nearest(value, unit) * unit, np.iinfo(dtype)
    return near if limits.min <= near <= limits.max else near - (unit if near > 0 else -unit)


def _real_multiple(above: float, below: float, value: float) -> float:
    """The nearest multiple of above / below."""
    steps = abs(value) * below / above
    if not steps < 2**52:  # it has no such digits
        return value
    return float(np.copysign(np.floor(steps + 0.5) * above / below, value)) + 0.0
