"""Whole numbers that add up to what they did: a few groups' means are rounded the other way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.partition import Partition

#: Distinct group sizes that take part; more add nothing that these cannot reach.
MOST_SIZES = 40


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
    sums = np.zeros(len(sizes), object)
    np.add.at(sums, partition.labels, values.astype(object))
    rest = ((sums - published * sizes.astype(object)) / sizes).astype(np.float64)  # mean - published
    low, high = values.min().item(), values.max().item()
    small = np.unique(sizes)[:MOST_SIZES]
    largest = int(small[-1])
    steps = np.zeros(len(sizes), np.int64)

    def room(groups: NDArray, sign: int) -> NDArray[np.bool_]:
        return np.array([low <= published[g] + int(steps[g]) + sign <= high for g in groups], bool)

    while abs(missing) >= largest:  # first come down to what a few steps can bridge
        sign = 1 if missing > 0 else -1
        order = np.argsort(1 - 2 * sign * (rest - steps), kind="stable")
        order = order[np.isin(sizes[order], small)]
        order = order[room(order, sign)]
        reach = np.cumsum(sizes[order])
        taken = order[: max(int(np.searchsorted(reach, abs(missing), side="right")), 1)]
        if not len(taken):
            break
        steps[taken] += sign
        missing -= sign * int(sizes[taken].sum())
    moves = [
        (cost, sign * int(size), group, sign)
        for size in small
        for sign in (1, -1)
        for cost, group in _cheapest(np.flatnonzero(sizes == size), rest - steps, sign, largest, room)
    ]
    chosen = _bridge(missing, [(cost, change) for cost, change, _, _ in moves], 4 * largest)
    if chosen is None:
        raise InputError(
            f"column {name!r} cannot keep its total {target} in whole numbers: every group has a multiple of "
            f"{np.gcd.reduce(sizes)} records; choose another k, or leave preserve='totals' out"
        )
    for item in chosen:
        steps[moves[item][2]] += moves[item][3]
    return (published + steps.astype(object)).astype(values.dtype)


def _cheapest(groups: NDArray, rest: NDArray, sign: int, count: int, room: object) -> list[tuple[float, int]]:
    """The cheapest `count` steps in groups of one size: (squared error per record that it adds, group)."""
    assert callable(room)
    groups = groups[room(groups, sign)]
    order = groups[np.argsort(-sign * rest[groups], kind="stable")][:count]
    rounds = -(-count // max(len(order), 1))  # few groups: several steps each
    steps = [(j + 1 - 2 * sign * rest[g] + j, int(g)) for j in range(rounds) for g in order]
    return sorted(steps)[:count]


def _bridge(missing: int, moves: list[tuple[float, int]], reach: int) -> list[int] | None:
    """The cheapest of these moves that together change the total by `missing`; None if none do."""
    if abs(missing) > reach:
        return None
    cost = np.full(2 * reach + 1, np.inf)
    cost[reach] = 0.0
    used = np.zeros((len(moves), len(cost)), bool)
    for item, (price, change) in enumerate(moves):
        moved = np.full(len(cost), np.inf)
        if change > 0:
            moved[change:] = cost[:-change]
        else:
            moved[:change] = cost[-change:]
        moved += price * abs(change)
        used[item] = moved < cost
        cost = np.minimum(cost, moved)
    place = reach + missing
    if not np.isfinite(cost[place]):
        return None
    chosen = []
    for item in range(len(moves) - 1, -1, -1):
        if used[item, place]:
            chosen.append(item)
            place -= moves[item][1]
    return chosen
