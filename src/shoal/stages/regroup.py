"""Group sizes with which totals can be kept: a record or two change their group where they must.

Means that are whole numbers add up to a total only if the group sizes' common divisor divides it. Where it
does not, the search here looks for the change of the partition that costs least: a record moves to another
group, several do, or a group is dissolved among the others.
"""

from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.stages.publish import has_whole_total, publish
from shoal.stages.totals import TotalLost


class Effort(NamedTuple):
    """How far the search goes. Not tuned: larger numbers try more partitions before it gives up."""

    rows: int = 64  # records that may move
    groups: int = 32  # groups that may be dissolved
    beam: int = 6  # partitions to go on from
    depth: int = 40  # moves in a row


EFFORT = Effort()


class _State(NamedTuple):
    """A partition, and how much more it loses than the one given."""

    extra: float
    labels: Ints


def refuse_totals(columns: Sequence[Column], strata: Ints | None, k: int) -> None:
    """Say before the work which totals no grouping keeps: for their divisor, or as too few records differ.

    Fewer than 2k records are one group, 2k are one or two; more can have sizes without a common divisor.
    A group that publishes more than the least value adds at least k to the total, one for each record.
    """
    for column in columns:
        if not has_whole_total(column) or column.gaps is not None:  # of gaps it is not known where they go
            continue
        n, values = len(column.values), column.values
        sizes = [n] if strata is None else np.bincount(strata).tolist()
        divisor = gcd(*(size if size < 2 * k else k if size == 2 * k else 1 for size in sizes))
        total, low, high = sum(values.tolist()), int(values.min()), int(values.max())
        why = f"with k={k} every group has a multiple of {divisor} records" if total % divisor else ""
        for away, end in ((total - n * low, f"above {low}"), (n * high - total, f"below {high}")):
            if 0 < away < k:
                why = (
                    why or f"all records together lie {away} {end}, but a group that does adds k={k} or more"
                )
        if why:
            raise InputError(
                f"column {column.name!r} cannot keep its total {total} in whole numbers: {why}; lower k, or "
                "leave preserve='totals' out"
            )


def regroup_for_totals(
    columns: Sequence[Column],
    partition: Partition,
    points: Floats,
    k: int,
    strata: Ints | None,
    holds: Callable[[Partition], bool] = lambda partition: True,
) -> tuple[Partition, int]:
    """The partition itself if every column can keep its total, else the nearest one found that allows it.

    With it, how many records changed their group.
    Groups keep at least k records and, where that suffices, at most 2k - 1; no group crosses a stratum,
    and the partition still `holds` what is required of it.
    """
    columns = [column for column in columns if has_whole_total(column)]
    error = _lost(columns, partition)
    if error is None:
        return partition, 0
    strata = np.zeros(len(points), np.int64) if strata is None else strata
    for most in (2 * k - 1, len(points)):
        labels = _search(
            partition.labels,
            points,
            k,
            most,
            strata,
            lambda labels: _lost(columns, Partition(labels)) is None and holds(Partition(labels)),
        )
        if labels is not None:
            return Partition(labels), int((labels != partition.labels).sum())
    raise InputError(
        f"{error}, and no other grouping with k={k} was found that allows it: "
        "lower k, or leave preserve='totals' out"
    )


def _lost(columns: Sequence[Column], partition: Partition) -> TotalLost | None:
    for column in columns:
        try:
            publish(column, partition, preserve="totals")
        except TotalLost as error:
            return error
    return None


def _search(
    labels: Ints,
    points: Floats,
    k: int,
    most: int,
    strata: Ints,
    good: Callable[[Ints], bool],
    effort: Effort = EFFORT,
) -> Ints | None:
    """The first good partition, trying cheap changes before dear ones; each set of sizes only once."""
    seen = {_sizes_by_stratum(labels, strata)}
    for starts in ([_State(0.0, labels)], _dissolved(labels, points, most, strata, effort)):
        frontier: list[_State] = []
        for start in starts:
            if _sizes_by_stratum(start.labels, strata) not in seen and good(start.labels):
                return start.labels
            seen.add(_sizes_by_stratum(start.labels, strata))
            frontier.append(start)
        for _ in range(effort.depth):
            reached = [
                (state.extra + extra, row, group, state.labels)
                for state in frontier
                for extra, row, group in _moves(state.labels, points, k, most, strata, effort)
            ]
            frontier = []
            for extra, row, group, before in sorted(reached, key=lambda option: option[:3]):
                after = before.copy()
                after[row] = group
                sizes = _sizes_by_stratum(after, strata)
                if sizes in seen:
                    continue
                seen.add(sizes)
                if good(after):
                    return after
                frontier.append(_State(extra, after))
                if len(frontier) == effort.beam:
                    break
            if not frontier:
                break
    return None


