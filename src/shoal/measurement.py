"""Judge any pair of files: utility and risk of a release, whatever made it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.arrays import Ints, numbers_to
from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.large import LargeTable
from shoal.frame.levels import written_out
from shoal.frame.order import file_order
from shoal.frame.types import read_column
from shoal.io.files import as_arrow
from shoal.io.large import large_frame
from shoal.measures.linkage import MANY, chances
from shoal.measures.measure import Measures, plain
from shoal.measures.measured import Measured
from shoal.measures.uniqueness import codes_of
from shoal.plan import Plan, PlanFields, explicit

UNMATCHED = (
    "rows were not matched: only measures of whole tables are given. Name a key (key=, --key), the plan of "
    'the release (--plan), or say that rows keep their order (order="keep", --order keep)'
)
#: The shares of the work after matching, reading, utility and risk; what was at risk before is the rest.
SHARES = (0.1, 0.2, 0.4, 0.8)


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """What `measure` gives back.

    Attributes
    ----------
    columns : tuple
        The columns that were measured.
    utility, risk : Measures
        What was lost, and what is at risk.
    before : Measures or None
        What would be at risk if the original were published; None where rows were not matched.
    notes : tuple of str
        What to know about the figures.
    """

    columns: tuple[Any, ...]
    utility: Measures
    risk: Measures
    before: Measures | None
    notes: tuple[str, ...]
    measured: Measured = field(repr=False)
    rows: Ints = field(repr=False)  # of the original, for each row of the release
    source: str | None = None

    def __repr__(self) -> str:
        k = int(self.risk["k"].overall)
        return f"Measurement({len(self.rows):,} records, {len(self.columns)} columns: k={k})"

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "records": len(self.rows),
            "columns": [str(name) for name in self.columns],
            "matched": self.before is not None,
            "utility": plain(self.utility.facts()),
            "risk": plain(self.risk.facts()),
            "risk_before": None if self.before is None else plain(self.before.facts()),
            "notes": list(self.notes),
        }

    def at_risk(self, most: int = 50, sample: int | None = None) -> list[dict[str, Any]]:
        """The records that are linked most surely by who knows all columns; for internal use only.

        Each with its row in the original and in the release, counted from 1, its chance to be linked, and
        among how many records it was sought: a `sample` drawn by chance, all if that is left out, of a table
        whose columns are read one by one 100,000.
        """
        self._matched("the records most at risk")
        both = self.measured.pair()
        if sample is None and isinstance(both.original.native, LargeTable):
            sample = MANY
        rows, chance = chances(both, sample)
        return [
            {
                "row": int(self.rows[rows[i]]) + 1,
                "released_row": int(rows[i]) + 1,
                "chance": float(chance[i]),
                "sought_among": len(rows),
            }
            for i in np.argsort(-chance, kind="stable")[:most]
        ]

    def report(self, path: str | os.PathLike[str], edition: str = "internal") -> None:
        """Write what was lost and is at risk as .html, .json or .txt; the public edition tells no risk."""
        from shoal.report import report_format, write

        report_format(path)
        write(self.model(edition), path)

    def model(self, edition: str = "internal") -> dict[str, Any]:
        """The report's model, as for a release of our own where that can be known."""
        from shoal.report.model import histogram, internal, machine, public, refuse_edition

        before = self._matched("a report")
        refuse_edition(edition)
        both = self.measured.pair()
        labels, sizes = both.groups[0], np.bincount(both.groups[0])
        least, names = int(sizes.min()), [str(name) for name in self.columns]
        kept = [str(name) for name in both.released.names if name not in self.columns]
        said = f"every published combination of {', '.join(names)} is shared by at least {least} records"
        outcome = {
            "records": len(self.rows),
            "columns": names,
            "kept": kept,
            "groups": len(sizes),
            "smallest_group": least,
            "largest_group": int(sizes.max()),
            "sizes": histogram(sizes),
            "counted": "records",
            "k": least,
            "information_loss": self.utility["information_loss"].overall,
            "rounding_loss": 0.0,
            "per_column": False,
            "method_title": "made elsewhere, measured by shoal",
            "paper": "nothing is known of the method",
            "promise": said,
            "headline": f"A release of {len(self.rows):,} records beside its original: {said}",
            "steps": [],
            "recoding_loss": {},
            "recoded": [],
            "requirements": [],
            "seconds": 0.0,
            "notes": [],
        }
        if edition == "public":
            return plain(public(outcome, self.utility))
        return internal(
            both,
            labels,
            (self.utility, before, self.risk),
            outcome=outcome,
            provenance={
                "source": self.source,
                "sha256": {},
                "plan": {"seed": 0},
                "settings": {},
                "roles": dict.fromkeys(kept, "published as it is"),
                **machine(),
                "replay": "not known: the release was made elsewhere",
                "toml": None,
            },
            why_k={"reasons": [f"k is what was counted in the release: {least}."], "comparison": None},
            bound=None,
            notes=list(self.notes),
        )

    def _matched(self, what: str) -> Measures:
        """What would be at risk without protection, which is known only where rows are matched."""
        if self.before is None:
            raise InputError(f"{what} compares records, but {UNMATCHED}")
        return self.before


