"""A release on its way into a file or a database: made ready, written, read back, judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.arrays import Ints
from shoal.frame.frame import Frame
from shoal.frame.order import file_order
from shoal.io import formulas, stores
from shoal.io.atomic import refuse_input, replacing
from shoal.io.contents import Contents
from shoal.io.databases import sql
from shoal.io.databases.address import is_remote
from shoal.io.files import as_arrow, file_format, file_of
from shoal.io.origin import with_codes, with_columns
from shoal.stages.kept import refuse
from shoal.verify import policy
from shoal.verify.compare import compare, first_difference
from shoal.verify.count import count
from shoal.verify.requirements import Held, groups_of, held_by
from shoal.verify.steps import NEAR, step_faults

if TYPE_CHECKING:
    from shoal.release import Release


class Ready(NamedTuple):
    """What is written and what must then be found, in the order of the file."""

    table: pa.Table
    expected: pa.Table
    exact: bool = False  # whether cells that are not protected must be the same to the letter
    order: Ints | None = None  # for each row of the file the original's


def write(
    release: Release, path: str | os.PathLike[str], over: bool, safe_cells: bool, keep: Sequence[Any]
) -> tuple[str, ...]:
    """Write the protected table; see `Release.write`. `over`: an existing table may be replaced."""
    refuse(release.suspects, keep)
    if is_remote(path):
        read = None if release.origin is None else getattr(release.origin, "address", None)
        with stores.sending(str(path), over, read) as near:
            return write(release, near, over, safe_cells, keep)
    if sql.is_url(path):
        url = str(path)
        sql.refuse_target(url, over, release.origin)
        ready = _ready(release, sql.address(url))
        check = lambda *contents: _verify(release, Contents(*contents), ready, rounding=True)  # noqa: E731
        sql.write(url, ready.table, over, check, release.origin)
        return ()
    path = Path(path)
    if release.source is not None:
        refuse_input(path, release.source)
    kind = file_format(path)
    ready = _ready(release, kind)
    table, expected = (kind.fit(t, [*map(str, release.columns), *release.recoded]) for t in ready[:2])
    ready = ready._replace(table=table, expected=expected)
    path = path if ".xlsx#" in path.name else file_of(path)
    notes: tuple[str, ...] = ()
    if kind.family == "text":
        notes = formulas.notes(ready.table, safe_cells)
        if safe_cells:
            ready = ready._replace(table=formulas.safe(ready.table), expected=formulas.safe(ready.expected))
    with replacing(path) as part:
        kind.write(ready.table, part)
        # Where a text file has one column, a gap is an empty text.
        alone = kind.family == "text" and len(ready.table.column_names) == 1
        _verify(release, kind.read(part), ready, alone or kind.family in ("sav", "dta", "excel"))
    return notes


def require(release: Release, table: Any) -> None:
    """Raise unless the promise holds in this Arrow table, and all else is as it was."""
    changed = [*map(str, release.columns), *release.recoded, *release.changed]
    expected = with_columns(as_arrow(release.table), as_arrow(release.original), changed)
    _verify(release, Contents(as_arrow(table)), Ready(expected, expected))


def _ready(release: Release, target: Any) -> Ready:
    """The table for such a target, in the order of its file."""
    protected = [str(name) for name in (*release.columns, *release.recoded)]
    table, original = as_arrow(release.table), as_arrow(release.original)
    cells = None if release.origin is None else release.origin.own_cells(target)
    if release.origin is None or cells is None:
        expected = with_columns(table, original, [*protected, *release.changed])
    else:
        for name, rows in release.changed.items():
            at = cells.column_names.index(name)
            cells = cells.set_column(at, cells.schema.field(at), cells[name].take(rows))
        table = with_codes(table, release.codes)
        expected = with_columns(table, cells, protected)
        table = release.origin.restore(expected, cells, protected, release.codes)
    order = file_order(original, release.plan, release.columns)
    if order is not None:
        table, expected = table.take(order), expected.take(order)
    return Ready(table, expected, cells is not None, order)


def _verify(
    release: Release, written: Contents, ready: Ready, loose: bool = False, rounding: bool = False
) -> None:
    """Raise unless what was written, read again, is what was expected, and keeps its promise.

    `rounding`: the types of a database may round what is published.
    """
    table, cells = written.table, written.cells
    expected, plan = ready.expected, release.plan
    names = dict(zip(as_arrow(release.table).column_names, expected.column_names))  # some were made safe
    protected = {names[str(name)] for name in (*release.columns, *release.recoded)}

    def same(name: str, one: Any, other: Any) -> int | None:
        if ready.exact and cells is not None and name not in protected:
            return first_difference(one, cells[name])
        row = first_difference(one, other, loose)
        return row if row is None or cells is None else first_difference(one, cells[name], loose)

    def by_row(ids: Ints | None) -> list[Ints]:
        return [] if ids is None else [ids if ready.order is None else ids[ready.order]]

    agreement = compare(expected, table, protected if rounding else (), (), same)
    parts = [[names[str(name)] for name in part] for part in plan.parts(release.columns)]
    strata, units = by_row(release.strata), by_row(release.units)
    comparable = len(table) == len(expected) and table.column_names == expected.column_names
    shown = table if cells is None else cells
    counted = [count(shown, part, plan.k, strata, units) for part in parts] if comparable else []
    if comparable and (plan.stepped or plan.decimals):
        before = as_arrow(release.original)
        before = before if ready.order is None else before.take(ready.order)
        found = table.rename_columns(as_arrow(release.table).column_names)
        near = 1e-6 if rounding else NEAR  # a database may have numbers of 32 bits
        wrong = step_faults(before, found, plan, [str(name) for name in release.columns], near)
        agreement = replace(agreement, faults=(*agreement.faults, *wrong))
    held: list[Held] = []
    if comparable and plan.rules:
        ids = [groups_of([table[name] for name in part], strata) for part in parts]
        back = slice(None) if ready.order is None else np.argsort(ready.order)
        by_part, own = [part[back] for part in ids], plan.parts(release.columns)
        held = held_by(plan, Frame(release.table), own, by_part, release.units, Frame(release.original))
    policy.require(plan.k, parts, counted, agreement, "units" if units else "records", held)
