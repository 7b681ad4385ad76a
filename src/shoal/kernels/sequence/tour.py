"""A short round tour: 2-opt and Or-opt over neighbour lists, then repeated kicks that are kept if they help.

`tour` holds the records in order of visit, `place` where each stands in it. Every change is built of
reversals of a stretch of the tour, so that a failed attempt is undone by repeating them backwards.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel

LONGEST = 3  # records in a segment that Or-opt moves, as Or (1976) has it
REACH = 50  # records at most in the two neighbouring stretches of a kick: short ones are quickly undone
LEAST = 1e-9  # a gain below that share of the removed edges is rounding
FAR = (
    25_000  # steps between records that a move joins: longer stretches (of over 50,000 records) take too long
)


@kernel
def _length(X, a, b):
    total = 0.0  # `distance.between` in place: to call it from here made tours 5 % slower
    for j in range(X.shape[1]):
        difference = X[a, j] - X[b, j]
        total += difference * difference
    return np.sqrt(total)


@kernel
def _reverse(tour, place, i, j, log, count):
    """Turn round the stretch from position i on to j (over the end if i > j), or, if shorter, the rest.

    Both leave the same round tour. `log` is a list of the reversals done, as pairs of positions.
    """
    n = len(tour)
    if count < len(log):
        log[count, 0], log[count, 1] = i, j
    inside = (j - i) % n + 1
    if 2 * inside > n:
        i, j = (j + 1) % n, (i - 1) % n
        inside = n - inside
    for _ in range(inside // 2):
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        place[b], place[a] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1
    return count + 1


@kernel
def _move_segment(tour, place, first, last, left, turned, log, count):
    """Move the stretch first..last between `left` and the record after it; `turned`: last comes first."""
    n = len(tour)
    before = tour[place[first] - 1]
    after = tour[(place[last] + 1) % n]
    for part in range(2 if turned else 3):
        if part == 0:
            a, b = first, left
        elif part == 1:  # now: before, left .. after, last .. first, and on; or all this mirrored
            a, b = (left, after) if tour[(place[before] + 1) % n] == left else (after, left)
        else:
            a, b = (last, first) if tour[(place[left] + 1) % n] == last else (first, last)
        count = _reverse(tour, place, place[a], place[b], log, count)
    return count


@kernel
def _far(place, a, b):
    steps = abs(place[a] - place[b])
    return min(steps, len(place) - steps) > FAR


@kernel
def _two_opt(X, near, tour, place, a, log, count, touched):
    """Exchange two edges, one of them at record a. Returns the gain and the length of the log."""
    n = len(tour)
    for step in (1, -1):
        b = tour[(place[a] + step) % n]
        ab = _length(X, a, b)
        for c in near[a]:
            ac = _length(X, a, c)
            if ac >= ab:
                break
            d = tour[(place[c] + step) % n]
            if c == b or d == a or _far(place, a, c):
                continue
            cd = _length(X, c, d)
            gain = ab + cd - ac - _length(X, b, d)
            if gain > LEAST * (ab + cd):
                first, last = (b, c) if step == 1 else (a, d)
                count = _reverse(tour, place, place[first], place[last], log, count)
                touched[0], touched[1], touched[2], touched[3] = a, b, c, d
                touched[4], touched[5] = a, b
                return gain, count
    return 0.0, count


@kernel
def _or_opt(X, near, tour, place, a, log, count, touched):
    """Move a segment that ends with record a beside a near neighbour of a."""
    n = len(tour)
    for step in (1, -1):
        for size in range(1, min(LONGEST, n - 3) + 1):
            # The segment goes from a in direction `step` to e; p and q are its neighbours.
            e = tour[(place[a] + step * (size - 1)) % n]
            p = tour[(place[a] - step) % n]
            q = tour[(place[e] + step) % n]
            removed = _length(X, p, a) + _length(X, e, q)
            room = removed - _length(X, p, q)
            for c in near[a]:
                ac = _length(X, a, c)
                if ac >= room:
                    break
                if _far(place, a, c):
                    continue
                for side in (1, -1):
                    d = tour[(place[c] + side) % n]
                    if (place[c] - place[a]) * step % n < size or (place[d] - place[a]) * step % n < size:
                        continue
                    cd = _length(X, c, d)
                    gain = room + cd - ac - _length(X, e, d)
                    if gain > LEAST * (removed + cd):
                        first, last = (a, e) if step == 1 else (e, a)
                        left, head = (c, a) if side == 1 else (d, e)  # head comes right after left
                        count = _move_segment(tour, place, first, last, left, head == last, log, count)
                        touched[0], touched[1], touched[2] = a, e, p
                        touched[3], touched[4], touched[5] = q, c, d
                        return gain, count
    return 0.0, count


@kernel
def _improve_around(X, near, tour, place, queue, waiting, many, log, count):
    """Improve around the `many` records in the queue until none has an improving move. Returns the gain."""
    n = len(tour)
    touched = np.empty(6, np.int64)
    total = 0.0
    first = 0
    while many > 0:
        a = queue[first]
        first = (first + 1) % n
        many -= 1
        waiting[a] = False
        while True:
            gain, count = _two_opt(X, near, tour, place, a, log, count, touched)
            if gain == 0.0:
                gain, count = _or_opt(X, near, tour, place, a, log, count, touched)
            if gain == 0.0:
                break
            total += gain
            for record in touched:
                if not waiting[record] and record != a:
                    waiting[record] = True
                    queue[(first + many) % n] = record
                    many += 1
    return total, count


@kernel
def improve_tour(X, near, path, kicks):
    """Shorten the round tour `path`; `near` holds each record's nearest neighbours, nearest first.

    After 2-opt and Or-opt find nothing more, `kicks` times two neighbouring stretches somewhere (a fixed
    pseudo-random sequence) are exchanged, the surroundings improved, and all undone unless it gained.
    """
    n = len(path)
    tour = path.copy()
    place = np.empty(n, np.int64)
    place[tour] = np.arange(n)
    queue = tour.copy()
    waiting = np.ones(n, np.bool_)
    log = np.empty((1000, 2), np.int64)
    many = n
    reach = min(REACH, (n - 2) // 2)
    state = 1
    for kick in range(1 + kicks if n >= 8 else 1):
        gain, count = 0.0, 0
        if kick > 0:
            i, middle, j = 0, 0, 0
            for part in range(3):
                state = (state * 1103515245 + 12345) % 2147483648
                ahead = (state >> 8) % n if part == 0 else (state >> 8) % reach + 1
                i, middle, j = middle, j, (j + ahead) % n
            # Exchange the stretches i+1..middle and middle+1..j.
            a, b, c, d = tour[i], tour[(i + 1) % n], tour[middle], tour[(middle + 1) % n]
            e, f = tour[j], tour[(j + 1) % n]
            gain = _length(X, a, b) + _length(X, c, d) + _length(X, e, f)
            gain -= _length(X, a, d) + _length(X, e, b) + _length(X, c, f)
            count = _move_segment(tour, place, b, c, e, False, log, 0)
            many = 0
            for record in (a, b, c, d, e, f):
                if not waiting[record]:
                    waiting[record] = True
                    queue[many] = record
                    many += 1
        more, count = _improve_around(X, near, tour, place, queue, waiting, many, log, count)
        if gain + more < 0.0 and count <= len(log):
            for undo in range(count - 1, -1, -1):
                _reverse(tour, place, log[undo, 0], log[undo, 1], log, len(log))
    return tour
