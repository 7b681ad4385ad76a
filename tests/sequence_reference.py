"""Slow and obvious: every partition of a sequence, costed in exact fractions."""

from fractions import Fraction
from math import floor


def partitions(n, k):
    """The group sizes of every division of n into groups of k..2k-1."""
    if n == 0:
        yield []
    for size in range(k, min(2 * k - 1, n) + 1):
        for rest in partitions(n - size, k):
            yield [size, *rest]


def cost(rows, sizes, kind="sse"):
    """What a partition of these rows (lists of numbers) costs, exactly."""
    total, start = Fraction(0), 0
    for size in sizes:
        for column in zip(*rows[start : start + size]):
            total += group_cost([Fraction(value) for value in column], kind)
        start += size
    return total


def group_cost(values, kind):
    mean = sum(values) / len(values)
    if kind == "sse":
        return sum((v - mean) ** 2 for v in values)
    if kind == "whole":
        centroid = floor(abs(mean) + Fraction(1, 2)) * (1 if mean >= 0 else -1)
        return sum((v - centroid) ** 2 for v in values)
    if kind == "absolute":
        median = sorted(values)[len(values) // 2]
        return sum(abs(v - median) for v in values)
    return max(values) - min(values)


def optimum(rows, k, kind="sse"):
    return min(cost(rows, sizes, kind) for sizes in partitions(len(rows), k))


def dynamic_optimum(values, k, kind="sse"):
    """The same for one column and more values: the shortest path, still in fractions."""
    best = {0: Fraction(0)}
    for end in range(k, len(values) + 1):
        group = [Fraction(v) for v in values[max(0, end - 2 * k + 1) : end]]
        paths = [
            best[end - size] + group_cost(group[-size:], kind)
            for size in range(k, len(group) + 1)
            if end - size in best
        ]
        if paths:
            best[end] = min(paths)
    return best[len(values)]
