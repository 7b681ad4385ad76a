"""Strata: sets of records, named by the user, that groups never cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column
from shoal.stages.encode import encode


class Strata(NamedTuple):
    """The stratum of each record, 0, 1, ..; and what each is called."""

    ids: NDArray[np.int64]
    titles: list[str]
    notes: tuple[str, ...] = ()


def read_strata(frame: Frame, names: Sequence[Any]) -> Strata:
    """One stratum for each combination of values in these columns; a gap is a value of its own."""
    ids = np.zeros(len(frame), np.int64)
    parts = []
    for name in names:
        column = read_column(frame, name, "nominal")
        codes = column.values + 1
        if column.gaps is not None:
            codes[column.gaps] = 0
        parts.append(codes)
        ids = np.unique(ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    _, first = np.unique(ids, return_index=True)
    levels = [frame.arrow(name).take(first).to_pylist() for name in names]
    titles = [
        " / ".join("no " + str(n) if v is None else str(v) for n, v in zip(names, t)) for t in zip(*levels)
    ]
    return Strata(ids, titles)


def merge_small(strata: Strata, k: int, columns: Sequence[Column], merge: bool) -> Strata:
    """No stratum is short of k: an error names the first that is, or each joins the most similar one.

    Similar means: nearest by the mean of the standardised columns.
    """
    sizes = np.bincount(strata.ids)
    if sizes.min(initial=k) >= k:
        return strata
    if not merge:
        short = [f"{strata.titles[s]!r} has {sizes[s]}" for s in np.flatnonzero(sizes < k)]
        more = f" (and {len(short) - 3} more are short)" if len(short) > 3 else ""
        raise InputError(
            f"k={k} needs at least {k} records, but stratum {', '.join(short[:3])}{more}: "
            "merge strata (merge_small_strata, --merge-small-strata) or lower k"
        )
    points = encode(columns).matrix
    ids, notes = strata.ids.copy(), []
    sums = np.stack([np.bincount(ids, coordinate, len(sizes)) for coordinate in points.T], axis=1)
    while np.min(sizes, where=sizes > 0, initial=k) < k:
        small = int(np.argmin(np.where(sizes > 0, sizes, np.iinfo(np.int64).max)))
        means = sums / np.maximum(sizes, 1)[:, None]
        distance = np.square(means - means[small]).sum(axis=1)
        distance[(sizes == 0) | (np.arange(len(sizes)) == small)] = np.inf
        into = int(np.argmin(distance))
        one, other = strata.titles[small], strata.titles[into]
        notes.append(f"stratum {one!r} ({sizes[small]} records) was merged with {other!r}")
        ids[ids == small] = into
        for facts in (sizes, sums):
            facts[into] += facts[small]
            facts[small] = 0
    left, ids = np.unique(ids, return_inverse=True)
    return Strata(ids, [strata.titles[s] for s in left], tuple(notes))
