"""Groups that hold what is required: those that fail are repaired, and improved under it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.grouping.partition import Partition, rows_of
from shoal.kernels.search import required
from shoal.kernels.search.gaps import Groups
from shoal.requirements.base import Requirement
from shoal.requirements.closeness import Closeness
from shoal.requirements.units import Units
from shoal.stages.gather import FEW, MANY, MOST_GATHERED, blocks_of, gather, parts_of, region
from shoal.stages.refine_gaps import LEAST, candidates, in_groups, settle
from shoal.stages.require import confidential_of, failing, failing_in, feasible, tables_of

#: In larger tables closeness looks at k + 7 neighbours: on adult (30,162 records) the repair takes 5.4 s of
#: processor time instead of 7 with 2k + 8, and 3.38 % is lost instead of 3.33. A move must lower the loss by
#: this part of the mean loss of a record: it saves passes and costs little.
COARSE = 1e-2
#: Records visited by searches from a shaken partition: many for small tables, none for large ones.
VISITS, MOST_ROUNDS = 20_000, 100


def hold(
    partition: Partition,
    points: Floats,
    k: int,
    strata: Ints | None,
    requirements: Sequence[Requirement],
    *,
    has: Bools | None = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> Partition:
    """The partition itself if every group holds all requirements, else one near it whose groups do.

    Only strata where a group fails are touched; one that cannot hold a requirement as a whole is refused,
    unless gaps can stand for the cells that fail: then it is not asked there. Groups have at least k records,
    and more than 2k - 1 where a split would break a requirement. `has` tells which coordinates of the points
    are values, not gaps.
    """
    fails = failing(partition, requirements)
    if not fails.any():
        return partition
    end = None if time_limit is None else time.perf_counter() + time_limit
    strata = np.zeros(len(points), np.int64) if strata is None else strata
    bad = np.unique(strata[fails[partition.labels]])
    members, labels = rows_of(strata), partition.labels.copy()
    tasks = [(members[stratum], feasible(requirements, members[stratum], len(points))) for stratum in bad]
    tasks = [(rows, asked) for rows, asked in tasks if asked]
    rounds = min(MOST_ROUNDS, VISITS // max(sum(len(rows) for rows, _ in tasks), 1))
    for done, (rows, asked) in enumerate(tasks):
        there = np.ones((len(rows), points.shape[1]), bool) if has is None else has[rows]
        search = _Stratum(points[rows], there, k, asked, rows, seed)
        labels[rows] = search.solve(labels[rows], rounds, end) + len(labels) * (done + 1)
    return Partition(labels)


def _sse(gs: Groups) -> float:
    return float(np.square((gs.P[:-1] - gs.C[gs.labels]) * gs.has[:-1]).sum())


class _Stratum:
    """The records of one stratum, and the search over their groups."""

    def __init__(
        self, points: Floats, has: Bools, k: int, requirements: Sequence[Requirement], rows: Ints, seed: int
    ):
        scale = max(float(np.abs(points).max()), 1.0)  # of raw numbers: their squares must not overflow
        self.points, self.has, self.k, self.rows = points / scale, has, k, rows
        self.requirements, self.rng = requirements, np.random.default_rng(seed)
        self.tables = tables_of(requirements, rows)
        many = len(points) > FEW and any(r.ranks() is not None for r in requirements)
        self.neighbours = candidates(self.points, k, k + 7 if many else None)

    def solve(self, labels: Ints, rounds: int, end: float | None = None) -> Ints:
        """Labels of groups that hold.

        Small tables are searched again from partitions that were shaken: the records of a group, or of two
        near ones, were dealt anew. Each such partition is searched from once.
        """
        from shoal.algorithms.tclose import tclose_k_first, tclose_merge, tclose_t_first

        part = Partition(labels)
        labels, touched = part.labels.copy(), failing_in(part, self.tables)[part.labels]
        for codes, requirement in zip(self.tables[1].codes, self.requirements):
            enough = len(np.unique(codes[touched])) >= self.k
            if isinstance(requirement, Units) and enough and touched.mean() > MANY:
                labels[touched] = -1
                for block in blocks_of(self.points, np.flatnonzero(touched), codes, self.k):
                    gather(self.points, block, codes, self.k, labels)
        gs = self._groups(labels, touched)
        best, sse = self._search(self._gathered(gs, whole=True) if touched.mean() > MANY else gs, end)
        confidential = confidential_of(self.requirements, self.rows)
        starts = tclose_merge, tclose_k_first, tclose_t_first
        for start in starts if confidential is not None and len(labels) <= FEW else ():
            other = start(self.points, self.k, confidential=confidential)
            if _sse(in_groups(self.points, self.has, Partition(other).labels)) < sse * (1 - LEAST):
                again, lower = self._search(self._groups(other, np.ones(len(other), bool)), end)
                if lower < sse:
                    best, sse = again, lower
        tried: set[bytes] = set()
        for _ in range(rounds):
            if end is not None and time.perf_counter() > end:
                break
            x = self.rng.integers(len(best))
            pair = np.isin(best, best[[x, self.rng.choice(self.neighbours[x])]])
            shaken, count = best.copy(), int(pair.sum())
            shaken[pair] = len(best) + self.rng.permutation(np.arange(count) % min(2, count // self.k))
            shaken = Partition(shaken).labels
            if (dealt := shaken.tobytes() + pair.tobytes()) in tried:
                continue
            tried.add(dealt)
            again, lower = self._search(self._groups(shaken, pair), end)
            if lower < sse * (1 - LEAST):
                best, sse = again, lower
        return best

    def _search(self, gs: Groups, end: float | None) -> tuple[Ints, float]:
        """Labels of groups that hold, improved until nothing changes, and their SSE; first those changed."""
        gs = self._settled(gs, end)
        if gs.fails.any() and len(gs.labels) > FEW:
            gs = self._settled(self._gathered(gs), end)
        if gs.fails.any():
            gs = self._settled(self._merged(gs), end)
        tried: set[bytes] = set()
        touched = np.ones(1, bool)
        while touched.any():
            labels, touched = gs.labels.copy(), np.zeros(len(gs.labels), bool)
            for members in rows_of(gs.labels, len(gs.sizes)):
                if len(members) < 2 * self.k:
                    continue
                cut = members[:0] if members.tobytes() in tried else self._cut(members)
                tried.add(members.tobytes())
                labels[cut] = labels.max() + 1
                touched[members] |= len(cut) > 0
            gs = self._settled(self._groups(labels, touched), end) if touched.any() else gs
        return gs.labels, _sse(gs)

    def _groups(self, labels: Ints, touched: Bools) -> Groups:
        """The groups of these labels as the search takes them; those of `touched` are taken for changed."""
        part = Partition(labels)
        gs = in_groups(self.points, self.has, part.labels, int(self.tables[1].kinds[-1]) + 1)
        gs.changed[:] = -1
        gs.changed[part.labels[touched]] = 0
        gs.fails[:] = failing_in(part, self.tables)
        return gs

    def _settled(self, gs: Groups, end: float | None) -> Groups:
        """Records moved until no move helps; to make a group hold may cost as much as to merge it."""
        groups = rows_of(gs.labels, len(gs.sizes)) if gs.fails.any() else []
        for g in np.flatnonzero(gs.fails):
            gs.worth[g] = self._mergers(gs, g, groups[g])[1].min()
        n = len(gs.labels)
        settle(gs, self.neighbours, self.k, n, self.tables, end, least=LEAST if n <= FEW else COARSE)
        return gs

    def _gathered(self, gs: Groups, whole: bool = False) -> Groups:
        """The groups after those that fail a ranked requirement were gathered anew.

        With the groups nearest to them; or all records, if `whole` and many of them are in such groups.
        Of the groups made so, few fail, and these are merged: others near them are not of their kind.
        """
        from shoal.algorithms.tclose import dealt

        part = Partition(gs.labels)
        for requirement in self.requirements if len(gs.labels) <= MOST_GATHERED else ():
            ranks, large = requirement.ranks(), len(gs.labels) > FEW or isinstance(requirement, Closeness)
            fails = failing_in(part, tables_of([requirement], self.rows))
            if ranks is None or not large or fails[part.labels].mean() <= whole * MANY:
                continue
            parts = parts_of(requirement, ranks, self.rows, self.k)
            rows = np.arange(len(gs.labels))
            if not whole:
                rows = region(requirement, ranks, self.rows, part, fails, part.means(self.points), parts)
            labels, touched = part.labels.copy(), (gs.changed >= 0)[gs.labels]
            labels[rows] = len(labels) + dealt(self.points[rows], ranks[self.rows[rows]], parts)
            touched[rows] = True
            return self._merged(self._groups(labels, touched))
        return gs

    def _mergers(self, gs: Groups, g: np.integer, members: Ints) -> tuple[Ints, Floats]:
        """Groups near the members (all, if there is none), and by how much the SSE grows if g joins them."""
        others = np.unique(gs.labels[self.neighbours[members]])
        if len(others) < 2:
            others = np.unique(gs.labels)
        others = others[others != g]
        a, b = gs.counts[g], gs.counts[others]
        return others, (a * b / np.maximum(a + b, 1) * np.square(gs.C[g] - gs.C[others])).sum(axis=1)

    def _merged(self, gs: Groups) -> Groups:
        """The groups after each that fails was merged with others.

        It takes the cheapest with which it holds, or else the cheapest, until it holds.
        """
        moved, groups = gs.changed >= 0, rows_of(gs.labels, len(gs.sizes))
        for g in np.flatnonzero(gs.fails):
            while len(groups[g]) and not self._hold(groups[g]):
                others, cost = self._mergers(gs, g, groups[g])
                others = others[np.argsort(cost, kind="stable")]
                unions = [np.concatenate([groups[g], groups[h]]) for h in others[:8]]
                best = next((i for i, union in enumerate(unions) if self._hold(union)), 0)
                h, members = others[best], unions[best]
                groups[g], groups[h] = members[:0], members
                counts = gs.counts[g] + gs.counts[h]
                sums = gs.C[g] * gs.counts[g] + gs.C[h] * gs.counts[h]
                gs.C[h], gs.counts[h], gs.labels[members] = sums / np.maximum(counts, 1), counts, h
                g = h
                moved[g] = True
        return self._groups(gs.labels, moved[gs.labels])

    def _hold(self, members: Ints) -> bool:
        """Whether a group of these members holds all."""
        fails = np.empty(1, np.bool_)
        required.failing(*self.tables, members, np.array([0, len(members)]), fails)
        return not fails[0]

    def _cut(self, members: Ints) -> Ints:
        """Of a group the part to split off, so that both hold and lose least; empty if none was found.

        Tried are the cuts of two orders: by the distance to its outermost member, and from that to the member
        farthest from it.
        """
        P, has, k = self.points[members], self.has[members], self.k
        away = np.square(P - P[np.argmax(np.square(P - P.mean(axis=0)).sum(axis=1))]).sum(axis=1)
        back = np.square(P - P[np.argmax(away)]).sum(axis=1)
        best, cut = np.inf, members[:0]
        for order in (np.argsort(away, kind="stable"), np.argsort(away - back, kind="stable")):
            values = P[order] * has[order]
            sums = [np.cumsum(x, axis=0) for x in (has[order], values, np.square(values))]
            sse = np.zeros(len(members))
            for count, total, squares in (sums, [x[-1] - x for x in sums]):
                sse += (squares - np.square(total) / np.maximum(count, 1)).sum(axis=1)
            cuts = k + np.argsort(sse[k - 1 : len(members) - k], kind="stable")
            t = required.first_cut(*self.tables, members[order], cuts[sse[cuts - 1] < best])
            if t:
                best, cut = sse[t - 1], members[order[t:]]
        return cut
