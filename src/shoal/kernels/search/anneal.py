"""Simulated annealing of a partition: proposals whose change of SSE costs O(d), millions a second.

The state of a search is a handful of arrays (`shoal.optimise.search` makes them): P, the records padded to
a multiple of four columns; C, the mean of each group; sizes and members of each group; the label of each
record and its place among its group's members. Groups keep k..2k-1 members throughout. A proposal takes a
random record x and the group of one of its near neighbours, and tries to bring x there; what another record
must do in return is the kind of the move.
"""

import numpy as np

from shoal.kernels.runtime.jit import kernel

#: -log of evenly spread probabilities: a move is taken if its change is below temperature * one of these.
PATIENCE = -np.log((np.arange(1024) + 0.5) / 1024)

#: The kind of a move by a random number below 1024: each kind takes what is left below its number, cycles the
#: rest. Measured on normal data, Census and EIA at k = 3 and 10, runs of 1,000 proposals a record: without
#: create and dissolve the SSE is 0.7 to 4 % larger, on EIA 15 and 42 %; without paths and cycles 0.2 to 0.7 %
#: larger, but on Census 0.2 % smaller.
CREATE, DISSOLVE, RELOCATE, SWAP, PATH = 10, 20, 512, 820, 920

#: Indices have no sign here: an index with one may count from the end, and what asks for that keeps the
#: processor from working on four columns at once (a quarter of the time).
ZERO, ONE, TWO, THREE, FOUR = np.arange(5, dtype=np.uint64)


@kernel
def _next(u):
    """The next state of a xorshift generator of 64 bits (shifts 13, 7, 17)."""
    u ^= u << np.uint64(13)
    u ^= u >> np.uint64(7)
    return u ^ (u << np.uint64(17))


@kernel
def _square(p, q):
    """Squared distance of two padded vectors.

    Not `distance.between`: four running sums let the processor work on four columns at once.
    """
    s0 = s1 = s2 = s3 = 0.0
    for j in range(ZERO, np.uint64(p.shape[0]), FOUR):
        d0 = p[j] - q[j]
        d1 = p[j + ONE] - q[j + ONE]
        d2 = p[j + TWO] - q[j + TWO]
        d3 = p[j + THREE] - q[j + THREE]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    return (s0 + s1) + (s2 + s3)


@kernel
def _exchange(P, C, x, z, A, B, inverse):
    """Change of SSE when x of group A and z of group B change places.

    With v = z - x the sums change by v and -v: the change is -2 v(c_A - c_B) - |v|^2 (1/a + 1/b).
    """
    s0 = s1 = s2 = s3 = 0.0
    t0 = t1 = t2 = t3 = 0.0
    for j in range(ZERO, np.uint64(P.shape[1]), FOUR):
        v0 = P[z, j] - P[x, j]
        v1 = P[z, j + ONE] - P[x, j + ONE]
        v2 = P[z, j + TWO] - P[x, j + TWO]
        v3 = P[z, j + THREE] - P[x, j + THREE]
        s0 += v0 * (C[A, j] - C[B, j])
        s1 += v1 * (C[A, j + ONE] - C[B, j + ONE])
        s2 += v2 * (C[A, j + TWO] - C[B, j + TWO])
        s3 += v3 * (C[A, j + THREE] - C[B, j + THREE])
        t0 += v0 * v0
        t1 += v1 * v1
        t2 += v2 * v2
        t3 += v3 * v3
    return -2.0 * ((s0 + s1) + (s2 + s3)) - ((t0 + t1) + (t2 + t3)) * inverse


@kernel
def _replaced(P, C, A, out, into, inverse):
    """Change of SSE of group A when the record `into` takes the place of its member `out`."""
    s0 = s1 = 0.0
    t0 = t1 = 0.0
    for j in range(ZERO, np.uint64(P.shape[1]), TWO):
        v0 = P[into, j] - P[out, j]
        v1 = P[into, j + ONE] - P[out, j + ONE]
        s0 += v0 * (P[into, j] + P[out, j] - 2.0 * C[A, j])
        s1 += v1 * (P[into, j + ONE] + P[out, j + ONE] - 2.0 * C[A, j + ONE])
        t0 += v0 * v0
        t1 += v1 * v1
    return (s0 + s1) - (t0 + t1) * inverse


@kernel
def _replace(P, C, sizes, members, A, place, out, into):
    """Let `into` take the place of `out` in group A."""
    members[A, place] = into
    weight = 1.0 / sizes[A]
    for j in range(np.uint64(P.shape[1])):
        C[A, j] += (P[into, j] - P[out, j]) * weight


@kernel
def _put(P, C, sizes, members, labels, places, B, x):
    """Add x to group B."""
    b = sizes[B]
    members[B, b] = x
    labels[x] = B
    places[x] = b
    sizes[B] = b + 1
    weight = 1.0 / (b + 1)
    for j in range(np.uint64(P.shape[1])):
        C[B, j] += (P[x, j] - C[B, j]) * weight


