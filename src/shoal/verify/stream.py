"""The evidence of a release that is read batch by batch beside its original."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shoal.verify.compare import Agreement, first_difference
from shoal.verify.count import Counter, Finding

#: What is to be found in the protected columns: (name, first row, how many) -> Arrow cells.
Expected = Callable[[str, int, int], Any]


def compare_batches(
    original: Iterable[tuple[int, Any]],
    released: Iterable[Any],
    untouched: Sequence[str],
    expected: Expected,
    parts: Sequence[Sequence[str]],
    k: int,
    records: int,
    report: Callable[[int], None],
) -> tuple[list[Finding], Agreement]:
    """Read both tables side by side; `report` hears how many records are done.

    `original` gives (first row, batch with the `untouched` columns), `released` batches with all columns, cut
    in any way.
    """
    counters = [Counter(part, k) for part in parts]
    protected = [name for part in parts for name in part]
    take = _slices(released)
    faults: list[str] = []
    seen = 0
    for begin, batch in original:
        part = take(len(batch))
        seen += len(part)
        if len(part) != len(batch):
            faults.append(f"{records} records went in, {seen} came out")
            break
        for name in protected:
            row = first_difference(expected(name, begin, len(batch)), part.column(name))
            if row is not None:
                faults.append(f"column {name!r} was not written as it was meant in row {begin + row + 1}")
        for name in untouched:
            row = first_difference(batch.column(name), part.column(name))
            if row is not None:
                faults.append(f"column {name!r} is not what it was in row {begin + row + 1}")
        if faults:
            break
        for counter in counters:
            counter.add(part)
        report(seen)
    if not faults and (more := len(take(1))):
        faults.append(f"{records} records went in, more than {seen} came out")
        seen += more
    findings = [] if faults else [counter.finding() for counter in counters]
    return findings, Agreement(seen, tuple(untouched), tuple(faults))


def _slices(batches: Iterable[Any]) -> Callable[[int], Any]:
    """A function that takes the next so many rows, however the batches were cut; fewer at the end."""
    import pyarrow as pa

    coming = iter(batches)
    waiting: list[Any] = []

    def take(count: int) -> Any:
        while sum(map(len, waiting)) < count and (batch := next(coming, None)) is not None:
            waiting.append(batch)
        if not waiting:
            return []
        table = pa.Table.from_batches(waiting)
        waiting[:] = table.slice(count).to_batches()
        return table.slice(0, count)

    return take
