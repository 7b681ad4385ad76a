"""The written parts, read again and held against the input and the groups before they are published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from shoal.engines.disk.groups import Groups
from shoal.errors import CheckFailed
from shoal.io.parquet import ParquetTable


def read_back(
    table: ParquetTable,
    parts: Sequence[Path],
    names: Sequence[str],
    groups: Groups,
    report: Callable[[float], None],
) -> None:
    """Read every part again beside the input: protected cells are their group's, all others are unchanged."""
    protected = {kind.name: j for j, kind in enumerate(groups.chosen)}
    others = [name for name in names if name not in protected]
    written = _slices(part for path in parts for _, part in ParquetTable(path).batches(names))
    for begin, batch in table.batches(others or names[:1]):
        part = written(len(batch))
        if len(part) != len(batch):
            raise CheckFailed(f"fewer than {len(table)} records were written: nothing is released")
        for name, j in protected.items():
            if not part.column(name).combine_chunks().equals(_flat(groups.released(j, begin, len(batch)))):
                raise CheckFailed(f"column {name!r} was not written as it was meant: nothing is released")
        for name in others:
            if not _alike(part.column(name), batch.column(name)):
                raise CheckFailed(f"column {name!r} was not written unchanged: nothing is released")
        report(begin / len(table))
    if len(written(1)):
        raise CheckFailed(f"more than {len(table)} records were written: nothing is released")


def _slices(batches: Iterable[Any]) -> Callable[[int], Any]:
    """A function that takes the next so many rows, however the batches were cut; fewer at the end."""
    import pyarrow as pa

    coming = iter(batches)
    held: list[Any] = []

    def take(count: int) -> Any:
        while sum(map(len, held)) < count and (batch := next(coming, None)) is not None:
            held.append(batch)
        if not held:
            return []
        table = pa.Table.from_batches(held)
        held[:] = table.slice(count).to_batches()
        return table.slice(0, count)

    return take


def _flat(cells: Any) -> Any:
    import pyarrow as pa

    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _alike(one: Any, other: Any) -> bool:
    """Whether cells are the same; where NaN counts as equal to itself."""
    one, other = _flat(one), _flat(other)
    return one.equals(other) or (len(one) == len(other) and repr(one.to_pylist()) == repr(other.to_pylist()))
