"""The levels that categories are published with: those that occur, in an order that tells nothing of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd


def published_levels(
    stored: Iterable[Any], present: Iterable[Any], ordered: bool, declared: Collection[Any] | None = None
) -> list[Any]:
    """Those declared by the user, in their order; else those present, in their own order or sorted."""
    there = set(present)
    if declared:
        return [*declared, *_sorted(there.difference(declared))]
    return [level for level in dict.fromkeys(stored) if level in there] if ordered else _sorted(there)


def _sorted(levels: Iterable[Any]) -> list[Any]:
    return sorted(levels, key=lambda level: (type(level).__name__, level))


def arrow_levels(column: pa.ChunkedArray, declared: Collection[Any] | None = None) -> pa.ChunkedArray:
    """A dictionary of Arrow with the levels to publish; any other column as it is."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    if pa.types.is_nested(kind.value_type):
        return pa.chunked_array([c.dictionary.take(c.indices) for c in column.chunks], kind.value_type)
    stored = [level for chunk in column.chunks for level in chunk.dictionary.to_pylist()]
    used = [chunk.dictionary.take(chunk.indices.unique()).drop_null() for chunk in column.chunks]
    present = [level for levels in used for level in levels.to_pylist()]
    levels = pa.array(published_levels(stored, present, kind.ordered, declared), kind.value_type)
    ordered = kind.ordered or bool(declared)
    chunks = []
    for chunk in column.chunks:  # never written out: a long text may repeat
        codes = pc.index_in(chunk.dictionary, levels).take(chunk.indices).cast(kind.index_type)
        chunks.append(pa.DictionaryArray.from_arrays(codes, levels, ordered=ordered))
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, kind.value_type, ordered))


def written_out(column: Any) -> Any:
    """A dictionary of Arrow as its values; any other column as it is."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def pandas_levels(column: pd.Series, declared: Collection[Any] | None = None) -> pd.Series:
    """The same for a column of pandas: its own categories, or a dictionary of Arrow inside."""
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        stored, ordered = kind.categories, bool(kind.ordered)
        present = stored[pd.unique(column.cat.codes[column.notna()])]
        levels = pd.Index(published_levels(stored, present, ordered, declared), dtype=stored.dtype)
        return column.cat.set_categories(levels, ordered=ordered or bool(declared))
    if isinstance(kind, pd.ArrowDtype) and str(kind).startswith("dictionary"):
        cells = arrow_levels(pa.chunked_array(column.array.__arrow_array__()), declared)
        return pd.Series(pd.arrays.ArrowExtensionArray(cells), column.index)
    return column


def enum_levels(column: nw.Series, declared: Collection[Any] | None = None) -> nw.Series:
    """The same for a column whose levels are part of its type (the Enum of polars)."""
    kind = column.dtype
    if not isinstance(kind, nw.Enum):
        return column
    present = column.cast(nw.String()).unique().drop_nulls().to_list()
    return column.cast(nw.String()).cast(nw.Enum(published_levels(kind.categories, present, True, declared)))
