"""The groups of a release in memory, counted and compared before anything is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import CheckFailed
from shoal.frame.column import Column
from shoal.verify.requirements import Held, held

if TYPE_CHECKING:
    from shoal.plan.rules import Rule


def check_groups(
    released: Mapping[Any, Column],
    labels: Ints,
    k: int,
    strata: Ints | None = None,
    units: Ints | None = None,
    watched: Sequence[tuple[Rule, Column]] = (),
    weight: Floats | None = None,
) -> tuple[Held, ...]:
    """Raise unless each group has k records of one stratum and publishes one and the same value or gap.

    With `units`, the unit of each record, k counts distinct units. Each group holds the rules on `watched`.
    `released` are columns that were grouped together, with the values that each record publishes: if every
    column is the same within groups, every combination occurs k times. What is held beyond k is given back.
    """
    from shoal.kernels.groups.counts import count_and_compare  # here, for `shoal check` needs no compiler

    for name, column in released.items():
        values, gaps = column.values, column.holes
        if len(labels) != len(values):
            raise CheckFailed(
                f"{len(values)} values but {len(labels)} labels in {name!r}: nothing is released"
            )
        sizes, alike = count_and_compare(labels, np.ascontiguousarray(values))
        if sizes.min() < k:
            raise CheckFailed(f"a group of {sizes.min()} records is short of k={k}: nothing is released")
        if not alike or (gaps is not None and not _one_each(gaps, labels, len(sizes))):
            raise CheckFailed(f"a group publishes different values in column {name!r}: nothing is released")
        if strata is not None and not _one_each(strata, labels, len(sizes)):
            raise CheckFailed(f"a group crosses strata in column {name!r}: nothing is released")
    found = []
    if units is not None:
        pairs = np.unique(np.stack([labels, units]), axis=1)[0]  # each unit of a group once
        fewest = np.unique(pairs, return_counts=True)[1].min()
        if fewest < k:
            raise CheckFailed(f"a group of {fewest} units is short of k={k}: nothing is released")
        whose = f"records of at least {k} different units"
        found.append(Held(whose, len(labels), int(labels.max()) + 1, 0, 0, k, float(fewest), True))
    for rule, column in watched:
        finding = held(rule, column, labels, weight, units)
        if not finding.passed:
            raise CheckFailed(f"nothing is released: {finding}")
        found.append(finding)
    return tuple(found)


def _one_each(values: NDArray, labels: NDArray, groups: int) -> bool:
    """Whether all records of a group have one and the same value."""
    representative = np.zeros(groups, values.dtype)
    representative[labels] = values
    return np.array_equal(representative[labels], values)
