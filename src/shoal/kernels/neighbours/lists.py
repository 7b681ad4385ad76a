"""Each record's nearest records, exactly: for tables of a few records up to millions."""

from collections.abc import Callable

import numpy as np

from shoal.kernels.neighbours.distance import all_squares
from shoal.kernels.neighbours.kd_tree import build_at_once, fill_leaves
from shoal.kernels.neighbours.pool import Free, lay_out, search
from shoal.kernels.runtime.jit import WORTH_COMPILING, kernel
from shoal.kernels.runtime.threads import map_threads

#: Records that one thread looks up before it takes the next ones: many enough that handing them out costs
#: nothing, few enough that the threads end together.
STEP = 5000
#: Records from which several threads make the tree.
MANY = 50_000


@kernel
def _query(X, records, free, apart, ids, squares, slack):
    """Fill the rows of these records of X: neighbours by distance, ties by lowest index."""
    row = np.empty(ids.shape[1], np.int64)
    for record in records:
        search(free, X[record], record if apart else -1, row, squares[record], slack)
        for place in range(len(row)):  # to assign an array would take seconds to compile
            ids[record, place] = row[place]


@kernel
def nearest_squares(X, records, free, squares):
    """Fill squares with the squared distances of these records of X to their nearest, where it has room."""
    row = np.empty(squares.shape[1], np.int64)
    for at in range(len(records)):
        search(free, X[records[at]], records[at], row, squares[at], 1.0)


_none, _zeros, _box = np.empty(0, np.int64), np.empty(0), np.empty((0, 0))
#: A tree without records.
NOTHING = Free(
    _none, _none, _none, _box, _box, _none, _none, _zeros, _zeros, _none, _zeros, _none, _zeros, _box
)


def look_up(X: np.ndarray, room: Callable[[int], np.ndarray] = np.empty) -> Free:
    """A tree of all rows for `search` alone, made by several threads: what other searches need is empty.

    `room` gives the place for the coordinates.
    """
    tree = build_at_once(X)
    columns, nodes = room(X.size), len(tree.child)
    map_threads(
        lambda first: fill_leaves(X, tree, columns, first, min(first + STEP, nodes)), range(0, nodes, STEP)
    )
    facts = tree._asdict()
    return NOTHING._replace(ids=facts.pop("order"), **facts, left=tree.end - tree.start, columns=columns)


def nearest(
    X: np.ndarray,
    m: int,
    threads: int | None = None,
    slack: float = 1.0,
    few: int = WORTH_COMPILING,
    among: np.ndarray | None = None,
    many: int = MANY,
) -> tuple[np.ndarray, np.ndarray]:
    """The m nearest other records of each record (n x m, nearest first) and their squared distances.

    `among`: instead of the other records, the rows of this table. Of up to `few` records all distances are
    sorted, of `many` or more several threads make the tree; the outcome is the same.
    """
    n, apart = len(X), among is None
    among = X if among is None else among
    m = min(m, len(among) - apart)
    if n <= few:
        squares = all_squares(X, among)
        if apart:
            np.fill_diagonal(squares, np.inf)
        order = np.argsort(squares, axis=1, kind="stable")[:, :m]
        return order.astype(np.int32), np.take_along_axis(squares, order, axis=1)
    free = look_up(among) if len(among) >= many else lay_out(among, np.arange(len(among)))
    records = free.ids if apart else np.arange(n)  # neighbouring places share leaves, which the cache keeps
    ids = np.empty((n, m), np.int32)
    squares = np.full((n, m), np.inf)
    map_threads(
        lambda first: _query(X, records[first : first + STEP], free, apart, ids, squares, slack),
        range(0, n, STEP),
        threads,
    )
    return ids, squares


@kernel
def inside(near, rows, place):
    """The lists of one block's records as places in the block: without records of other blocks.

    What is left fills the list again and again; a record without a neighbour in its block has itself. `place`
    tells a record's place in its own block.
    """
    lists = np.empty((len(rows), near.shape[1]), np.int32)
    for i in range(len(rows)):
        many = 0
        for t in range(near.shape[1]):
            other = near[rows[i], t]
            at = place[other]
            if at < len(rows) and rows[at] == other:
                lists[i, many] = at
                many += 1
        if many == 0:
            lists[i, 0], many = i, 1
        for t in range(many, lists.shape[1]):
            lists[i, t] = lists[i, t - many]
    return lists