def _sizes_by_stratum(labels: Ints, strata: Ints) -> bytes:
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    return np.sort(strata[first] * (len(labels) + 1) + sizes).tobytes()


def _moves(
    labels: Ints, points: Floats, k: int, most: int, strata: Ints, effort: Effort
) -> list[tuple[float, int, int]]:
    """Records that may move to another group: (what it adds to the SSE, row, group).

    Of all moves between groups of the same two sizes in a stratum the cheapest, of the records that gain
    most by leaving.
    """
    part, home = _groups(labels, strata)
    means, sizes = part.means(points), part.sizes
    cost = np.square(points - means[part.labels]).sum(axis=1)
    size = sizes[part.labels]
    free = np.flatnonzero((size > k) & (np.bincount(home)[strata] > 1))
    gain = cost[free] * size[free] / np.maximum(size[free] - 1, 1)
    order = np.argsort(-gain, kind="stable")
    _, first = np.unique(strata[free[order]] * (len(labels) + 1) + size[free[order]], return_index=True)
    rows = dict(zip(free[order].tolist(), gain[order].tolist()))
    most_gain = np.concatenate([order[first[: effort.rows]], order[: effort.rows]])
    chosen = dict.fromkeys(free[most_gain].tolist())
    names = np.empty(len(part), np.int64)
    names[part.labels] = labels
    best: dict[tuple[int, int, int], tuple[float, int, int]] = {}
    for row in chosen:
        there = np.flatnonzero((home == strata[row]) & (sizes < most))
        there = there[there != part.labels[row]]
        joining = np.square(means[there] - points[row]).sum(axis=1) * sizes[there] / (sizes[there] + 1)
        near = there[np.argsort(joining, kind="stable")]
        _, nearest = np.unique(sizes[near], return_index=True)
        for extra, group in zip(np.sort(joining)[nearest] - rows[row], near[nearest]):
            pair = int(strata[row]), int(size[row]), int(sizes[group])
            best[pair] = min(best.get(pair, (np.inf, 0, 0)), (float(extra), row, int(names[group])))
    return sorted(best.values())


def _dissolved(labels: Ints, points: Floats, most: int, strata: Ints, effort: Effort) -> list[_State]:
    """Partitions with one group less: its records go one by one to the group that takes them most cheaply."""
    part, home = _groups(labels, strata)
    means = part.means(points)
    sse = np.bincount(part.labels, np.square(points - means[part.labels]).sum(axis=1))
    states = []
    for group in np.argsort(sse, kind="stable")[: effort.groups].tolist():
        others = np.flatnonzero(home == home[group])
        others = others[others != group]
        sizes, centres = part.sizes[others].copy(), means[others].copy()
        if not len(others) or (most - np.minimum(sizes, most)).sum() < part.sizes[group]:
            continue
        after, extra = part.labels.copy(), -float(sse[group])
        for row in np.flatnonzero(part.labels == group):
            joining = np.square(centres - points[row]).sum(axis=1) * sizes / (sizes + 1)
            into = int(np.argmin(np.where(sizes < most, joining, np.inf)))
            extra += float(joining[into])
            centres[into] += (points[row] - centres[into]) / (sizes[into] + 1)
            sizes[into] += 1
            after[row] = others[into]
        states.append(_State(extra, after))
    return sorted(states, key=lambda state: state.extra)[: effort.beam]


def _groups(labels: Ints, strata: Ints) -> tuple[Partition, Ints]:
    """The partition, and the stratum of each of its groups."""
    part = Partition(labels)
    home = np.empty(len(part), np.int64)
    home[part.labels] = strata
    return part, home
