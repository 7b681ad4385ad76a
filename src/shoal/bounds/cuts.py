"""Rank-1 cuts: what a partition keeps that a fractional solution of its linear program may break.

Give some records whole weights p and take a divisor q. A partition holds each of these records once, so its
groups hold weights of sum(p) in all, and at most floor(sum(p) / q) times can a group's own weights fill q:
sum over G of floor(p(G) / q) <= floor(sum(p) / q). Three records of weight 1 with q = 2: at most one group
holds two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.threads import map_threads
from shoal.kernels.search.cuts import eliminated, grow_cuts, violated_triples

#: Weights and divisors of the cuts that are looked for beside triples.
PATTERNS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((2, 1, 1, 1), 3),
    ((1, 1, 1, 1, 1), 2),
    ((1, 1, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 4),
    ((3, 1, 1, 1, 1), 4),
    ((3, 2, 2, 1, 1), 5),
    ((3, 3, 2, 2, 1), 4),
    ((1,) * 7, 2),
    ((1,) * 7, 3),
    ((2, 2, 2, 1, 1, 1, 1), 3),
    ((1,) * 9, 2),
)
WIDTH = 9  # records of the longest
#: Violation from which a cut is taken, cuts through one record in a round, and cuts of a round.
VIOLATED, CUTS_OF_A_RECORD, CUTS = 0.02, 5, 150
#: Records of the longest cut found by elimination. On Tarragona with k = 3 half of them have 20 to 45.
WIDEST = 50
#: There, shares are multiplied by random numbers between this and 1 before the groups are sorted by them:
#: other orders find other cuts.
LEAST_DRAW = 0.7
#: Penalties are multiples of this share of the largest (rounded to a power of two): their sums are exact.
GRID = 2.0**-36


@dataclass(frozen=True)
class Cuts:
    """Rows of records (filled up with -1) with their weights (0 there), and a divisor for each row."""

    records: Ints
    weights: Ints
    divisors: Ints

    @classmethod
    def none(cls) -> Cuts:
        return cls(np.empty((0, WIDTH), np.int64), np.empty((0, WIDTH), np.int64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.divisors)

    def __getitem__(self, which: NDArray) -> Cuts:
        return Cuts(self.records[which], self.weights[which], self.divisors[which])

    def __add__(self, other: Cuts) -> Cuts:
        return self.joined([self, other])

    @classmethod
    def joined(cls, parts: list[Cuts]) -> Cuts:
        width = max(cuts.records.shape[1] for cuts in parts)
        return cls(
            np.concatenate([_widened(cuts.records, width, -1) for cuts in parts]),
            np.concatenate([_widened(cuts.weights, width, 0) for cuts in parts]),
            np.concatenate([cuts.divisors for cuts in parts]),
        )

    @property
    def limits(self) -> Ints:
        """How often groups can fill the divisor, at most."""
        return self.weights.sum(axis=1) // self.divisors

    def names(self) -> list[bytes]:
        """A name for each cut, however wide the rows are."""
        rows = zip(self.records, self.weights, self.weights > 0, self.divisors)
        return [r[inside].tobytes() + w[inside].tobytes() + bytes([q]) for r, w, inside, q in rows]

    def renamed(self, names: Ints) -> Cuts:
        """The same cuts of records that have other numbers."""
        return Cuts(np.where(self.records >= 0, names[self.records], -1), self.weights, self.divisors)

    def lists(self, n: int, penalties: Floats) -> tuple:
        """As the kernels want them: each record's cuts and weights, each cut's records and weights."""
        cut, place = np.nonzero(self.records >= 0)
        member, share = self.records[cut, place], self.weights[cut, place]
        order = np.argsort(member, kind="stable")
        start = np.searchsorted(member[order], np.arange(n + 1))
        first = np.searchsorted(cut, np.arange(len(self) + 1))
        return start, cut[order], share[order], first, member, share, self.divisors, penalties


def _widened(array: Ints, width: int, fill: int) -> Ints:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=fill)


def on_grid(penalties: Floats) -> Floats:
    """The penalties, rounded so that sums and differences of them are exact."""
    if not len(penalties) or penalties.max() <= 0:
        return np.zeros(len(penalties))
    unit = 2.0 ** np.ceil(np.log2(penalties.max())) * GRID
    return np.maximum(0.0, np.round(penalties / unit) * unit)


def separate(rows: NDArray[np.signedinteger], shares: Floats, known: set[bytes], most: int = CUTS) -> Cuts:
    """The most violated cuts of a fractional solution, few for each record so that they spread.

    rows: the groups (filled up with -1), shares: how much of each is taken. `known` cuts are left out, and
    new ones become known.
    """
    names = np.unique(rows[rows >= 0])
    if not len(names):
        return Cuts.none()
    compact = np.where(rows >= 0, np.searchsorted(names, rows), -1)
    group, place = np.nonzero(compact >= 0)
    record = compact[group, place]
    order = np.argsort(record, kind="stable")
    table = compact, shares, np.searchsorted(record[order], np.arange(len(names) + 1)), group[order]
    looks = [partial(violated_triples, *table, VIOLATED)]
    looks += [partial(grow_cuts, *table, np.array(p), q, VIOLATED) for p, q in PATTERNS]
    found = map_threads(lambda look: look(), looks)
    excess = np.concatenate([excess for _, excess in found])
    patterns = (((1, 1, 1), 2), *PATTERNS)
    answers = [_sorted_cuts(names[rows], np.array(p), q) for (p, q), (rows, _) in zip(patterns, found)]
    return _chosen(Cuts.joined(answers), excess, known, most)


def _chosen(cuts: Cuts, excess: Floats, known: set[bytes], most: float = np.inf) -> Cuts:
    """The most violated of these cuts, at most so many and few for each record; they become known."""
    names, taken = cuts.names(), np.zeros(cuts.records.max(initial=0) + 1, np.int64)
    chosen = []
    for t in np.argsort(-excess, kind="stable"):
        inside = cuts.records[t][cuts.records[t] >= 0]
        if names[t] not in known and taken[inside].max() < CUTS_OF_A_RECORD:
            known.add(names[t])
            taken[inside] += 1
            chosen.append(t)
            if len(chosen) == most:
                break
    return cuts[np.array(chosen, np.int64)]


def _sorted_cuts(chosen: Ints, weights: Ints, divisor: int) -> Cuts:
    """Cuts of one pattern, the records of equal weight in order: the same cut looks the same."""
    records = np.full((len(chosen), WIDTH), -1, np.int64)
    every = np.zeros((len(chosen), WIDTH), np.int64)
    every[:, : len(weights)] = weights
    for weight in np.unique(weights):
        same = np.flatnonzero(weights == weight)
        records[:, same] = np.sort(chosen[:, same], axis=1)
    return Cuts(records, every, np.full(len(chosen), divisor, np.int64))


def eliminate(
    rows: NDArray[np.signedinteger],
    shares: Floats,
    divisor: int,
    random: np.random.Generator,
    known: set[bytes],
    widest: int = WIDEST,
) -> Cuts:
    """Cuts of any length with divisor 2 or 3 that these shares of groups break, few for each record.

    For whole weights w below q, a solution that holds each record once has sum over G of w(G) x_G = sum(w).
    So the cut of these weights says: sum over G of (w(G) mod q) x_G >= sum(w) mod q. To find weights that
    break it, the records' equations are added up modulo q, such that groups with large shares vanish in turn.
    """
    names = np.unique(rows[rows >= 0])
    group, place = np.nonzero(rows >= 0)
    matrix = np.zeros((len(names), len(rows)), np.int8)
    matrix[np.searchsorted(names, rows[group, place]), group] = 1
    order = np.argsort(-shares * random.uniform(LEAST_DRAW, 1.0, len(rows)), kind="stable")
    weights, excess = eliminated(matrix, order, shares, divisor, VIOLATED, widest)
    found, member = np.nonzero(weights)
    place = np.arange(len(found)) - np.searchsorted(found, found)
    records, shown = np.full((len(weights), WIDEST), -1), np.zeros((len(weights), WIDEST), np.int64)
    records[found, place], shown[found, place] = names[member], weights[found, member]
    return _chosen(Cuts(records, shown, np.full(len(weights), divisor)), excess, known)