@explicit(Plan)
def measure(
    original: Any,
    released: Any,
    *,
    key: Any = None,
    confidential: Sequence[Any] | Any | None = None,
    formula: str | None = None,
    **fields: Unpack[PlanFields],
) -> Measurement:
    """Measure what a release lost and what it risks, whatever made it: shoal, sdcMicro, ARX, a script.

    Parameters
    ----------
    original, released : table or path
        The two tables.
    key : column, optional
        A column of both tables by which rows belong together. The release may then have its rows in another
        order, or fewer of them. `order="keep"` says instead that rows kept their places.
    confidential : list of columns, optional
        Kept columns that must not be learnt through the groups.
    formula : str, optional
        A linear model to fit on both tables, such as "turnover ~ employees + wages".
    **fields
        The fields of `Plan` that say what columns hold and who is protected: `columns` (without it every
        numeric column of both tables), `types`, `levels`, `weight`, `known`, `strata`, `unit`.

    Returns
    -------
    Measurement
        Without a key or an order only measures of whole tables, which may differ in length, and a note that
        says so.

    Raises
    ------
    InputError
        If a row of the release has no row, or several, in the original.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(60)
    >>> release = shoal.microaggregate(table, k=5, columns=["turnover", "wages"])
    >>> found = shoal.measure(table, release.table, columns=["turnover", "wages"], order="keep")
    >>> found
    Measurement(60 records, 2 columns: k=5)
    >>> shoal.measure(table, release.table, columns=["turnover", "wages"]).before is None
    True
    """
    plan = Plan(1, **fields)
    return measure_plan(plan, original, released, key, confidential, formula, matched=plan.order == "keep")


def measure_plan(
    plan: Plan,
    original: Any,
    released: Any,
    key: Any = None,
    confidential: Sequence[Any] | Any | None = None,
    formula: str | None = None,
    matched: bool = True,
    progress: Callable[[float], object] = lambda share: None,
) -> Measurement:
    """The same for a plan. `matched`: the plan tells the order of rows."""
    source = str(released) if isinstance(released, (str, os.PathLike)) else None
    before, after = large_frame(original), large_frame(released)
    plan = plan.called(before.names)
    matched = matched or key is not None
    asked = {"weight": plan.weight, "known": plan.known, "strata": plan.strata, "confidential": confidential}
    for name in [] if matched else [name for name, given in asked.items() if given]:
        raise InputError(f"{name} (--{name}) has no effect, for {UNMATCHED}".replace("--strata", "--stratum"))
    notes: list[str] = [] if matched else [UNMATCHED]
    rows: Ints | None = None  # all of them, in their order
    if key is not None:
        rows, told = _by_key(before, after, key)
        notes += told
    elif matched:
        rows = _without_gaps(plan, before) if plan.missing == "drop" else None
        kept = as_arrow(before.native) if rows is None else as_arrow(before.native).take(rows)
        if len(kept) != len(after):
            raise InputError(
                f"the original has {len(kept)} records for the plan, the release {len(after)}: name a key "
                "of both (key=, --key)"
            )
        order = file_order(kept, plan, plan.columns or ())
        rows = rows if order is None else order if rows is None else rows[order]
    if rows is not None:
        rows = rows.astype(numbers_to(len(before)))
    elif not matched and len(before) != len(after):
        notes.append(f"the original has {len(before):,} records, the release {len(after):,}")
    paired = as_arrow(before.native) if rows is None else as_arrow(before.native).take(rows)
    hidden = [] if confidential is None else confidential
    hidden = before.find([hidden] if isinstance(hidden, str) else [*hidden, *plan.named("confidential")])
    besides, there = {*plan.roles, *hidden, key}, set(after.numeric())
    names = plan.columns or [n for n in before.numeric() if n in there and n not in besides]
    if not names:
        raise InputError("the two tables share no numeric column: name the columns to measure (-c, columns)")
    for name in names:
        if name not in after.names:
            raise InputError(f"there is no column {name!r} in the release: name others (-c, columns)")
    tells = paired if matched else as_arrow(after.native)  # whom a row is about
    if untold := [name for name in plan.unit if str(name) not in tells.column_names]:
        notes.append(f"records were counted, not units: the release does not tell {untold[0]!r} of its rows")
    unit = [] if untold else plan.unit
    units = [np.unique(codes_of(tells[str(name)]), return_inverse=True)[1] for name in unit]
    moved = _moved(paired, as_arrow(after.native), {*map(str, names), str(key)}) if matched else None
    if moved is not None:
        notes.append(
            f"column {moved!r} has the same values in other rows: do rows belong together as you say? If "
            "not, what compares records is wrong"
        )
    measured = Measured(
        paired,
        as_arrow(after.native),
        list(names),
        plan.seed,
        types=plan.types,
        levels=plan.levels,
        weight=plan.weight,
        known=plan.known,
        strata=[name for name in plan.strata if name in after.names],
        hidden=hidden,
        units=np.unique(np.stack(units), axis=1, return_inverse=True)[1].ravel() if units else None,
        codes_of=plan.codes_of,
        matched=matched,
    )
    progress(SHARES[0])
    both = measured.pair()  # held until all is measured: its columns are read once
    progress(SHARES[1])
    utility = measured.utility(formula)
    progress(SHARES[2])
    risk = measured.risk(hidden or None)
    progress(SHARES[3])
    notes = list(dict.fromkeys([*notes, *utility.notes, *risk.notes]))
    earlier = measured.risk(hidden or None, before=True) if matched else None
    del both
    rows = np.arange(len(after)) if rows is None else rows
    return Measurement(tuple(names), utility, risk, earlier, tuple(notes), measured, rows, source)