@kernel
def _take(P, C, sizes, members, places, A, x):
    """Take x out of group A (its label stays for the caller to change)."""
    a = sizes[A] - 1
    last = members[A, a]
    members[A, places[x]] = last
    places[last] = places[x]
    sizes[A] = a
    weight = 1.0 / a if a > 0 else 0.0
    for j in range(np.uint64(P.shape[1])):
        C[A, j] += (C[A, j] - P[x, j]) * weight


@kernel
def refresh(P, C, sizes, members):
    """Means anew from the members, so that rounding never adds up; the SSE of each group."""
    sse = np.empty(len(sizes))
    for g in range(len(sizes)):
        sse[g] = 0.0
        if sizes[g] == 0:
            continue
        first = members[g, 0]
        for j in range(np.uint64(P.shape[1])):
            total = 0.0
            for s in range(1, sizes[g]):
                total += P[members[g, s], j] - P[first, j]
            C[g, j] = P[first, j] + total / sizes[g]
        for s in range(sizes[g]):
            sse[g] += _square(P[members[g, s]], C[g])
    return sse


@kernel
def _dissolve(P, C, sizes, members, labels, places, neighbours, k, A, limit):
    """Move every member of A to the group that takes it cheapest; undo it all unless the change < limit."""
    a = sizes[A]
    change = 0.0
    for s in range(a):
        change -= _square(P[members[A, s]], C[A])
    done = 0
    for s in range(a):
        x = np.uint64(members[A, s])
        best = A
        cost = np.inf
        for j in range(neighbours.shape[1]):
            B = np.uint64(labels[np.uint64(neighbours[x, j])])
            b = sizes[B]
            if A != B and b < 2 * k - 1 and best != B:
                c = _square(P[x], C[B]) * (b / (b + 1.0))
                if c < cost:
                    cost = c
                    best = B
        if best == A:
            change = np.inf
            break
        change += cost
        if change >= limit:  # it only grows from here
            break
        _put(P, C, sizes, members, labels, places, best, x)
        done += 1
    if done == a and change < limit:
        sizes[A] = 0
        return True
    for s in range(done - 1, -1, -1):
        x = np.uint64(members[A, s])
        _take(P, C, sizes, members, places, np.uint64(labels[x]), x)
        labels[x] = A
        places[x] = s
    return False


@kernel
def _create(P, C, sizes, members, labels, places, neighbours, k, x, G, limit, came):
    """Gather a new group G of x and near records out of groups above k; undo it unless the change < limit."""
    change = 0.0
    for t in range(neighbours.shape[1] + 1):
        y = x if t == 0 else np.uint64(neighbours[x, t - 1])
        A = np.uint64(labels[y])
        a = sizes[A]
        if A == G or a <= k:
            if t == 0:
                return False
            continue
        change -= _square(P[y], C[A]) * (a / (a - 1.0))
        g = sizes[G]
        came[g] = A
        _take(P, C, sizes, members, places, A, y)
        if g > 0:
            change += _square(P[y], C[G]) * (g / (g + 1.0))
        _put(P, C, sizes, members, labels, places, G, y)
        if g + 1 == k:
            break
    if sizes[G] == k and change < limit:
        return True
    for s in range(sizes[G] - 1, -1, -1):
        _put(P, C, sizes, members, labels, places, came[s], np.uint64(members[G, s]))
    sizes[G] = 0
    return False


