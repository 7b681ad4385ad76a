"""A finished release and its original, brought from a cluster to this machine to be measured."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Ints, numbers_to
from shoal.engines.blocks.placed import Placed
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.tasks import GROUP, PLACE, UNIT, pack, told_in
from shoal.errors import MachineError
from shoal.frame.large import LargeTable
from shoal.io.parquet import ParquetTable, write_batches
from shoal.io.private import private_folder


@contextlib.contextmanager
def brought(release: SparkRelease, measured: Any, facts: Sequence[dict[str, Any]]) -> Iterator[Placed]:
    """Both tables in a private folder of this machine, in the order of the hashes of the original's records.

    `measured` is what the release was written from, `facts` are those of its blocks.
    """
    told, units = told_in(measured, GROUP), [UNIT] if release.plan.plan.unit else []
    records = release.plan.records
    with private_folder("shoal-measured") as folder:
        original, (hashes,) = _bring(release.raw, [PLACE], records, folder / "original.parquet")
        order = np.argsort(hashes, kind="stable").astype(numbers_to(records))
        hashes = hashes[order]
        wanted = measured.select(*(f"`{name}`" for name in (PLACE, *told, *units, *release.table.columns)))
        released, found = _bring(wanted, [PLACE, *told, *units], records, folder / "released.parquet")
        # Records that are alike may stand for one another: those of one group stand together.
        places = np.lexsort(found[len(told) :: -1]).astype(order.dtype)
        if not np.array_equal(found[0][places], hashes):
            raise _changed()
        del hashes
        labels = [_numbered(found[1 + j][places], facts, j) for j in range(len(told))]
        whose = found[-1][places] if units else None
        del found
        yield Placed(
            original.take(order),
            released.take(places),
            labels[0] if len(labels) == 1 else np.stack(labels, axis=1),
            whose,
        )


def _bring(df: Any, keys: Sequence[str], records: int, path: Path) -> tuple[LargeTable, NDArray]:
    """A DataFrame of so many records in a file here, batch by batch; the numbers of its `keys` in memory."""
    numbers, filled = np.empty((len(keys), records), np.int64), 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal filled
        for row in df.mapInArrow(pack, "packed binary").toLocalIterator():
            for batch in pa.ipc.open_stream(row["packed"]):
                if filled + len(batch) > records:
                    raise _changed()
                for values, key in zip(numbers, keys):
                    values[filled : filled + len(batch)] = batch.column(key)
                filled += len(batch)
                yield batch.drop_columns(list(keys))

    coming = batches()
    if (first := next(coming, None)) is not None:
        write_batches(path, first.schema, itertools.chain([first], coming))
    if filled < records:
        raise _changed()
    return ParquetTable(path).by_column(), numbers


def _numbered(groups: Ints, facts: Sequence[dict[str, Any]], part: int) -> Ints:
    """The groups of all blocks of a part of columns, numbered one after another."""
    counts = {fact["block"]: fact["groups"] for fact in facts if fact["part"] == part}
    firsts = np.zeros(max(counts) + 2, np.int64)
    firsts[[block + 1 for block in counts]] = list(counts.values())
    firsts = np.cumsum(firsts)
    return (firsts[groups >> 32] + (groups & 0xFFFF_FFFF)).astype(numbers_to(int(firsts[-1])))


def _changed() -> MachineError:
    return MachineError(
        "the release is finished and checked, but its original has other records than before, so it is not "
        "measured: store the data first (df.checkpoint(), or a file)"
    )
