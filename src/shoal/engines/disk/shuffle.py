"""Rows written in another order than they come in, through files on disk: one stretch of the order each."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints

#: Rows of a stretch, which is sorted in memory: 40 MB for ten columns of doubles.
STRETCH = 524_288
_PLACE = "__shoal_place"


class Shuffle:
    """`places` has for each row that comes in its place in the order."""

    def __init__(self, folder: Path, schema: pa.Schema, places: Ints, stretch: int = STRETCH):
        folder.mkdir()
        self.places, self.stretch = places, stretch
        self._files = [folder / str(j) for j in range(-(-len(places) // stretch))]
        schema = schema.append(pa.field(_PLACE, pa.int64()))
        with contextlib.ExitStack() as opened:
            self._writers = [opened.enter_context(pa.ipc.new_stream(path, schema)) for path in self._files]
            self._close = opened.pop_all().close

    def add(self, batch: pa.RecordBatch, begin: int) -> None:
        """The rows from `begin` on."""
        places = self.places[begin : begin + len(batch)]
        order = np.argsort(places)
        stretches = places[order] // self.stretch
        batch = batch.append_column(_PLACE, pa.array(places, pa.int64())).take(pa.array(order))
        ends = np.searchsorted(stretches, np.arange(len(self._writers) + 1))
        for writer, first, last in zip(self._writers, ends, ends[1:]):
            if last > first:
                writer.write_batch(batch.slice(first, last - first))

    def batches(self) -> Iterator[Any]:
        """All rows in their order."""
        self._close()
        for path in self._files:
            with pa.ipc.open_stream(path) as file:
                table = file.read_all()
            path.unlink()
            table = table.take(pa.array(np.argsort(table[_PLACE].to_numpy()))).drop_columns([_PLACE])
            yield from table.combine_chunks().to_batches()
