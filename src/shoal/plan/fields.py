"""The fields of a plan but k, as the keywords of functions that make one: for type checkers and editors."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, TypedDict

#: A column as its table calls it: a text in files, anything hashable in dataframes. Not `Hashable`, because
#: mappings by `str` would not be mappings by `Hashable` to a type checker.
Column = Any
#: One column, or several.
Names = Iterable[Hashable] | Hashable


class PlanFields(TypedDict, total=False):
    """As `Plan` has them; a test holds the two together."""

    columns: Names | None
    method: str
    parameters: Mapping[str, Any] | None
    seed: int
    time_limit: float | None
    per_column: bool
    blocks: Iterable[Names] | None
    roles: Mapping[Column, str] | None
    types: Mapping[Column, str] | None
    levels: Mapping[Column, Collection[Any]] | None
    scaling: str | Mapping[Column, str]
    log: Names
    column_weights: Mapping[Column, float] | None
    centroids: str | Mapping[Column, str] | None
    preserve: str | None
    missing: str
    strata: Names
    merge_small_strata: bool
    weight: Hashable
    unit: Names
    by_record: Names
    keep: Names
    known: Names | None
    missing_codes: Iterable[Any] | Mapping[Column, Any]
    zeros: str
    contributors: int
    thin: str
    contributor_share: float
    diversity: Mapping[Column, float | str] | None
    closeness: Mapping[Column, float | str] | None
    dominance: Mapping[Column, str] | None
    spread: Mapping[Column, float | str] | None
    order: str
    top: Mapping[Column, Any] | None
    bottom: Mapping[Column, Any] | None
    regroup: Mapping[Column, Any] | None
    round: Mapping[Column, int | str] | None
    decimals: bool
    pseudonyms: str | None
    version: str | None
    sha256: str | None
