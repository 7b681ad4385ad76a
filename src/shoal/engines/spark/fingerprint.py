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


def fingerprint(df: Any, names: Sequence[str], salted: Sequence[int]) -> Fingerprint:
    """The fingerprint of these columns: equal where the same rows are there, as often as before."""
    from pyspark.sql import functions as F

    part = df.select(*[f"`{name}`" for name in names])
    sums = [
        F.sum(F.xxhash64(F.lit(salt), *hashable(part)).cast("decimal(38,0)")).alias(f"sum{j}")
        for j, salt in enumerate(salted)
    ]
    row = part.agg(F.count(F.lit(1)).alias("rows"), *(sums if names else ())).collect()[0]
    return Fingerprint(int(row["rows"]), tuple(int(value or 0) for value in row[1:]))


def hashable(df: Any) -> list[Any]:
    """Every column in a form that Spark can hash: maps and variants as JSON."""
    from pyspark.sql import functions as F

    columns = []
    for field in df.schema:
        column = F.col(f"`{field.name}`")
        nested = set(_words(field.dataType.simpleString()))
        columns.append(F.to_json(F.struct(column)) if {"map", "variant"} & nested else column)
    return columns


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalpha() else " " for letter in text).split()
