"""The order of rows in a published file, shuffled by a key that only who has the original can make.

In a file whose rows stay in their order, a record's place among the others of its group tells which it is.
The key is a digest of the original's cells in row order and of the whole plan; it is stored nowhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GAP = np.uint64(0x7FF8_5A0A_1000_0001)  # no number and no text has these bits


class Key:
    """The digest of a table that comes batch by batch: the same for any format, and however it is cut."""

    def __init__(self, names: Sequence[str], plan: str):
        self._columns = {name: hashlib.blake2b(name.encode("utf-8", "surrogatepass")) for name in names}
        self._plan = plan

    def add(self, table: Any) -> None:
        """One more batch or table of Arrow, which has all of the columns."""
        for name, digest in self._columns.items():
            digest.update(cells(table.column(name)).data)

    def order(self, records: int) -> NDArray[np.int64]:
        """For each row of the file the row of the original that stands there."""
        whole = hashlib.blake2b(self._plan.encode("utf-8", "surrogatepass"), digest_size=16)
        for digest in self._columns.values():
            whole.update(digest.digest())
        key = int.from_bytes(whole.digest(), "little")
        return np.argsort(np.random.Philox(key=key).random_raw(records), kind="stable")


def file_order(original: Any, plan: Any) -> NDArray[np.int64] | None:
    """For each row of the file the row of this Arrow table that stands there; None: rows keep their place."""
    if plan.order == "keep":
        return None
    key = Key(original.column_names, plan.canonical())
    key.add(original)
    return key.order(len(original))


def cells(column: Any) -> NDArray[np.uint64]:
    """Each cell as 64 bits: numbers by value, whatever their type; all else by its text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        column = column.cast(pa.float32()) if types.is_float16(kind) else column
        wide = column.cast(pa.float64(), safe=False)
        gaps = wide.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        numbers = wide.fill_null(0).to_numpy(zero_copy_only=False) + 0.0  # -0 is 0
        return np.where(gaps, _GAP, numbers.view(np.uint64))
    if types.is_null(kind):
        return np.full(len(column), _GAP)
    texts = _texts(column)
    encoded = texts.dictionary_encode()
    levels = [_hash(level) for level in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    gaps = pc.is_null(texts).to_numpy(zero_copy_only=False)
    return np.where(gaps, _GAP, np.array(levels or [0], np.uint64)[codes])


def _texts(column: Any) -> Any:
    """Texts without blanks at their end; dates as files write them; an empty text is a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    if types.is_timestamp(column.type):
        column = pc.replace_substring(
            pc.strftime(column.cast(pa.timestamp("us")), "%FT%T"), "T00:00:00.000000", ""
        )
    elif types.is_nested(column.type) or types.is_binary(column.type) or types.is_large_binary(column.type):
        column = pa.array(
            [None if cell is None else repr(cell) for cell in column.to_pylist()], pa.large_string()
        )
    texts = pc.utf8_rtrim(column.cast(pa.large_string()), " ")
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def _hash(text: str) -> int:
    """64 bits for a text; "true" and "false" stand in text files for what others store as 1 and 0."""
    if text.lower() in ("true", "false"):
        return int(np.float64(text.lower() == "true").view(np.uint64))
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )
