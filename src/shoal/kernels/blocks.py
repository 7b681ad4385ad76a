"""Nearest and farthest search among the records that are still free.

The free records lie in blocks of near neighbours. A block keeps its records' coordinates together, one
attribute after the other, so that a distance loop streams through memory several records at a time; and
it keeps its bounding box, by which a search skips the whole block if none of its records can matter.
The box's bound is summed in the order in which distances are summed, and rounding is monotone, so the
bound never passes a computed distance: a search finds exactly what a full scan would. Equal distances:
the record with the lowest row index.

cells   (blocks, attributes, width)  coordinates; the first size[b] places of block b are taken
ids     (blocks, width)              whose coordinates they are
size    (blocks,)                    records left in each block
box     (2, attributes, blocks)      least and largest value of each attribute in each block
slot    (records,)                   block * width + place of each free record, -1 if it is free no more
total   (attributes,)                sum of the free records
"""

import numpy as np

from shoal.kernels._jit import kernel


@kernel
def _distances(cells, b, m, point, out):
    """Squared distances of the m records of block b to the point."""
    out[:m] = 0.0
    for j in range(len(point)):
        for i in range(m):
            difference = cells[b, j, i] - point[j]
            out[i] += difference * difference


@kernel
def nearest(cells, ids, size, box, point, count, but):
    """The `count` records nearest to the point, without record `but`; and their squared distances.

    Nearest first. Where fewer records are there, the rest is -1.
    """
    blocks, d, width = cells.shape
    least = np.zeros(blocks)
    for j in range(d):
        for b in range(blocks):
            outside = max(box[0, j, b] - point[j], point[j] - box[1, j, b], 0.0)
            least[b] += outside * outside
    first = np.argmin(least)
    found = np.full(count, -1, np.int64)
    distance = np.full(count, np.inf)
    if count == 0:
        return found, distance
    here = np.empty(width)
    for step in range(blocks):
        b = (first + step) % blocks
        if least[b] > distance[count - 1]:
            continue
        _distances(cells, b, size[b], point, here)
        for i in range(size[b]):
            record = ids[b, i]
            if here[i] > distance[count - 1] or record == but:
                continue
            if here[i] == distance[count - 1] and record > found[count - 1]:
                continue
            place = count - 1
            while place > 0 and (
                distance[place - 1] > here[i]
                or (distance[place - 1] == here[i] and found[place - 1] > record)
            ):
                distance[place] = distance[place - 1]
                found[place] = found[place - 1]
                place -= 1
            distance[place] = here[i]
            found[place] = record
    return found, distance


@kernel
def farthest(cells, ids, size, box, point):
    """The record farthest from the point, and its squared distance."""
    blocks, d, width = cells.shape
    most = np.zeros(blocks)
    for j in range(d):
        for b in range(blocks):
            side = max(box[1, j, b] - point[j], point[j] - box[0, j, b])
            most[b] += side * side
    first = np.argmax(most)
    best = -1.0
    record = -1
    here = np.empty(width)
    for step in range(blocks):
        b = (first + step) % blocks
        if most[b] < best:
            continue
        _distances(cells, b, size[b], point, here)
        for i in range(size[b]):
            if here[i] > best or (here[i] == best and ids[b, i] < record):
                best = here[i]
                record = ids[b, i]
    return record, best


@kernel
def remove(cells, ids, size, slot, total, records):
    """Take the records out: the last record of a block fills the gap."""
    d, width = cells.shape[1:]
    for record in records:
        b = slot[record] // width
        i = slot[record] % width
        size[b] -= 1
        last = size[b]
        for j in range(d):
            total[j] -= cells[b, j, i]
            cells[b, j, i] = cells[b, j, last]
        ids[b, i] = ids[b, last]
        slot[ids[b, i]] = slot[record]
        slot[record] = -1


@kernel
def gather(cells, ids, size, box, slot, total, start, k):
    """Take out `start` and, one by one, the k-1 records nearest to the centroid of those taken so far."""
    d, width = cells.shape[1:]
    taken = np.full(k, start)
    together = np.zeros(d)
    for t in range(k):
        if t > 0:
            found, _ = nearest(cells, ids, size, box, together / t, 1, -1)
            taken[t] = found[0]
        place = slot[taken[t]]
        for j in range(d):
            together[j] += cells[place // width, j, place % width]
        remove(cells, ids, size, slot, total, taken[t : t + 1])
    return taken


@kernel
def add_up(cells, size, total):
    """Sum the records anew, so that the rounding of many subtractions does not pile up."""
    total[:] = 0.0
    for b in range(len(size)):
        for j in range(len(total)):
            for i in range(size[b]):
                total[j] += cells[b, j, i]
