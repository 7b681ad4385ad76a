"""Rows of a DataFrame as one fingerprint, whatever order they lie in."""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple


class Fingerprint(NamedTuple):
    """How many rows there are, and two sums of their hashes under secret salts."""

    rows: int
    sums: tuple[int, ...]


def salts() -> tuple[int, ...]:
    """Two random numbers: with them nobody can craft rows that cancel out."""
    return secrets.randbits(62), secrets.randbits(62)


def fingerprints(
    df: Any, asked: Sequence[tuple[Sequence[str], Sequence[int]]], also: Sequence[Any] = ()
) -> tuple[list[Fingerprint], list[Any]]:
    """The fingerprints of some columns under some salts, and what else is to be reckoned, in one reading.

    A fingerprint is equal where the same rows are there, as often as before.
    """
    from pyspark.sql import functions as F

    sums = [
        F.sum(F.xxhash64(F.lit(salt), *hashable(df, names)).cast("decimal(38,0)"))
        for names, salted in asked
        for salt in (salted if names else ())
    ]
    rows, *found = df.agg(F.count(F.lit(1)), *sums, *also).collect()[0]
    numbers = iter(found)
    made = [
        Fingerprint(rows, tuple(int(next(numbers) or 0) for _ in (salted if names else ())))
        for names, salted in asked
    ]
    return made, list(numbers)


def hashable(df: Any, names: Sequence[str] | None = None) -> list[Any]:
    """These columns, or all, in a form that Spark can hash: maps and variants as JSON."""
    from pyspark.sql import functions as F

    columns = []
    for field in df.schema if names is None else (df.schema[name] for name in names):
        column = F.col(f"`{field.name}`")
        nested = set(_words(field.dataType.simpleString()))
        columns.append(F.to_json(F.struct(column)) if {"map", "variant"} & nested else column)
    return columns


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalpha() else " " for letter in text).split()
