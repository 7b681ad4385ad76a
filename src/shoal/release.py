"""Release: the protected table with all that is known of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.frame import Frame
from shoal.frame.order import file_order
from shoal.io import formulas
from shoal.io.atomic import refuse_input, replacing
from shoal.io.contents import Contents
from shoal.io.databases import sql
from shoal.io.files import as_arrow, file_format
from shoal.io.origin import Origin, with_columns
from shoal.outcome import Outcome, percent
from shoal.plan import Plan
from shoal.stages.kept import Suspect, refuse
from shoal.stages.units import group_sizes
from shoal.verify import policy
from shoal.verify.compare import compare, first_difference
from shoal.verify.count import count
from shoal.verify.steps import step_faults

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.measures.measure import Measures
    from shoal.measures.measured import Measured
    from shoal.report.plot import Plot
    from shoal.stages.loss import Loss


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What `microaggregate` gives back: the protected table, and what became of the plan.

    `labels` has one label for each record, or one column of labels for each column (or block) that was
    grouped on its own. `strata` has the stratum of each record, small ones merged; `changed` has the
    stratum columns in which a merged stratum publishes the cells of another: for each record, their row.
    `units` tells whose record each is, where the plan names units. `suspects` are columns that are written
    only if `keep` names them; `recoded` are columns that are neither protected nor as they were. `table` and
    `labels` are in the order of the original; `write` shuffles rows, unless the plan's `order` is "keep".
    """

    table: Any
    labels: NDArray[np.int64]
    plan: Plan
    outcome: Outcome
    columns: tuple[Any, ...]
    origin: Origin | sql.SqlOrigin | None = None
    original: Any = None
    strata: NDArray[np.int64] | None = None
    units: NDArray[np.int64] | None = None
    changed: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    recoded: tuple[str, ...] = ()

    @classmethod
    def made(
        cls,
        *,
        labels: NDArray[np.int64],
        plan: Plan,
        columns: tuple[Any, ...],
        loss: Loss,
        used: Sequence[str],
        notes: Sequence[str],
        began: float,
        **facts: Any,
    ) -> Release:
        """A release with its outcome; `began` is when the work began, by `time.perf_counter`."""
        kept = [name for name in Frame(facts["table"]).names if name not in set(columns)]
        outcome = Outcome.of(
            *(plan, columns, group_sizes(labels, facts.get("units")), loss, used, notes, began),
            kept=kept,
            records=len(labels),
            **_unique(facts["table"], columns, plan.k > 1 and not plan.apart),
        )
        return cls(labels=labels, plan=plan, columns=columns, outcome=outcome, **facts)

    @property
    def information_loss(self) -> float:
        """100 * SSE / SST of the groups with their exact means, in percent."""
        return self.outcome.information_loss

    @property
    def rounding_loss(self) -> float:
        """What publishing whole numbers (medians, modes) adds to that, in the same percent."""
        return self.outcome.rounding_loss

    @property
    def seconds(self) -> float:
        return self.outcome.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """What a careful colleague would point out."""
        return self.outcome.notes

    @property
    def used(self) -> tuple[str, ...]:
        """The methods that grouped: what `auto` chose."""
        return self.outcome.used

    @property
    def promise(self) -> str:
        """In plain words, what k means here."""
        return self.outcome.promise

    @property
    def source(self) -> Path | None:
        """The file that was protected, if it was one."""
        return None if self.origin is None else self.origin.path

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """How many records each group has: group_sizes[labels[i]] is the size of record i's group.

        Where each column has its own groups, those of all columns one after another.
        """
        return group_sizes(self.labels)

    def summary(self) -> dict[str, Any]:
        """The outcome as plain values, as `--json` prints it."""
        return self.outcome.summary()

    def __repr__(self) -> str:
        """Five lines: what, how, lost, promised, kept."""
        outcome = self.outcome
        sizes = f"{outcome.smallest_group} to {outcome.largest_group} records"
        return "\n".join(
            [
                f"Release of {outcome.records:,} records, k={outcome.k}, method {outcome.method!r}",
                f"  groups     {outcome.groups:,} of {sizes}",
                f"  lost       {percent(outcome.information_loss)} of the information",
                f"  promise    {outcome.promise}",
                f"  as before  {', '.join(outcome.kept) or 'no column'}",
            ]
        )

    def _repr_html_(self) -> str:
        return self.outcome._repr_html_() + self.plot._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # without what was measured

    @cached_property
    def measured(self) -> Measured:
        """What is measured of the release, once; `utility`, `risk`, reports and comparisons share it."""
        from shoal.measures.measured import Measured

        if self.original is None:
            raise InputError("this release does not know its original table, which it is measured against")
        plan, labels = self.plan, self.labels.reshape(len(self.labels), -1).T
        return Measured(
            self.original,
            self.table,
            list(self.columns),
            plan.seed,
            types={**plan.types, **dict.fromkeys(plan.regroup, "nominal")},
            levels={name: levels for name, levels in plan.levels.items() if name not in plan.regroup},
            weight=plan.weight,
            labels={name: labels[i] for i, part in enumerate(plan.parts(self.columns)) for name in part},
            loss=self.information_loss,
            known=plan.known,
            strata=plan.strata,
            hidden=plan.named("confidential"),
            units=self.units,
            codes_of=plan.codes_of,
        )

    def utility(
        self, *, formula: str | None = None, subgroups: Sequence[Any] | None = None, **options: Any
    ) -> Measures:
        """Measure what was lost; see `shoal.utility`.

        Measured once: a second call, a report and a comparison get the same values. With `models`, `sample`
        or `seed` it is measured anew.

        Examples
        --------
        >>> import shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> release.utility()["means"].overall < 0.001
        True
        """
        return self.measured.utility(formula, subgroups, **options)

    def risk(
        self, *, confidential: Sequence[Any] | None = None, before: bool = False, **options: Any
    ) -> Measures:
        """Measure what an intruder can still learn; see `shoal.risk`.

        Measured once, like `utility`. Without `confidential`, the columns that the plan calls confidential
        are watched. `before` measures the original instead, as if it were published. With `interval`,
        `dominance`, `sample`, `seed` or `known` it is measured anew.

        Examples
        --------
        >>> import shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> release.risk(known=())["linkage"].overall <= 1 / 3
        True
        """
        confidential = confidential or self.plan.named("confidential") or None
        return self.measured.risk(confidential, before, **options)

    @property
    def plot(self) -> Plot:
        """Pictures of the release: `release.plot.loss()` and others, each on matplotlib's Axes.

        Examples
        --------
        >>> import matplotlib, shoal
        >>> matplotlib.use("agg")
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> release.plot.sizes().get_ylabel()
        'groups'
        """
        from shoal.report.plot import Plot

        return Plot(self)

    def bound(self, time_limit: float = 60) -> Bound:
        """Prove how little any release of these columns with this k could lose; see `shoal.lower_bound`.

        Parameters
        ----------
        time_limit : float
            Seconds after which the best bound found so far is returned.

        Examples
        --------
        >>> import shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> release.bound(time_limit=1).information_loss <= release.information_loss
        True
        """
        from shoal.bounds import bound_matrix, standardised

        if self.plan.apart or self.plan.weight is not None:
            raise InputError(
                "a bound holds for groups of whole, unweighted records: leave blocks and weights out"
            )
        Z = standardised(self.original, self.columns)
        return bound_matrix(Z, self.plan.k, time_limit=time_limit, start=self.labels)

    lower_bound = bound  # its first name

    def report(self, path: str | os.PathLike[str], edition: str = "internal", **options: Any) -> None:
        """Write what was done, lost and is at risk.

        Parameters
        ----------
        path : path
            A file that ends in .html, .json or .txt.
        edition : str
            "internal", or "public", which tells neither risk nor seed.
        **options
            `comparison`, `confidential`, `formula`, `subgroups`, `sums`, `bound`, `bound_time`: see
            `docs/report.md`.

        Examples
        --------
        >>> import os, tempfile, shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "report.txt")
        ...     release.report(path, "public")
        ...     print(open(path).read().splitlines()[3])
        What was done
        """
        from shoal import report

        report.report_format(path)
        report.write(report.build(self, edition, **options), path)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        safe_cells: bool = False,
        keep: Sequence[Any] = (),
    ) -> tuple[str, ...]:
        """Write the protected table. It is read back and checked before it takes its name.

        Parameters
        ----------
        path : path
            A file, whose ending tells its format, or the URL of a table in a database.
        replace : bool
            Whether a table of a database may exist; a file is always replaced, in one step.
        safe_cells : bool
            In CSV and TSV files, write an apostrophe before texts that a spreadsheet would run as formulas.
        keep : list of columns
            Columns to publish as they are, though they look like identifiers or give others away.

        Returns
        -------
        tuple of str
            Notes on the file: how many such texts it has.

        Raises
        ------
        InputError
            If there are such columns, and neither `keep` nor a role of the plan names them.
        CheckFailed
            If the file does not keep the promise; nothing is published.

        Examples
        --------
        >>> import os, tempfile, shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.write(os.path.join(folder, "safe.csv"))
        ()
        """
        refuse(self.suspects, keep)
        if sql.is_url(path):
            url = str(path)
            sql.refuse_target(url, replace, self.origin)
            ready = self._ready(sql.address(url))
            sql.write(
                url,
                ready.table,
                replace,
                lambda *contents: self._verify(Contents(*contents), ready, rounding=True),
                self.origin,
            )
            return ()
        path = Path(path)
        if self.source is not None:
            refuse_input(path, self.source)
        kind = file_format(path)
        ready = self._ready(kind)
        notes: tuple[str, ...] = ()
        if kind.family == "text":
            notes = formulas.notes(ready.table, safe_cells)
            if safe_cells:
                safe = formulas.safe(ready.table), formulas.safe(ready.expected)
                ready = ready._replace(table=safe[0], expected=safe[1])
        with replacing(path) as part:
            kind.write(ready.table, part)
            # Where a text file has one column, a gap is an empty text.
            alone = kind.family == "text" and len(ready.table.column_names) == 1
            self._verify(kind.read(part), ready, alone or kind.family in ("sav", "dta", "excel"))
        return notes

    def _ready(self, target: Any) -> _Ready:
        """The table for such a target, in the order of its file."""
        protected = [str(name) for name in self.columns]
        table, original = as_arrow(self.table), as_arrow(self.original)
        cells = None if self.origin is None else self.origin.own_cells(target)
        if self.origin is None or cells is None:
            expected = with_columns(table, original, [*protected, *self.recoded, *self.changed])
        else:
            for name, rows in self.changed.items():
                at = cells.column_names.index(name)
                cells = cells.set_column(at, cells.schema.field(at), cells[name].take(rows))
            expected = with_columns(table, cells, [*protected, *self.recoded])
            table = self.origin.restore(table, cells, [*protected, *self.recoded])
        order = file_order(original, self.plan, self.columns)
        if order is not None:
            table, expected = table.take(order), expected.take(order)
        return _Ready(table, expected, cells is not None, order)

    def require(self, table: Any) -> None:
        """Raise unless the promise holds in this Arrow table, and all else is as it was."""
        changed = [*map(str, self.columns), *self.recoded, *self.changed]
        expected = with_columns(as_arrow(self.table), as_arrow(self.original), changed)
        self._verify(Contents(as_arrow(table)), _Ready(None, expected))

    def _verify(self, written: Contents, ready: _Ready, loose: bool = False, rounding: bool = False) -> None:
        """Raise unless what was written, read again, is what was expected, and keeps its promise.

        `rounding`: the types of a database may round what is published.
        """
        (table, cells), expected = written, ready.expected
        names = dict(zip(as_arrow(self.table).column_names, expected.column_names))  # some were made safe
        protected = {names[str(name)] for name in [*self.columns, *self.recoded]}

        def same(name: str, one: Any, other: Any) -> int | None:
            if ready.exact and cells is not None and name not in protected:
                return first_difference(one, cells[name])
            row = first_difference(one, other, loose)
            return row if row is None or cells is None else first_difference(one, cells[name], loose)

        def by_row(ids: NDArray[np.int64] | None) -> list[NDArray[np.int64]]:
            return [] if ids is None else [ids if ready.order is None else ids[ready.order]]

        agreement = compare(expected, table, protected if rounding else (), (), same)
        parts = [[names[str(name)] for name in part] for part in self.plan.parts(self.columns)]
        strata, units = by_row(self.strata), by_row(self.units)
        comparable = len(table) == len(expected) and table.column_names == expected.column_names
        counted = [count(table, part, self.plan.k, strata, units) for part in parts] if comparable else []
        if comparable and not rounding and (self.plan.stepped or self.plan.decimals):
            before = as_arrow(self.original)
            before = before if ready.order is None else before.take(ready.order)
            found = table.rename_columns([*as_arrow(self.table).column_names])
            wrong = step_faults(before, found, self.plan, [str(name) for name in self.columns])
            agreement = dataclasses.replace(agreement, faults=(*agreement.faults, *wrong))
        policy.require(self.plan.k, parts, counted, agreement, "units" if units else "records")


def _unique(table: Any, columns: Sequence[Any], grouped: bool) -> dict[str, Any]:
    """How many rows are one of a kind; nothing is told of a table that Arrow cannot hold.

    `grouped`: each combination of the protected columns was counted, and occurs more than once.
    """
    import pyarrow as pa

    from shoal.measures.uniqueness import few_valued, unique_rows

    try:
        published = as_arrow(table)
    except pa.ArrowException:
        return {}
    called = dict(zip(Frame(table).names, published.column_names))
    others = [name for key, name in called.items() if key not in set(columns)]
    if grouped and not others:
        return {"unique_on_categories": 0, "unique_rows": 0}
    few = [*(called[name] for name in columns), *few_valued(published, others)]
    return {
        "unique_on_categories": unique_rows(published, few),
        "unique_rows": unique_rows(published, published.column_names),
    }


class _Ready(NamedTuple):
    """What is written and what must then be found, in the order of the file."""

    table: Any
    expected: Any
    exact: bool = False  # whether cells that are not protected must be the same to the letter
    order: NDArray[np.int64] | None = None  # for each row of the file the original's
