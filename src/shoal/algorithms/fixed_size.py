"""Groups of k around extreme records: the two farthest apart, or the one farthest from a centroid."""

import heapq
from collections.abc import Iterator

import numpy as np

from shoal.algorithms._pool import Pool
from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.grouping.registry import method

LASZLO = "Laszlo and Mukherjee 2005"


def farthest_pairs(pool: Pool) -> Iterator[tuple[int, int]]:
    """The two free records farthest apart, each time it is asked; of equal pairs the one of lowest rows.

    Each record carries a bound on its squared distance to any free record: by the triangle inequality
    over a fixed centre, or what the farthest record's distance was when we last looked. Records only ever
    leave, so a bound stays true; and once the partner behind the greatest bound is still free, that
    bound is the diameter. So a search is made only for a record at the head of the heap.
    """
    heap: list[tuple[float, int, int | None]] = [(-np.inf, a, None) for a in range(len(pool))]
    while heap:
        bound, a, b = heap[0]
        if a not in pool:
            heapq.heappop(heap)
        elif b is not None and b in pool:
            yield a, b
        elif -(reach := pool.reach(a)) > bound:
            heapq.heapreplace(heap, (-reach, a, None))
        else:
            b, square = pool.farthest_from(a)
            heapq.heapreplace(heap, (-square, a, b))


def _diameter_pairs(X: Floats, k: int, make_group, progress) -> Ints:
    """Groups around the two farthest records while 2k remain; then k to 2k-1 are one, fewer join theirs."""
    pool = Pool(X, progress)
    pairs = farthest_pairs(pool)
    while len(pool) >= 2 * k:
        a, b = next(pairs)
        make_group(pool, a, k)
        if b in pool:
            make_group(pool, b, k)
    if len(pool) >= k:
        pool.take_rest()
    return pool.finish()


@method(title="Diameter-based fixed size (D)", paper=LASZLO, sizes="k..2k-1", cost="n^2, up to n^3/k")
def diameter(X, k, *, progress=None):
    """Take the two records farthest apart, and gather a group around the moving centroid of each.

    Ours: should the first group swallow the second extreme, the next pair is looked for at once.
    """
    return _diameter_pairs(X, k, Pool.gather, progress)


@method(title="Centroid-based fixed size (C)", paper=LASZLO, sizes="k..2k-1", cost="n^2")
def centroid(X, k, *, progress=None):
    """Take the record farthest from the centroid, and gather a group around its moving centroid."""
    pool = Pool(X, progress)
    while len(pool) >= k:
        pool.gather(pool.farthest_from_centroid(), k)
    return pool.finish()


@method(
    title="Maximum Distance (MD)",
    paper="Domingo-Ferrer and Mateo-Sanz 2002",
    sizes="k..2k-1",
    cost="n^2/k, up to n^3/k",
)
def md(X, k, *, progress=None):
    """Take the two records farthest apart, each with the k-1 records nearest to it."""
    return _diameter_pairs(X, k, Pool.take_around, progress)


@method(title="CBFS", paper=LASZLO + ", as Domingo-Ferrer et al. 2006 use it", sizes="k..2k-1", cost="n^2/k")
def cbfs(X, k, *, progress=None):
    """Take the record farthest from the centroid of the free records, with the k-1 nearest to it."""
    pool = Pool(X, progress)
    pool.peel(k, k, pairs=False)
    return pool.finish()


@method(title="V-MDAV", paper="Solanas and Martinez-Balleste 2006", sizes="k..", cost="n^2", mixed=True)
def vmdav(X, k, *, gamma: float = 0.2, progress=None):
    """The record farthest from the table's centroid and its k-1 nearest; up to 2k-1 if more lie close by.

    A free record x joins if its distance to the group is below gamma times its distance to the nearest
    other free record: about 0.2 serves scattered data, 1.1 clustered data. Recalled, not read: the paper
    is not at hand. The fewer than k left join their nearest groups, which can take one above 2k-1.
    """
    if not gamma >= 0:
        raise InputError(f"gamma must be 0 or more, but is {gamma!r}: about 0.2 to 1.1 is usual")
    pool = Pool(X, progress)
    outward = np.argsort(-np.square(X - pool.centroid()).sum(1), kind="stable").tolist()
    for e in pool.still_free(outward):
        if len(pool) < k:
            break
        group = [e, *pool.nearest(e, k - 1).tolist()]
        pool.take(group)
        nearest: dict[int, tuple[float, int]] = {}  # to each member; searched again when that one joins
        while len(group) < 2 * k - 1 and len(pool):
            for member in group:
                if member not in nearest or nearest[member][1] not in pool:
                    nearest[member] = pool.nearest_to(member)[::-1]
            inside, x = min(nearest.values())
            _, outside = pool.nearest_to(x)
            if not inside < gamma**2 * outside:
                break
            pool.add(x)
            group.append(x)
    return pool.finish()
