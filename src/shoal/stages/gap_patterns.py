"""Gap patterns: records of a stratum that lack the same values, which are grouped apart where they can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.frame.column import Column

#: Patterns of gaps that are weighed against one another; rarer ones join the nearest of these at once.
MOST_PATTERNS = 200


def gap_patterns(
    columns: Sequence[Column], ids: NDArray[np.int64] | None, k: int
) -> NDArray[np.int64] | None:
    """Strata divided by which columns have gaps, where that leaves at least k records in each pattern.

    Within a stratum the rarest pattern that is short of k joins the most similar pattern (fewest
    columns apart, then the commoner), until none is short. None stands for one pattern of all records.
    """
    holes = [column.gaps for column in columns if column.gaps is not None]
    if not holes:
        return ids
    strata = np.zeros(len(holes[0]), np.int64) if ids is None else ids
    patterns, pattern = np.unique(np.stack(holes, axis=1), axis=0, return_inverse=True)
    distinct, place = np.unique(strata * len(patterns) + pattern.ravel(), return_inverse=True)
    stratum_of, pattern_of = np.divmod(distinct, len(patterns))
    sizes, joined = np.bincount(place), np.arange(len(distinct))
    for stratum in np.unique(stratum_of):
        here = np.flatnonzero(stratum_of == stratum)
        joined[here] = here[_join(patterns[pattern_of[here]], sizes[here], k)]
    numbers = np.unique(joined[place], return_inverse=True)[1]
    return numbers if numbers.any() else None


def _join(patterns: NDArray[np.bool_], sizes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """For each pattern, which one it joins (or itself) so that none is short of k."""
    order = np.argsort(-sizes, kind="stable")
    heads, into = order[:MOST_PATTERNS], np.arange(len(sizes))
    counts = sizes.astype(np.int64)
    for rare in order[MOST_PATTERNS:]:
        into[rare] = heads[np.argmin((patterns[heads] != patterns[rare]).sum(axis=1))]
        counts[into[rare]] += counts[rare]
    apart = (patterns[heads][:, None] != patterns[heads]).sum(axis=2).astype(float)
    np.fill_diagonal(apart, np.inf)
    counts = counts[heads]
    while counts.min(where=counts > 0, initial=k) < k:
        small = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.int64).max)))
        near = int(np.lexsort((-counts, apart[small]))[0])
        into[into == heads[small]] = heads[near]
        counts[near], counts[small] = counts[near] + counts[small], 0
        apart[near] = apart[:, near] = np.minimum(apart[near], apart[small])
        apart[small] = apart[:, small] = np.inf
        apart[near, near] = np.inf
    return into
