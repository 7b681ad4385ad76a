"""The evidence of a release that is read batch by batch, and of its original."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.verify.compare import Agreement
from shoal.verify.count import Counter, Finding
from shoal.verify.fingerprint import Fingerprints

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
    places: Ints | None = None,
    units: Ints | None = None,
    within: Sequence[str] = (),
) -> tuple[list[Finding], Agreement]:
    """Read one table after the other; `report` hears how many records of the release are done.

    `original` gives (first row, batch with the `untouched` columns), `released` batches with all columns.
    `places` has for each row of the original its row in the release, if they are not the same, and `units`
    whose record each is; k is counted `within` published strata. Every cell is compared, at its place: by
    sums of fingerprints, column by column.
    """
    counters = [Counter(part, k, within) for part in parts]
    protected = [name for part in parts for name in part]
    prints, totals = Fingerprints(), dict.fromkeys([*protected, *untouched], 0)
    owners = None if units is None else units.copy()
    for begin, batch in original:
        rows = np.arange(begin, begin + len(batch))
        at = rows if places is None else places[rows].astype(np.int64)
        if owners is not None and units is not None:
            owners[at] = units[rows]
        for name in totals:
            cells = expected(name, begin, len(batch)) if name in protected else batch.column(name)
            totals[name] += prints.placed(cells, at)
    seen = 0
    for batch in released:
        rows = np.arange(seen, seen + len(batch))
        seen += len(batch)
        if seen > records:
            break
        for name in totals:
            totals[name] -= prints.placed(batch.column(name), rows)
        for counter in counters:
            counter.add(batch, None if owners is None else owners[rows])
        report(seen)
    faults = [f"column {name!r} is not what it should be" for name, rest in totals.items() if rest % 2**64]
    if seen != records:
        came = f"{seen}" if seen < records else f"more than {records}"
        faults = [f"{records} records went in, {came} came out"]
    findings = [] if faults else [counter.finding() for counter in counters]
    return findings, Agreement(seen, tuple(untouched), tuple(faults))