@kernel
def anneal(
    P,
    C,
    sizes,
    members,
    labels,
    places,
    neighbours,
    draw,
    heat,
    patience,
    k,
    temperature,
    proposals,
    seed,
    ahead,
):
    """Try so many proposals at one temperature, in place. `seed` is the state of the generator (xorshift64).

    `draw` lists the records as often as they shall be tried; `heat` scales the temperature for each. So many
    proposals are drawn `ahead` of their moves: those inside one group drop out before they cost anything, and
    the processor need not wait for one record to know the next.
    """
    n = np.uint64(len(draw))
    m = np.uint64(neighbours.shape[1])
    half = np.uint64(32)
    low = np.uint64(0xFFFF)
    short = np.uint64(16)
    u = seed[0]
    inverse = np.empty(2 * k)
    for s in range(1, 2 * k):
        inverse[s] = 1.0 / s
    came = np.empty(2 * k, np.uint64)
    spare = np.empty(len(sizes), np.uint64)
    frees = 0
    for g in range(len(sizes)):
        if sizes[g] == 0:
            spare[frees] = g
            frees += 1
    xs, ys = np.empty(ahead, np.uint64), np.empty(ahead, np.uint64)
    for done in range(0, proposals, ahead):
        # x, and the group of one of its neighbours: the product of two random numbers prefers near ones.
        many = 0
        for _ in range(min(ahead, proposals - done)):
            u = _next(u)
            x = np.uint64(draw[((u >> half) * n) >> half])
            near = ((u & low) * ((u >> short) & low)) >> short
            y = np.uint64(neighbours[x, (near * m) >> short])
            xs[many], ys[many] = x, y
            many += labels[x] != labels[y]
        for t in range(many):
            x = xs[t]
            A, B = np.uint64(labels[x]), np.uint64(labels[ys[t]])
            if A == B:
                continue
            u = _next(u)
            limit = temperature * heat[x] * patience[u & np.uint64(1023)]
            kind = np.int64((u >> np.uint64(10)) & np.uint64(1023))
            a = sizes[A]
            b = sizes[B]
            if kind < CREATE:
                if frees > 0 and a > k:
                    G = spare[frees - 1]
                    if _create(P, C, sizes, members, labels, places, neighbours, k, x, G, limit, came):
                        frees -= 1
                    continue
            elif kind < DISSOLVE:
                if _dissolve(P, C, sizes, members, labels, places, neighbours, k, A, limit):
                    spare[frees] = A
                    frees += 1
                continue
            if kind < RELOCATE and a > k and b < 2 * k - 1:
                change = _square(P[x], C[B]) * b * inverse[b + 1] - _square(P[x], C[A]) * a * inverse[a - 1]
                if change < limit:
                    _take(P, C, sizes, members, places, A, x)
                    _put(P, C, sizes, members, labels, places, B, x)
                continue
            # x goes to B and z leaves it: to A, or to a group D near z, which may send w to A.
            z = np.uint64(members[B, ((u >> half) * np.uint64(b)) >> half])
            if kind < SWAP:
                change = _exchange(P, C, x, z, A, B, inverse[a] + inverse[b])
                if change < limit:
                    px, pz = places[x], places[z]
                    _replace(P, C, sizes, members, A, px, x, z)
                    _replace(P, C, sizes, members, B, pz, z, x)
                    labels[x], labels[z] = B, A
                    places[x], places[z] = pz, px
                continue
            u = _next(u)
            near = ((u & low) * ((u >> short) & low)) >> short
            D = np.uint64(labels[np.uint64(neighbours[z, (near * m) >> short])])
            if D in (A, B):
                continue
            d = sizes[D]
            change = _replaced(P, C, B, z, x, inverse[b])
            if kind < PATH:
                if a > k and d < 2 * k - 1:
                    change += (
                        _square(P[z], C[D]) * d * inverse[d + 1] - _square(P[x], C[A]) * a * inverse[a - 1]
                    )
                    if change < limit:
                        _take(P, C, sizes, members, places, A, x)
                        _replace(P, C, sizes, members, B, places[z], z, x)
                        labels[x], places[x] = B, places[z]
                        _put(P, C, sizes, members, labels, places, D, z)
                continue
            w = np.uint64(members[D, ((u >> half) * np.uint64(d)) >> half])
            change += _replaced(P, C, D, w, z, inverse[d]) + _replaced(P, C, A, x, w, inverse[a])
            if change < limit:
                px, pz, pw = places[x], places[z], places[w]
                _replace(P, C, sizes, members, A, px, x, w)
                _replace(P, C, sizes, members, B, pz, z, x)
                _replace(P, C, sizes, members, D, pw, w, z)
                labels[x], labels[z], labels[w] = B, D, A
                places[x], places[z], places[w] = pz, pw, px
    seed[0] = u


@kernel
def _root(parent, g):
    while parent[g] != g:
        parent[g] = parent[parent[g]]
        g = parent[g]
    return g


@kernel
def cross(first, first_sse, second, second_sse):
    """The better of two partitions wherever they can be cut apart; the SSE of each of their groups is given.

    Groups that share records, directly or through others, make a part; a part holds the same records in
    both partitions, so each part is taken from the partition in which it costs less (the first on a tie).
    """
    offset = len(first_sse)
    parent = np.empty(offset + len(second_sse), np.int64)
    gain = np.empty(len(parent))
    total = 0.0
    for g in range(len(parent)):
        parent[g], gain[g] = g, 0.0
        total += first_sse[g] if g < offset else 0.0
    for x in range(len(first)):
        p, q = _root(parent, first[x]), _root(parent, second[x] + offset)
        parent[max(p, q)] = min(p, q)
    for g in range(len(parent)):
        parent[g] = _root(parent, g)
        gain[parent[g]] += first_sse[g] if g < offset else -second_sse[g - offset]
    least = 1e-12 * total
    out = np.empty(len(first), np.int64)
    for x in range(len(first)):
        out[x] = second[x] + offset if gain[parent[first[x]]] > least else first[x]
    return out