def _moved(before: Any, after: Any, besides: set[str]) -> str | None:
    """A kept column that has the same cells in both tables, but in other rows; None if there is none."""
    if isinstance(before, LargeTable) or isinstance(after, LargeTable):
        return None
    for name in [name for name in before.column_names if name in after.column_names and name not in besides]:
        one, other = (_plain(table[name].combine_chunks()) for table in (before, after))
        if one.type != other.type or one.equals(other) or pa.types.is_nested(one.type):
            continue
        if pc.take(one, pc.sort_indices(one)).equals(pc.take(other, pc.sort_indices(other))):
            return str(name)
    return None


def _without_gaps(plan: Plan, frame: Frame) -> Ints:
    """The records that a plan with missing="drop" keeps."""
    whole = np.ones(len(frame), bool)
    for name in frame.choose(plan.columns, {*plan.roles, *plan.strata, plan.weight}):
        given = plan.types.get(name), plan.levels.get(name), plan.codes_of(name)
        whole &= read_column(frame, name, *given).there
    return np.flatnonzero(whole)


def _by_key(before: Frame, after: Frame, key: Any) -> tuple[Ints, list[str]]:
    """For each row of the release its row in the original."""
    for frame, which in ((before, "original"), (after, "release")):
        if key not in frame.names:
            raise InputError(f"there is no column {key!r} in the {which}: name a key that both tables have")
    cells, wanted = _plain(before.arrow(key)), _plain(after.arrow(key))
    if cells.type != wanted.type:
        spelled = ([None if cell is None else str(cell) for cell in c.to_pylist()] for c in (cells, wanted))
        cells, wanted = (pa.array(texts, pa.large_string()) for texts in spelled)
    encoded = [column.dictionary_encode(null_encoding="encode").indices for column in (cells, wanted)]
    # Values are numbered as they come: the first that repeats is the first whose number is not its row.
    repeats = [np.asarray(numbers) != np.arange(len(numbers)) for numbers in encoded]
    wrong = repeats[0] | np.asarray(cells.is_null())
    if wrong.any():
        raise InputError(
            f"the key {key!r} is empty or repeats in row {np.argmax(wrong) + 1} of the original: take another"
        )
    if repeats[1].any():
        raise InputError(f"the key {key!r} repeats in the release: name another")
    places = pc.index_in(wanted, cells)
    if places.null_count:
        row = places.is_null().index(True).as_py()
        raise InputError(f"row {row + 1} of the release has a key that the original lacks: another table?")
    left = len(before) - len(after)
    told = [f"{left:,} of {len(before):,} records of the original are not in the release"] if left else []
    return places.to_numpy().astype(np.int64), told


def _plain(column: pa.Array) -> pa.Array:
    """A dictionary as its values, and every text as a large one."""
    column = written_out(column)
    return column.cast(pa.large_string()) if pa.types.is_string(column.type) else column
