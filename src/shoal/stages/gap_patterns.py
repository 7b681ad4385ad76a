"""Gap patterns: records of a stratum that lack the same values or share zeros, grouped apart."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.column import Column
from shoal.grouping.partition import rows_of
from shoal.requirements import Requirement

#: Patterns of gaps that are weighed against one another; rarer ones join the nearest of these at once.
MOST_PATTERNS = 200


def gap_patterns(
    columns: Sequence[Column],
    ids: Ints | None,
    k: int,
    units: Ints | None = None,
    requirements: Sequence[Requirement] = (),
    *,
    gaps: bool = True,
    zeros: bool = False,
) -> Ints | None:
    """Strata divided by which columns have gaps, and of which sign; with `zeros` by which numbers are 0.

    A pattern is short if it has fewer than k records (distinct `units`, where they are given) or as a whole
    does not hold a requirement. Within a stratum the rarest pattern that is short joins the most similar one
    (fewest columns apart, then fewest signs, then the commoner), until none is short. None stands for one
    pattern of all.
    """
    holes = [column.holes for column in columns if column.holes is not None] if gaps else []
    if zeros:
        holes += [(c.values == 0) & c.there for c in columns if not c.categorical]
    if not holes:
        return ids
    strata = np.zeros(len(holes[0]), np.int64) if ids is None else ids
    patterns, pattern = np.unique(np.stack(holes, axis=1), axis=0, return_inverse=True)
    distinct, place = np.unique(strata * len(patterns) + pattern.ravel(), return_inverse=True)
    stratum_of, pattern_of = np.divmod(distinct, len(patterns))
    rows = rows_of(place)

    joined = np.arange(len(distinct))
    for stratum in np.unique(stratum_of):
        here = np.flatnonzero(stratum_of == stratum)
        whole = np.concatenate([rows[p] for p in here])
        asked = [requirement for requirement in requirements if requirement.holds(whole)]

        def short(members: Ints, asked: Sequence[Requirement] = asked) -> bool:
            count = len(members) if units is None else len(np.unique(units[members]))
            return count < k or not all(requirement.holds(members) for requirement in asked)

        joined[here] = here[_join(patterns[pattern_of[here]], [rows[p] for p in here], short)]
    numbers = np.unique(joined[place], return_inverse=True)[1]
    return numbers if numbers.any() else None


def _apart(one: NDArray, other: NDArray) -> NDArray:
    """How far patterns lie apart: 2 for a column where one has the value, 1 where only signs differ."""
    return ((one != other) + 1 * ((one > 0) != (other > 0))).sum(axis=-1)


def _join(patterns: NDArray, rows: list[Ints], short: Callable[[Ints], bool]) -> Ints:
    """For each pattern, given with its rows, which one it joins (or itself) so that none is short."""
    sizes = np.array([len(members) for members in rows])
    order = np.argsort(-sizes, kind="stable")
    heads, into = order[:MOST_PATTERNS], np.arange(len(sizes))
    for rare in order[MOST_PATTERNS:]:
        into[rare] = heads[np.argmin(_apart(patterns[heads], patterns[rare]))]
    members = [np.concatenate([rows[p] for p in np.flatnonzero(into == head)]) for head in heads]
    apart = _apart(patterns[heads][:, None], patterns[heads]).astype(float)
    np.fill_diagonal(apart, np.inf)
    counts = np.array([len(those) for those in members])
    lacks = np.array([short(those) for those in members])
    while lacks.any() and (counts > 0).sum() > 1:
        small = int(np.argmin(np.where(lacks, counts, np.iinfo(np.int64).max)))
        near = int(np.lexsort((-counts, apart[small]))[0])
        into[into == heads[small]] = heads[near]
        members[near] = np.concatenate([members[near], members[small]])
        counts[near], counts[small] = counts[near] + counts[small], 0
        lacks[near], lacks[small] = short(members[near]), False
        apart[near] = apart[:, near] = np.minimum(apart[near], apart[small])
        apart[small] = apart[:, small] = np.inf
        apart[near, near] = np.inf
    return into
