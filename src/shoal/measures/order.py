"""The order attack: does the place of a row within its group tell whose it is?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.column import Column

if TYPE_CHECKING:
    from shoal.plan import Plan

#: How often a file in random order may be taken for one that tells something.
ALPHA = 0.001


class OrderAttack(NamedTuple):
    """The share of records found by ranking each group by `column`, and what guessing would find."""

    column: Any
    share: float
    chance: float


def order_attack(columns: Mapping[Any, NDArray], labels: Ints, alpha: float = ALPHA) -> OrderAttack | None:
    """The best way to find records by the order of rows; None where chance explains what it finds.

    `columns` has true values in the order of the file, NaN for gaps. The intruder ranks the members of
    each group by one column, upwards or downwards, and takes the first row of the group for the first
    in rank, and so on. Equal values share the credit, so a random order finds one record of each group.

    Within groups of two or more, the number found at random is nearly Poisson, with one for each group.
    An attack counts where its chance, times the number of attacks tried, is below `alpha`.
    """
    from scipy.special import gammainc

    n, best = len(labels), None
    sets = labels.reshape(n, -1).T
    for groups in sets:
        codes = np.unique(groups, return_inverse=True)[1]
        in_file = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes)
        size, start = (np.repeat(v, sizes) for v in (sizes, np.cumsum(sizes) - sizes))
        place, alone = np.arange(n) - start, int((sizes == 1).sum())
        for name, values in columns.items():
            order = np.lexsort((values[in_file], codes[in_file]))
            ranked, seat = values[in_file][order], place[order]
            new = (place == 0) | (ranked != np.roll(ranked, 1)) & ~(
                np.isnan(ranked) & np.isnan(np.roll(ranked, 1))
            )
            first = np.flatnonzero(new)
            ties = np.diff(first, append=n)
            low, tied = np.repeat(first, ties) - start, np.repeat(ties, ties)
            for taken in (seat, size - 1 - seat):
                found = float(((taken >= low) & (taken < low + tied)) @ (1 / tied))
                by_chance = gammainc(found - alone, len(sizes) - alone) if alone < len(sizes) else 1.0
                if by_chance * 2 * len(columns) * len(sets) < alpha and (
                    best is None or found / n > best.share
                ):
                    best = OrderAttack(name, found / n, len(sizes) / n)
    return best


def order_note(plan: Plan, columns: Sequence[Column], labels: Ints, of: str = "records") -> list[str]:
    """A note on what rows that keep their order give away, where that is more than chance.

    `columns` are in the order of the file; `of` says whose they are.
    """
    if plan.order == "shuffle" or plan.k == 1:
        return []
    numbers = {c.name: np.where(c.there, c.values, np.nan) for c in columns if not c.categorical}
    attack = order_attack(numbers, labels)
    if attack is None:
        return []
    return [
        f"rows keep their order: who ranks each group by {attack.column!r} finds {attack.share:.0%} of "
        f"{of}, where guessing finds {attack.chance:.0%}; order='shuffle' prevents it"
    ]
