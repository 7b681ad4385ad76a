"""Whole numbers that add up to what they did: a few groups' means are rounded the other way."""

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.errors import InputError
from shoal.grouping.partition import Partition

#: Distinct group sizes and steps for each that are tried first, and those that are tried if they fail.
FEW, MANY = (12, 64), (40, None)
#: The most entries of a table of sums: 100 MB of doubles and bits at the most.
ENTRIES = 100_000_000


class TotalLost(InputError):
    """No rounding of these groups' means adds up to the column's total."""


def keep_total(name: object, values: NDArray, published: NDArray, partition: Partition) -> NDArray:
    """The published values, changed as little as possible so that the column's total stays exactly.

    A step of one in a group of n records moves the total by n: the cheapest steps (in squared error) that
    bridge the difference are found by dynamic programming. No value leaves the column's range.
    """
    sizes = partition.sizes
    target = sum(values.tolist())
    published = published.astype(object)  # Python's whole numbers never overflow
    missing = int(target - (published * sizes.astype(object)).sum())
    if not missing:
        return published.astype(values.dtype)
    divisor = int(np.gcd.reduce(sizes))
    if missing % divisor:
        raise TotalLost(
            f"column {name!r} cannot keep its total {target} in whole numbers: "
            f"every group has a multiple of {divisor} records"
        )
    sums = np.zeros(len(sizes), object)
    np.add.at(sums, partition.labels, values.astype(object))
    rest = ((sums - published * sizes.astype(object)) / sizes).astype(np.float64)  # mean - published
    low, high, far = values.min().item(), values.max().item(), 2**40
    room = {  # how many steps up and down each group may go within the column's range
        1: np.array([min(high - value, far) for value in published], np.int64),
        -1: np.array([min(value - low, far) for value in published], np.int64),
    }
    steps = _steps(missing, sizes, rest, room)
    if steps is None:
        raise TotalLost(
            f"column {name!r} cannot keep its total {target} in whole numbers from {values.min()} to "
            f"{values.max()} in groups of {sizes.min()} to {sizes.max()} records"
        )
    return (published + steps.astype(object)).astype(values.dtype)


def _steps(missing: int, sizes: Ints, rest: NDArray, room: dict[int, Ints]) -> Ints | None:
    """For each group, by how much to raise what it publishes so that the total grows by `missing`."""
    for most_sizes, most_steps in (FEW, MANY):
        useful = _useful(sizes, most_sizes)
        largest = int(useful.max())
        steps, left = _come_near(missing, sizes, np.isin(sizes, useful), rest, room, largest)
        count = most_steps or 2 * largest + 1  # if any steps do, so do at most as many
        offers = [
            offer
            for size in useful.tolist()
            for sign in (1, -1)
            for offer in _cheapest(
                np.flatnonzero(sizes == size), size, sign, rest - steps, room[sign] - sign * steps, count
            )
        ]
        offers.sort(key=lambda offer: offer[:2])  # steps in turn, so that the sums on the way stay small
        reach = min(count * largest, max(8 * largest, ENTRIES // max(len(offers), 1)))
        chosen = _bridge(left, [(price, change) for _, _, price, change, _ in offers], reach)
        if chosen is not None:
            for item in chosen:
                _, _, _, change, group = offers[item]
                steps[group] += 1 if change > 0 else -1
            return steps
    return None


def _useful(sizes: Ints, most: int) -> Ints:
    """The commonest sizes, and rarer ones that divide what these cannot."""
    distinct, counts = np.unique(sizes, return_counts=True)
    order = distinct[np.argsort(-counts, kind="stable")]
    taken = order[:most].tolist()
    for size in order[most:].tolist():
        if size % np.gcd.reduce(taken):
            taken.append(size)
    return np.array(taken, np.int64)


def _come_near(
    missing: int, sizes: Ints, usable: Bools, rest: NDArray, room: dict[int, Ints], largest: int
) -> tuple[Ints, int]:
    """The cheapest steps in one direction until a few more can bridge what is left."""
    steps = np.zeros(len(sizes), np.int64)
    sign = 1 if missing > 0 else -1
    while abs(missing) >= largest:
        order = np.flatnonzero(usable & (room[sign] > sign * steps))
        order = order[np.argsort(-sign * (rest - steps)[order], kind="stable")]
        if not len(order):
            break
        taken = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), abs(missing), side="right")), 1)]
        steps[taken] += sign
        missing -= sign * int(sizes[taken].sum())
    return steps, missing


def _cheapest(
    groups: Ints, size: int, sign: int, rest: NDArray, room: Ints, count: int
) -> list[tuple[int, int, float, int, int]]:
    """The cheapest steps in groups of one size: (when to look at it, sign, cost, change of the total, group).

    The j-th further step of a group costs size * (2j + 1 - 2 * sign * rest) in squared error.
    """
    order = groups[np.argsort(-sign * rest[groups], kind="stable")][:count].tolist()
    rounds = -(-count // max(len(order), 1))  # few groups: several steps each
    prices = sorted(
        (size * (2 * j + 1 - 2 * sign * float(rest[g])), g)
        for g in order
        for j in range(min(rounds, int(room[g])))
    )
    return [(turn * size, sign, price, sign * size, g) for turn, (price, g) in enumerate(prices[:count])]


def _bridge(missing: int, moves: list[tuple[float, int]], reach: int) -> list[int] | None:
    """The cheapest of these moves that together change the total by `missing`; None if none do."""
    if abs(missing) > reach:
        return None
    cost = np.full(2 * reach + 1, np.inf)
    cost[reach] = 0.0
    used = []
    for price, change in moves:
        moved = np.full(len(cost), np.inf)
        if change > 0:
            moved[change:] = cost[:-change]
        else:
            moved[:change] = cost[-change:]
        moved += price
        used.append(np.packbits(moved < cost))
        cost = np.minimum(cost, moved)
    place = reach + missing
    if not np.isfinite(cost[place]):
        return None
    chosen = []
    for item in range(len(moves) - 1, -1, -1):
        if used[item][place >> 3] >> (7 - (place & 7)) & 1:
            chosen.append(item)
            place -= moves[item][1]
    return chosen
