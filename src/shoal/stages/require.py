"""Groups that hold what is required beyond k records: asked, repaired, and improved under it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.grouping.partition import Partition
from shoal.requirements import Requirement
from shoal.requirements.contributors import Contributors
from shoal.requirements.units import Units

if TYPE_CHECKING:
    from shoal.kernels.search.required import Asked, Groups
    from shoal.plan import Plan

#: Visits of each record at the most: a guard, for records come to rest within a dozen.
PASSES = 100
#: A change must lower the loss by this part of the mean loss of a record: less is rounding.
LEAST = 1e-9
#: Records that are gathered unit by unit at a time: each group costs a look at all of them.
BLOCK = 8000
#: Where more than this share of groups has too few units, their records are gathered anew, unit by unit.
MANY = 0.25
#: Records visited by searches from a shaken partition: many for small tables, none for large ones.
VISITS, MOST_ROUNDS = 20_000, 100


def asked_of(
    plan: Plan,
    columns: Sequence[Column],
    weight: NDArray[np.float64] | None,
    units: NDArray[np.int64] | None,
) -> list[Requirement]:
    """What the groups of these columns must hold by the plan; what holds anyway is not asked."""
    asked: list[Requirement] = [] if units is None or plan.k == 1 else [Units.of(units, plan.k)]
    rules: dict[bytes, Requirement] = {}
    for column in columns if plan.thin == "widen" else ():
        rule = _thin_rule(plan, column, weight, units)
        if rule is not None:
            rules.setdefault(rule.codes.tobytes(), rule)
    return [*asked, *rules.values()]


def _thin_rule(
    plan: Plan, column: Column, weight: NDArray[np.float64] | None, units: NDArray[np.int64] | None
) -> Requirement | None:
    """The contributors that each cell of a column needs, unless k records say it all."""
    zeros = plan.zeros == "group" and not column.categorical
    least = min(plan.contributors, plan.k)
    if plan.k == 1 or (column.gaps is None and weight is None and not zeros):
        return None
    if least == 1 and (weight is None or plan.contributor_share == 1):
        return None
    return Contributors.of(column, least, plan.contributor_share, weight, units, zeros)


def thin_cells(
    plan: Plan,
    column: Column,
    partition: Partition,
    weight: NDArray[np.float64] | None,
    units: NDArray[np.int64] | None,
) -> NDArray[np.bool_] | None:
    """The groups with too few contributors to this column, which publish a gap.

    With thin="widen" they are those of strata that have too few as a whole.
    """
    rule = _thin_rule(plan, column, weight, units)
    thin = None if rule is None else failing(partition, [rule])
    return thin if thin is not None and thin.any() else None


def failing(partition: Partition, requirements: Sequence[Requirement]) -> NDArray[np.bool_]:
    """Which groups do not hold all requirements."""
    fails = np.zeros(len(partition), np.bool_)
    if requirements:
        from shoal.kernels.search import required

        order = np.argsort(partition.labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(partition.sizes)])
        for requirement in requirements:
            these = np.empty(len(partition), np.bool_)
            required.failing(*_tables([requirement]), order, starts, these)
            fails |= these
    return fails


def hold(
    partition: Partition,
    points: NDArray[np.float64],
    k: int,
    strata: NDArray[np.int64] | None,
    requirements: Sequence[Requirement],
    *,
    has: NDArray[np.bool_] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Partition:
    """The partition itself if every group holds all requirements, else one near it whose groups do.

    Only strata where a group fails are touched; one that cannot hold a requirement as a whole is refused, unless
    gaps can stand for the cells that fail: then it is not asked there. Groups have at least k records, and more than 2k - 1 where a
    split would break a requirement. `has` tells which coordinates of the points are values, not gaps.
    """
    fails = failing(partition, requirements)
    if not fails.any():
        return partition
    end = None if time_limit is None else time.perf_counter() + time_limit
    strata = np.zeros(len(points), np.int64) if strata is None else strata
    bad = np.unique(strata[fails[partition.labels]])
    order = np.argsort(strata, kind="stable")
    begins = np.searchsorted(strata[order], np.arange(int(strata.max()) + 2))
    labels = partition.labels.copy()
    tasks = []
    for stratum in bad:
        rows = order[begins[stratum] : begins[stratum + 1]]
        lacking = [requirement for requirement in requirements if not requirement.holds(rows)]
        for requirement in lacking:
            if not requirement.of_cells:
                raise InputError(f"a stratum of {len(rows)} records has {requirement.remedy}")
        asked = [requirement for requirement in requirements if requirement not in lacking]
        if asked:
            tasks.append((rows, asked))
    rounds = min(MOST_ROUNDS, VISITS // max(sum(len(rows) for rows, _ in tasks), 1))
    for done, (rows, asked) in enumerate(tasks):
        there = np.ones((len(rows), points.shape[1]), bool) if has is None else has[rows]
        stratum = _Stratum(points[rows], there, labels[rows], k, asked, rows, seed)
        labels[rows] = stratum.solve(end, rounds) + len(labels) * (done + 1)
        if progress is not None:
            progress((done + 1) / len(tasks))
    return Partition(labels)


def _tables(
    requirements: Sequence[Requirement], rows: NDArray[np.int64] | slice = slice(None)
) -> tuple[tuple, Asked, NDArray[np.int64]]:
    """The requirements as kernels take them, for some of the records; and room for the members of a group."""
    from shoal.kernels.search.required import Asked, compiled

    kinds = list(dict.fromkeys(type(requirement) for requirement in requirements))
    wide = max(len(requirement.parameters) for requirement in requirements)
    asked = Asked(
        np.array([kinds.index(type(requirement)) for requirement in requirements]),
        np.stack([requirement.codes[rows] for requirement in requirements]),
        np.stack([requirement.values[rows] for requirement in requirements]),
        np.stack([np.pad(r.parameters, (0, wide - len(r.parameters))) for r in requirements]),
    )
    return compiled([kind.kernel for kind in kinds]), asked, np.empty(asked.codes.shape[1] + 1, np.int64)


class _Stratum:
    """The records of one stratum, and the search over their groups."""

    def __init__(
        self,
        points: NDArray[np.float64],
        has: NDArray[np.bool_],
        labels: NDArray[np.int64],
        k: int,
        requirements: Sequence[Requirement],
        rows: NDArray[np.int64],
        seed: int,
    ):
        from shoal.kernels.neighbours.lists import nearest

        n, d = points.shape
        self.k, self.requirements, self.rng = k, requirements, np.random.default_rng(seed)
        self.tables = _tables(requirements, rows)
        self.P, self.has = np.zeros((n + 1, d)), np.zeros((n + 1, d), np.int8)
        scale = max(float(np.abs(points).max()), 1.0)  # of raw numbers: their squares must not overflow
        points = points / scale
        self.P[:n], self.has[:n] = points - points.mean(axis=0), has
        self.neighbours = nearest(self.P[:n], 2 * k + 8)[0]
        self.labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)

    def solve(self, end: float | None = None, rounds: int = 0) -> NDArray[np.int64]:
        """Labels of groups that hold.

        Small tables are searched again from partitions that were shaken: some near records changed places.
        """
        from shoal.kernels.search.required import gather_units

        labels, touched = self.labels, self._fails(self.labels)[self.labels]
        for codes, requirement in zip(self.tables[1].codes, self.requirements):
            if isinstance(requirement, Units) and touched.mean() > MANY:
                pool = np.flatnonzero(touched)
                labels, first = np.where(touched, -1, labels), int(labels.max()) + 1
                for block in _blocks(self.P, pool, codes, self.k):
                    first = gather_units(self.P, block, codes, int(codes.max()) + 1, self.k, labels, first)
        best, sse = self._settle(labels, touched, end)
        for _ in range(rounds):
            if end is not None and time.perf_counter() > end:
                break
            shaken = best.copy()
            for x in self.rng.integers(len(best), size=int(self.rng.integers(1, 4))):
                y = self.rng.choice(self.neighbours[x])
                shaken[x], shaken[y] = shaken[y], shaken[x]
            again, lower = self._settle(shaken, shaken != best, end)
            if lower < sse * (1 - LEAST):
                best, sse = again, lower
        return best

    def _fails(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        from shoal.kernels.search.required import failing

        sizes = np.bincount(labels)
        fails = np.empty(len(sizes), np.bool_)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        failing(*self.tables, np.argsort(labels, kind="stable"), starts, fails)
        return fails

    def _settle(
        self, labels: NDArray[np.int64], touched: NDArray[np.bool_], end: float | None
    ) -> tuple[NDArray[np.int64], float]:
        """Repaired and improved until nothing changes: labels and SSE. It begins at the groups of `touched`."""
        from shoal.kernels.search import required

        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        n, d = len(labels), self.P.shape[1]
        fails = self._fails(labels)
        slots = max(n // self.k, len(fails)) + 1
        gs = required.Groups(
            *(
                self.P,
                self.has,
                np.empty((slots, d)),
                np.empty((slots, d), np.int64),
                np.empty(slots, np.int64),
            ),
            *(labels, *np.empty((2, n), np.int64), np.empty(slots, np.int64)),
            *(np.zeros(slots, np.int8), np.zeros(slots), np.full(slots, -1)),
        )
        required.fill(gs)
        gs.fails[: len(fails)] = fails
        gs.changed[labels[touched]] = 0
        seen, tried, now = np.full(n, -1), np.full(slots, -1), 0
        least = LEAST * self._sse(gs) / n
        for merging in (fails.any(), False):
            if merging:
                required.value(*self.tables, gs, self.neighbours)
            for _ in range(PASSES):
                before = now
                now = required.descend(*self.tables, gs, self.neighbours, self.k, least, seen, now)
                if not merging:
                    now = required.reshape(*self.tables, gs, self.neighbours, self.k, least, tried, now)
                if now == before or (end is not None and time.perf_counter() > end):
                    break
            if merging:
                now = required.merge(*self.tables, gs, self.neighbours, now)
        return labels, self._sse(gs)

    def _sse(self, gs: Groups) -> float:
        return float(np.square((self.P[:-1] - gs.C[gs.labels]) * self.has[:-1]).sum())


def _blocks(
    P: NDArray[np.float64], rows: NDArray[np.int64], codes: NDArray[np.int64], k: int, most: int = BLOCK
) -> Iterator[NDArray[np.int64]]:
    """The records in blocks that lie together, by halves of the widest coordinate; each has at least k units."""
    if len(rows) > most:
        order = rows[np.argsort(P[rows, np.argmax(P[rows].var(axis=0))], kind="stable")]
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        if all(len(np.unique(codes[half])) >= k for half in halves):
            for half in halves:
                yield from _blocks(P, np.sort(half), codes, k, most)
            return
    yield rows
