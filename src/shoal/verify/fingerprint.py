"""One number for each row, by which rows are counted and compared without being kept.

The numbers are made under a secret key of 64 random bits: nobody can craft rows that share one. Two different
rows among n share one by chance with a probability below n² / 2^65: 3e-6 for ten million rows.
"""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.frame.large import pieces
from shoal.frame.levels import written_out

_GAP = np.uint64(0x9E3779B97F4A7C15)


class Fingerprints:
    """Fingerprints of rows under one secret key."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._start = np.uint64(int.from_bytes(self._key[:8], "little"))

    def of(self, columns: Iterable[Any]) -> NDArray[np.uint64]:
        """One number for each row of these columns, of Arrow or numpy; a gap is a value of its own."""
        rows = np.empty(0, np.uint64)
        for place, given in enumerate(columns):
            column = pa.array(given) if isinstance(given, np.ndarray) else given
            rows = np.full(len(column), self._start) if place == 0 else rows
            for begin, piece in pieces(column):
                own = rows[begin : begin + len(piece)]
                own[:] = _mixed(own ^ self._numbers(piece))
        return rows

    def placed(self, column: Any, places: Ints) -> int:
        """One number for these cells at these places: sums of such numbers are equal if all cells are."""
        rows = _mixed(self.of([column]) ^ _mixed(places.astype(np.uint64) + self._start))
        return int(rows.sum(dtype=np.uint64))

    def _numbers(self, column: Any) -> NDArray[np.uint64]:
        """Each cell as 64 bits: numbers and dates by their bits, all else by a keyed hash of its value."""
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = written_out(column)
        kind = column.type
        gaps = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        if types.is_floating(kind):
            bits = column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
        elif types.is_integer(kind):
            wide = np.uint64 if types.is_unsigned_integer(kind) else np.int64
            bits = column.fill_null(0).to_numpy(zero_copy_only=False).astype(wide).view(np.uint64)
        elif types.is_temporal(kind) and not types.is_interval(kind):
            counts = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).fill_null(0)
            bits = counts.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        else:
            bits = self._hashed(column)
        return np.where(gaps, _GAP, bits)

    def _hashed(self, column: Any) -> NDArray[np.uint64]:
        if pa.types.is_nested(column.type):
            return np.array([self._hash(repr(cell)) for cell in column.to_pylist()], np.uint64)
        encoded = column.dictionary_encode()
        levels = [self._hash(repr(level)) for level in encoded.dictionary.to_pylist()]
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return np.array(levels or [0], np.uint64)[codes]

    def _hash(self, text: str) -> int:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        return int.from_bytes(digest.digest(), "little")


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit in has a say in every bit out (the finalizer of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
