"""Rank-1 cuts of any length with divisor 2 or 3, by elimination.

For whole weights w below q, a solution that holds each record once has sum over G of w(G) x_G = sum(w). So
the cut of these weights says: sum over G of (w(G) mod q) x_G >= sum(w) mod q. To find weights that break it,
the records' equations are added up modulo q, such that groups with large shares vanish one after another.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.cuts import CUTS_OF_A_RECORD, VIOLATED, Cuts
from shoal.kernels.search.cuts import eliminated

#: Records of the longest cut. On Tarragona with k = 3 half of those found have 20 to 45.
WIDEST = 50
#: Shares are multiplied by random numbers between this and 1 before the groups are sorted by them: other
#: orders find other cuts.
LEAST_DRAW = 0.7


def eliminate(
    rows: NDArray[np.signedinteger],
    shares: NDArray[np.float64],
    divisor: int,
    random: np.random.Generator,
    known: set[bytes],
) -> Cuts:
    """Cuts that these shares of groups (rows of records, filled up with -1) break, few for each record."""
    names = np.unique(rows[rows >= 0])
    group, place = np.nonzero(rows >= 0)
    matrix = np.zeros((len(names), len(rows)), np.int8)
    matrix[np.searchsorted(names, rows[group, place]), group] = 1
    order = np.argsort(-shares * random.uniform(LEAST_DRAW, 1.0, len(rows)), kind="stable")
    weights, excess = eliminated(matrix, order, shares, divisor, VIOLATED, WIDEST)
    taken = np.zeros(len(names), np.int64)
    records, all_weights = [np.empty((0, WIDEST), np.int64)], [np.empty((0, WIDEST), np.int64)]
    for weight in weights[np.argsort(-excess, kind="stable")]:
        inside = np.flatnonzero(weight)
        key = names[inside].tobytes() + weight[inside].tobytes() + bytes([divisor])
        if key not in known and taken[inside].max() < CUTS_OF_A_RECORD:
            known.add(key)
            taken[inside] += 1
            short = WIDEST - len(inside)
            records.append(np.pad(names[inside], (0, short), constant_values=-1)[None])
            all_weights.append(np.pad(weight[inside].astype(np.int64), (0, short))[None])
    chosen = np.concatenate(records).astype(np.int64)
    return Cuts(chosen, np.concatenate(all_weights), np.full(len(chosen), divisor, np.int64))
