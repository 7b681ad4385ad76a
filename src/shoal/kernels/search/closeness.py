"""How far the distribution of a confidential column within a group lies from that of the whole table."""

import numpy as np

from shoal.kernels.runtime.jit import kernel


@kernel
def arrange(members, count, codes):
    """Put the first `count` members into the order of their codes, in place (Shell's sort)."""
    gap = count // 2
    while gap > 0:
        for a in range(gap, count):
            x, b = members[a], a
            while b >= gap and codes[members[b - gap]] > codes[x]:
                members[b] = members[b - gap]
                b -= gap
            members[b] = x
        gap //= 2


@kernel
def distance(members, count, codes, one, two, ordered):
    """Earth mover's distance over levels that lie 1 / (m - 1) apart if `ordered`, else total variation.

    `members` stand in the order of their codes. If `ordered`, `one` has the share of all records up to each
    level and `two` the sums of these; else `one` has the share of each level.
    """
    m, total, run = len(one), 0.0, 0
    if ordered and codes[members[0]] > 0:
        total = two[codes[members[0]] - 1]
    for a in range(count):
        run += 1
        code, last = codes[members[a]], a + 1 == count
        until = m - 1 if last else codes[members[a + 1]]
        if not last and until == code:
            continue
        if ordered:  # from this level to the next the group's distribution is flat
            height = (a + 1) / count
            turn = min(max(np.searchsorted(one, height), code), until)  # there the table's passes it
            below = two[code - 1] if code > 0 else 0.0
            middle = two[turn - 1] if turn > 0 else 0.0
            above = two[until - 1] if until > 0 else 0.0
            total += height * (2 * turn - code - until) - 2 * middle + below + above
        else:
            total += max(run / count - one[code], 0.0)
        run = 0
    return total / max(m - 1, 1) if ordered else total


@kernel
def distances(order, starts, codes, one, two, ordered):
    """The distance of each of the groups order[starts[g] : starts[g + 1]]."""
    found = np.empty(len(starts) - 1)
    for g in range(len(found)):
        members = order[starts[g] : starts[g + 1]].copy()
        arrange(members, len(members), codes)
        found[g] = distance(members, len(members), codes, one, two, ordered)
    return found
