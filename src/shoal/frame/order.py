"""The order of rows in a published file, shuffled by a key that only who has the original can make.

In a file whose rows stay in their order, a record's place among the others of its group tells which it is.
The key is a digest of the original's cells in row order and of the whole plan; it is stored nowhere.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.large import pieces
from shoal.frame.levels import written_out

_GAP = np.uint64(0x7FF8_5A0A_1000_0001)  # no number and no text has these bits


class Key:
    """The digest of a table that comes batch by batch: the same for any format, and however it is cut."""

    def __init__(self, names: Sequence[str], plan: str):
        self._columns = {name: hashlib.blake2b(name.encode("utf-8", "surrogatepass")) for name in names}
        self._plan = plan

    def add(self, table: pa.RecordBatch | pa.Table) -> None:
        """One more batch or table of Arrow, which has all of the columns."""
        for name, digest in self._columns.items():
            for _, piece in pieces(table.column(name)):
                digest.update(cells(piece).data)

    def order(self, records: int) -> Ints:
        """For each row of the file the row of the original that stands there."""
        whole = hashlib.blake2b(self._plan.encode("utf-8", "surrogatepass"), digest_size=16)
        for digest in self._columns.values():
            whole.update(digest.digest())
        key = int.from_bytes(whole.digest(), "little")
        return np.argsort(np.random.Philox(key=key).random_raw(records), kind="stable")


def file_order(original: pa.Table, plan: Any, columns: Sequence[Any] = ()) -> Ints | None:
    """For each row of the file the row of this Arrow table that stands there; None: rows keep their place."""
    if plan.order == "keep":
        return None
    key = Key(original.column_names, plan.canonical(columns))
    key.add(original)
    return key.order(len(original))


def row_ids(table: pa.RecordBatch | pa.Table, names: Sequence[str]) -> Ints:
    """A number for each row of an Arrow table, the same where these columns have the same cells."""
    ids = np.zeros(len(table), np.uint64)
    for name in names:
        for begin, piece in pieces(table.column(name)):
            own = ids[begin : begin + len(piece)]
            own ^= cells(piece)
            own[:] = (own ^ own >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15)
            own ^= own >> np.uint64(29)
    return ids.view(np.int64)


def cells(column: pa.ChunkedArray | pa.Array) -> NDArray[np.uint64]:
    """Each cell as 64 bits: numbers by value, whatever their type; all else by its text."""
    column = written_out(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
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
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    gaps = pc.is_null(texts).to_numpy(zero_copy_only=False)
    # A time is the same in any precision, and midnight of a date is the date.
    day, time = r"^(\d{4}-\d\d-\d\d)", r"(\d\d:\d\d:\d\d)(\.\d*[1-9])?\.?0*Z?$"
    said = pc.replace_substring_regex(encoded.dictionary, f"{day}[T ]{time}", r"\1T\2\3")
    said = pc.replace_substring_regex(said, f"{day}T00:00:00$", r"\1")
    hashes = [_hash(text) for text in said.to_pylist()]
    return np.where(gaps, _GAP, np.array(hashes or [0], np.uint64)[codes])


def _texts(column: pa.Array) -> pa.Array:
    """Texts without blanks at their end; an empty text is a gap."""
    kind = column.type
    if types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit))  # in universal time
    elif types.is_interval(kind) or not (
        types.is_temporal(kind) or str(kind).endswith(("string", "string_view"))
    ):
        cells = [None if cell is None else repr(cell) for cell in column.to_pylist()]
        column = pa.array(cells, pa.large_string())
    texts = pc.utf8_rtrim(column.cast(pa.large_string()), " ")
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def _hash(text: str) -> int:
    """64 bits for a text; "true" and "false" stand in text files for what others store as 1 and 0."""
    if text.lower() in ("true", "false"):
        return int(np.float64(text.lower() == "true").view(np.uint64))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
