"""Release: the protected table with all that is known of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal import writing
from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.io.databases import sql
from shoal.io.files import as_arrow
from shoal.io.origin import Origin
from shoal.outcome import Outcome, percent
from shoal.plan import Plan
from shoal.stages.kept import Suspect
from shoal.stages.units import group_sizes

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.measures.measure import Measures
    from shoal.measures.measured import Measured
    from shoal.report.plot import Plot


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What `microaggregate` gives back: the protected table, and what became of the plan.

    `labels` has one label for each record, or one column of labels for each column (or block) that was
    grouped on its own. `strata` has the stratum of each record, small ones merged; `changed` has the
    stratum columns in which a merged stratum publishes the cells of another: for each record, their row.
    `units` tells whose record each is, where the plan names units. `suspects` are columns that are written
    only if `keep` names them; `recoded` are columns that are neither protected nor as they were; `codes` are
    what a file of SPSS or Stata calls missing, for gaps of columns that are not as they were. `table` and
    `labels` are in the order of the original; `write` shuffles rows, unless the plan's `order` is "keep".
    """

    table: Any
    labels: Ints
    plan: Plan
    outcome: Outcome
    columns: tuple[Any, ...]
    origin: Origin | sql.SqlOrigin | None = None
    original: Any = None
    strata: Ints | None = None
    units: Ints | None = None
    changed: Mapping[str, Ints] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    recoded: tuple[str, ...] = ()
    codes: Mapping[str, pa.Array] = field(default_factory=dict)

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
    def group_sizes(self) -> Ints:
        """How many records each group has: group_sizes[labels[i]] is the size of record i's group.

        Where each column has its own groups, those of all columns one after another.
        """
        return group_sizes(self.labels)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The protected table for whoever takes Arrow's streams: DuckDB, polars, pyarrow."""
        return as_arrow(self.table).__arrow_c_stream__(requested_schema)

    def summary(self) -> dict[str, Any]:
        """The outcome as plain values, as `--json` prints it."""
        return self.outcome.summary()

    def __repr__(self) -> str:
        """Five lines: what, how, lost, promised, kept."""
        outcome = self.outcome
        sizes = f"{outcome.smallest_group} to {outcome.largest_group} {outcome.counted}"
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

    def bound(self, time_limit: float = 60, near: float = 0.0) -> Bound:
        """Prove how little any release of these columns with this k could lose; see `shoal.lower_bound`.

        Parameters
        ----------
        time_limit : float
            Seconds after which the best bound found so far is returned.
        near : float
            The search ends as soon as this release lies at most so far above the bound, as a share of it.

        Examples
        --------
        >>> import shoal
        >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=3, columns=["turnover", "wages"])
        >>> release.bound(time_limit=1).information_loss <= release.information_loss
        True
        """
        from shoal.bounds import bound_matrix, measured

        Z, V = measured(self.original, plan=replace(self.plan, columns=self.columns))
        goal = self.information_loss / (1 + near)
        return bound_matrix(Z, self.plan.k, V, time_limit=time_limit, start=self.labels, goal=goal)

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
            `docs/report.md`. Without `comparison`, the internal report tries half, twice and four times k.

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
        if edition == "internal" and "comparison" not in options:
            from shoal.comparison import neighbours

            options["comparison"] = neighbours(self)
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
        return writing.write(self, path, replace, safe_cells, keep)

    def require(self, table: Any) -> None:
        """Raise unless the promise holds in this Arrow table, and all else is as it was."""
        writing.require(self, table)
