"""The check of a release from files or tables alone: what `shoal check` and `shoal.check` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from shoal.arrays import Ints, numbers_to
from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.frame.large import LargeTable
from shoal.frame.metadata import details_of, published
from shoal.frame.order import file_order
from shoal.io.contents import Contents
from shoal.io.databases.address import is_remote
from shoal.io.databases.sql import is_url
from shoal.io.files import as_arrow, read, read_contents
from shoal.io.hive import by_folder
from shoal.io.large import large_contents
from shoal.io.stores import kept, speaking_of
from shoal.verify import compare as comparing
from shoal.verify import steps
from shoal.verify.compare import Agreement, compare, first_difference
from shoal.verify.count import Finding, count
from shoal.verify.requirements import Held, groups_of, held_by

if TYPE_CHECKING:
    from shoal.plan import Plan

_Blocks = Sequence[Sequence[str]]


def check(
    release: Any,
    k: int,
    columns: Sequence[str] | None = None,
    *,
    per_column: bool = False,
    blocks: Sequence[Sequence[str]] | None = None,
    strata: Sequence[str] | Ints | None = None,
    unit: str | Sequence[str] = (),
    plan: Plan | None = None,
    progress: Callable[[float], object] | None = None,
) -> list[Finding | Held]:
    """Count, in a release, how many records share each combination of the columns.

    Cells count as they are published: in a text file 1, 1.0 and 1e0 are three values, and so are codes that
    SPSS or Stata call missing. A gap is a value of its own.

    Parameters
    ----------
    release : table or path
        Any dataframe, a file, or a folder of Parquet parts, which is one table.
    k : int
        How many records must share each combination, at least.
    columns : list of str, optional
        The protected columns; every numeric one if left out.
    per_column : bool
        Count each column alone, where each was grouped on its own.
    blocks : list of lists of str, optional
        Count each block of columns alone, where each was grouped on its own.
    strata : list of str or array of int, optional
        Count within each stratum: the columns that make it, or its number for each record.
    unit : str or list of str
        Count distinct units, told by these columns. Where a release lacks them, `check_original` counts.
    plan : Plan, optional
        The plan of the release: it names columns that are not protected, levels that may be unused, and
        what each group must hold beyond k.
    progress : callable, optional
        Told, of a large table, which share of its columns was read.

    Returns
    -------
    list of Finding and Held
        One for all columns together, or one for each column or block; see `Finding.passed`. One for each
        requirement of the plan. One more tells of levels that no row has, and of sheets that were not read.

    Raises
    ------
    InputError
        If there is no such file or column.

    Examples
    --------
    >>> import shoal
    >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=5, columns=["turnover", "wages"])
    >>> [finding.passed for finding in shoal.check(release.table, 5, ["turnover", "wages"])]
    [True]
    """
    reads = _Reads(progress)
    contents = contents_of(release, reads)
    table = contents.table if contents.cells is None else contents.cells
    blocks = _blocks(contents.table, columns, per_column, blocks, plan)
    within = [] if strata is None or isinstance(strata, np.ndarray) else list(strata)
    _refuse_unknown(table, [*within, *(name for block in blocks for name in block)])
    reads.expected = sum(map(len, blocks)) + len(within)
    keys = [table[name] for name in within] + ([strata] if isinstance(strata, np.ndarray) else [])
    owners = [unit] if isinstance(unit, str) else list(unit)
    told = set(owners) <= set(table.column_names)
    findings: list[Finding | Held] = [
        count(table, block, k, keys, [table[name] for name in owners if told]) for block in blocks
    ]
    if not told:
        why = "not checkable from the file: units are not in it; give --original with the plan"
        findings = [replace(finding, faults=(*finding.faults, why)) for finding in findings]
    if plan is not None and plan.rules:
        ids = [groups_of((table[name] for name in block), keys) for block in blocks]
        whose = groups_of([table[name] for name in owners]) if owners and told else None
        findings += held_by(plan, Frame(contents.table), blocks, ids, whose, shown=table)
    faults = tuple(_beside_rows(table, plan))
    return findings + ([Finding(k, (), len(table), 0, 0, 0, faults=faults)] if faults else [])


def check_original(
    release: Any,
    original: Any,
    columns: Sequence[str] | None = None,
    *,
    per_column: bool = False,
    blocks: Sequence[Sequence[str]] | None = None,
    dropped: Collection[str] = (),
    without_gaps: bool = False,
    totals_kept: bool = False,
    plan: Plan | None = None,
    merged: Collection[str] = (),
    progress: Callable[[float], object] | None = None,
) -> Agreement:
    """Compare a release with its original: its rows and the untouched columns.

    Rows of a release are shuffled. With the `plan` it was made by, each is found again and compared, and the
    plan's units are counted; without, the untouched columns are compared as a set of rows.

    Parameters
    ----------
    release, original : table or path
        Any dataframe, a file, or a folder of Parquet parts.
    columns : list of str, optional
        The protected columns; every numeric one if left out.
    per_column, blocks
        As for `check`.
    dropped : collection of str
        Columns that must not be there, beside the identifiers and units of the plan.
    without_gaps : bool
        Whether records with a gap in the `columns` were left out.
    totals_kept : bool
        Whether whole numbers may lie a little outside their records' values.
    plan : Plan, optional
        The plan of the release.
    merged : collection of str
        Stratum columns in which small strata may publish what they were merged with.
    progress : callable, optional
        As for `check`.

    Returns
    -------
    Agreement
        What does not agree, in sentences; see `Agreement.passed`.

    Raises
    ------
    InputError
        If there is no such file or column.

    Examples
    --------
    >>> import shoal
    >>> from shoal.check import check_original
    >>> firms = shoal.datasets.survey(60)
    >>> release = shoal.microaggregate(firms, k=5, columns=["turnover", "wages"])
    >>> check_original(release.table, firms, ["turnover", "wages"]).passed
    True
    """
    reads = _Reads(progress)
    table, written, family, keys = contents_of(release, reads)
    before, cells, other_family, _ = contents_of(original, reads)
    reads.expected = len(table.column_names) + 2 * len(before.column_names)  # once more for the order of rows
    blocks = _blocks(table, columns, per_column, blocks, plan)
    protected = [name for block in blocks for name in block]
    unit = () if plan is None else plan.unit
    _refuse_unknown(before, unit)
    unpublished = () if plan is None else plan.unnumbered
    dropped = [*dropped, *unpublished, *(() if plan is None else plan.named("identifier"))]
    changed = [] if plan is None else steps.stepped(plan, protected)
    _refuse_unknown(before, changed)
    exact = family == other_family != ""
    found, expected = (written, cells) if exact else (table, before)
    if without_gaps:
        holes = [pc.is_null(before[name], nan_is_null=True).to_numpy() for name in protected]
        complete = ~np.logical_or.reduce(holes)
        before, expected = before.filter(complete), expected.filter(complete)

    def same(name: str, one: Any, other: Any) -> int | None:
        row = first_difference(one, other, loose=not exact)
        if row is None or exact:
            return row
        return row if written is None else first_difference(one, written[name], loose=True)

    shuffled = None
    if plan is not None:
        quasi = [name for name in protected if plan.roles.get(name, "quasi") == "quasi"]
        shuffled = file_order(before, plan, quasi)
    if plan is not None and keys and {*keys} <= {*before.column_names}.difference(protected, changed):
        names = [name for name in before.column_names if name in table.column_names]
        table = found = table.select([*names, *(n for n in table.column_names if n not in names)])
        shuffled = by_folder(before, keys, shuffled)
    if shuffled is not None:
        shuffled = shuffled.astype(numbers_to(len(shuffled)))
    agreements = []
    for order in [None] if shuffled is None else [shuffled, None]:
        one, other = (t if order is None else t.take(order) for t in (expected, before))
        agreement = compare(one, found, [*protected, *merged, *changed], dropped, same)
        if not agreement.faults:
            faults = [] if plan is None else steps.step_faults(other, table, plan, protected)
            after = other if plan is None else steps.recoded(other, plan)
            slack = {} if plan is None else steps.slack(plan, other)
            # What a unit publishes once is the mean of more records than those that share a combination.
            alike = [[name] for name in protected] if unit else blocks
            faults += [
                fault
                for block in alike
                for fault in comparing.outside(after, table, block, not totals_kept, slack)
            ]
            if exact and "stats" in details_of(found):
                faults += comparing.strange_codes(table, found, one, protected)
            agreement = replace(agreement, faults=tuple(faults))
            if plan is not None and (unit or plan.rules) and not faults:
                cells, owners = table if written is None else written, [other[name] for name in unit]
                within = [cells[n] for n in plan.strata if n not in merged or n not in protected]
                ids = [groups_of((cells[name] for name in block), within) for block in blocks]
                whose = groups_of(owners) if unit else None
                held = held_by(plan, Frame(table), blocks, ids, whose, Frame(other), cells)
                counted = [count(cells, block, plan.k, within, owners) for block in blocks]
                evidence: list[Finding | Held] = [*counted, *held]
                short = tuple(str(finding).removeprefix("no: ") for finding in evidence if not finding.passed)
                fewest = min(f.smallest_group for f in counted) if unit else None
                return replace(agreement, faults=short, units=fewest, held=tuple(h.requirement for h in held))
            if not faults or (plan is not None and agreement.untouched):
                return agreement
        elif agreement.untouched and comparing.in_place(one, found, agreement.untouched):
            return agreement  # the order is the right one, and some cells are wrong
        agreements.append(agreement)
    kept = agreements[0].untouched
    strict = plan is not None and (plan.order == "keep" or not kept)
    alike = found.column_names == [name for name in expected.column_names if name not in set(dropped)]
    if strict or not alike or len(table) != len(before) or not comparing.same_rows(expected, found, kept):
        return agreements[0]
    unseen = "units cannot be counted, for rows are not found again: give the plan or options of the release"
    faults = [unseen] if unit else []
    if plan is not None:
        cells = table if written is None else written
        ids = [groups_of(cells[n] for n in [*block, *plan.strata]) for block in blocks]
        findings = held_by(plan, Frame(table), blocks, ids, shown=cells)
        faults += [str(finding).removeprefix("no: ") for finding in findings if not finding.passed]
    return Agreement(len(table), kept, tuple(faults), by_row=False)


def _refuse_unknown(table: pa.Table, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise InputError(f"there is no column {name!r}: {did_you_mean(name, table.column_names)}")


def _beside_rows(table: pa.Table, plan: Plan | None) -> Iterator[str]:
    """What a file holds beside its rows: sheets that were not read, levels that no row has."""
    for sheet in details_of(table).get("excel", {}).get("unread", ()):
        yield f"sheet {sheet!r} was not checked: publish a workbook with one sheet"
    told = used = details_of(table).get("stats", {}).get("variable_value_labels", {})
    if told:
        used = details_of(published(table))["stats"]["variable_value_labels"]
    for name in table.column_names:
        unused = len(told.get(name, ())) - len(used.get(name, ()))
        if types.is_dictionary(table.schema.field(name).type):
            column = table[name]
            used_here = [part.dictionary.take(part.indices.drop_null().unique()) for part in column.chunks]
            levels = {str(x) for part in column.chunks for x in part.dictionary.drop_null().to_pylist()}
            levels -= {str(x) for part in used_here for x in part.to_pylist()}
            unused = len(levels.difference(map(str, () if plan is None else plan.levels.get(name, ()))))
        if unused:
            yield f"column {name!r} lists levels that no row has: {unused}"


class _Reads:
    """Told of each column that is read: tells the share of those expected."""

    def __init__(self, progress: Callable[[float], object] | None):
        self._progress, self._done, self.expected = progress or (lambda share: None), 0, 1

    def __call__(self) -> None:
        self._done += 1
        self._progress(min(1.0, self._done / self.expected))


def contents_of(given: Any, seen: Callable[[], Any] = int) -> Contents:
    """A table of any kind, or what a file, a folder of parts or a table of a database holds.

    `seen` is called with each column that is read by itself.
    """
    if isinstance(given, (str, os.PathLike)):
        if is_remote(given):
            with speaking_of(near := kept(str(given)), str(given)):
                return contents_of(near, seen)
        large = large_contents(given)
        given = large or (Contents(read(given)) if is_url(given) else read_contents(given))
    elif not isinstance(given, Contents):
        given = Contents(as_arrow(given))
    table, cells = (side.watched(seen) if isinstance(side, LargeTable) else side for side in given[:2])
    return given._replace(table=table, cells=cells)


def _blocks(
    table: pa.Table,
    columns: Sequence[str] | None,
    per_column: bool,
    blocks: _Blocks | None,
    plan: Plan | None,
) -> _Blocks:
    """The columns that are checked together."""
    if blocks is None:
        kinds = (types.is_integer, types.is_floating, types.is_decimal)
        # Without records kinds are not known: any column may be numeric.
        numeric = [f.name for f in table.schema if not len(table) or any(kind(f.type) for kind in kinds)]
        free = [name for name in numeric if plan is None or plan.roles.get(name, "quasi") == "quasi"]
        names = [columns] if isinstance(columns, str) else list(columns or free)
        blocks = [[name] for name in names] if per_column else [names]
    if not all(blocks) or not blocks:
        raise InputError("the file has no numeric column: name the columns to check")
    return blocks
