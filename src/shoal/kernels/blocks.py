"""Nearest and farthest search among the records that are still free.

The free records lie in blocks of near neighbours. A block keeps its records' coordinates together, one
attribute after the other, so that a distance loop streams through memory several records at a time; and
it keeps its bounding box and its rim, by which a search skips the whole block if none of its records can
matter. The box's bound is summed in the order in which distances are summed, and rounding is monotone,
so the bound never passes a computed distance; the rim's has a margin. So a search finds exactly what a
full scan would. Equal distances: the record with the lowest row index.

cells   (blocks, attributes, width)  coordinates; the first size[b] places of block b are taken
ids     (blocks, width)              whose coordinates they are
size    (blocks,)                    records left in each block
box     (2, attributes, blocks)      least and largest value of each attribute in each block
middle  (attributes, blocks)         mean of each block, as seen from the centre of all
rim     (2, blocks)                  largest distance from the middle; the same, squared, from the centre
slot    (records,)                   block * width + place of each free record, -1 if it is free no more
total   (attributes,)                sum of the free records
"""

import numpy as np

from shoal.kernels._jit import kernel

#: So many blocks are looked at in the order of their promise, before the others in any order.
PROMISING = 8


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
def farthest(cells, ids, size, middle, rim, point, centre):
    """The record farthest from the point, and its squared distance.

    Seen from the centre, |x - p|^2 = |x|^2 + |p|^2 - 2 p.x, where p.x is least for the middle of the block,
    less |p| times the block's radius. The blocks that promise most are looked at first.
    """
    blocks, d, width = cells.shape
    from_centre = point - centre
    square = 0.0
    for j in range(d):
        square += from_centre[j] * from_centre[j]
    most = np.empty(blocks)
    for b in range(blocks):
        most[b] = (square + rim[1, b]) * (1 + 1e-9) + 2 * np.sqrt(square) * rim[0, b]
    for j in range(d):
        for b in range(blocks):
            most[b] -= 2 * from_centre[j] * middle[j, b]
    best = -1.0
    record = -1
    here = np.empty(width)
    for step in range(-PROMISING, blocks):
        b = np.argmax(most) if step < 0 else step
        if most[b] < best:
            continue
        most[b] = -np.inf
        _distances(cells, b, size[b], point, here)
        for i in range(size[b]):
            if here[i] > best or (here[i] == best and ids[b, i] < record):
                best = here[i]
                record = ids[b, i]
    return record, best


@kernel
def farthest_inward(X, slot, inward, radius, start, point, shift):
    """The record farthest from a point near the centre, walking inwards; and where the free records start.

    `inward` are all records by falling radius around the centre, `shift` is the point's distance from
    it: once radius + shift is below the best distance, the rest cannot win.
    """
    while slot[inward[start]] < 0:
        start += 1
    best = -1.0
    record = -1
    for t in range(start, len(inward)):
        i = inward[t]
        if slot[i] < 0:
            continue
        reach = radius[i] + shift
        if reach * reach * (1 + 1e-9) < best:
            break
        square = 0.0
        for j in range(len(point)):
            difference = X[i, j] - point[j]
            square += difference * difference
        if square > best or (square == best and i < record):
            best = square
            record = i
    return record, start


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
