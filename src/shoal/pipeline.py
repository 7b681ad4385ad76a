"""From a request to a release: the entry that Python, the command line, the page and the estimator share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from shoal.engines.memory import run
from shoal.io.atomic import refuse_missing_folder
from shoal.io.origin import Origin
from shoal.plan import Plan, PlanFields, explicit
from shoal.progress import in_notebook, watching
from shoal.release import Release

if TYPE_CHECKING:
    from shoal.engines.blocks.placed import Placed
    from shoal.outcome import Outcome

__all__ = ["microaggregate", "protect_files", "run"]

Progress = Callable[[float], None]


@explicit(Plan, loose=True)
def microaggregate(
    data: Any, k: int, *, progress: Progress | None = None, **fields: Unpack[PlanFields]
) -> Release:
    """Publish each record as the centroid of a group of at least k similar records.

    Parameters
    ----------
    data : table, array or path
        A pandas, polars or pyarrow table, a numpy array, a file or the URL of a table in a database. The
        table of the release is of the same kind.
    k : int
        How many records must share each published combination of values, at least.
    columns : column or list of columns, optional
        The columns to protect; every numeric column if left out.
    method : str
        How to group: a key of `shoal.methods()`.
    parameters : mapping of str to value, optional
        The method's own parameters.
    seed : int
        The same seed gives the same release.
    time_limit : float, optional
        Seconds after which the method returns the best it has found.
    per_column : bool
        Group each column on its own (individual ranking): k then holds for each column, not for the record.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1. In a notebook with ipywidgets, a bar
        shows it after two seconds.
    **fields
        Every other field of `shoal.Plan`, such as `strata`, `unit`, `weight`, `roles`, `missing_codes`.

    Returns
    -------
    Release
        The protected table (`.table`) and what became of the plan (`.outcome`).

    Raises
    ------
    InputError
        If the data, a value or a keyword is wrong; the message says what to do.

    Examples
    --------
    >>> import shoal
    >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=5, columns=["turnover", "wages"])
    >>> release.outcome.smallest_group >= 5
    True
    >>> release.table.num_rows
    60
    >>> release = shoal.microaggregate(
    ...     shoal.datasets.survey(60), k=5, method="vmdav", parameters={"gamma": 0.5}
    ... )
    >>> release.used
    ('vmdav',)
    """
    plan = Plan(k, **fields)
    if progress is not None or not in_notebook():
        return run(plan, data, progress)
    with watching() as bar:
        return run(plan, data, bar)


@explicit(Plan, loose=True)
def protect_files(
    source: Any,
    target: str | os.PathLike[str],
    k: int,
    *,
    replace: bool = False,
    partition_by: str | Sequence[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    public_report: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **fields: Unpack[PlanFields],
) -> Outcome:
    """Protect a Parquet file, a folder of them, or a stream of records, that need not fit into memory.

    Rows are shuffled unless `order` is "keep". What was written is read again and checked before it takes its
    name. A folder gets a manifest for its readers; what only its owner may know is in TARGET.private.json.

    Parameters
    ----------
    source : str, path or stream
        A .parquet file, or a folder of them, or of folders such as year=2020: then year is a column too. Or
        what sends its records by Arrow's interface: a relation of DuckDB, a LazyFrame, a reader.
    target : str or path
        A .parquet file, or a folder that gets part files and a manifest.
    k : int
        How many records must share each published combination of values, at least.
    replace : bool
        Whether `target` may exist; it is then replaced in one step.
    partition_by : str or list of str, optional
        Kept columns that name the folders of the release, such as year=2020. None means those of the source
        that are published as they are.
    report, public_report : str or path, optional
        Where to write the internal and the public report: files that end in .html, .json or .txt.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1.
    **fields
        As `shoal.Plan` has them: `columns`, `method`, `unit` and others.

    Returns
    -------
    Outcome
        What was lost, how large the groups are, what is promised.

    Raises
    ------
    InputError
        If the files, a value or a keyword is wrong, or `target` exists.
    CheckFailed
        If what was written does not keep its promise; nothing is published.

    Examples
    --------
    >>> import shoal
    >>> shoal.write(shoal.datasets.survey(200), "firms.parquet")
    >>> outcome = shoal.protect_files("firms.parquet", "safe.parquet", k=5, columns=["turnover", "wages"])
    >>> outcome.records, outcome.engine, outcome.smallest_group >= 5
    (200, 'disk', True)
    """
    from shoal.engines.disk.engine import run as run_on_disk

    plan = Plan(k, **fields)
    told: Any = {"progress": progress, "then": reporting(plan, source, report, public_report)}
    return run_on_disk(plan, source, target, replace=replace, partition_by=partition_by, **told)


def reporting(
    plan: Plan,
    source: Any,
    report: str | os.PathLike[str] | None,
    public_report: str | os.PathLike[str] | None,
) -> Callable[[Outcome, Placed], None] | None:
    """What writes the reports of a large release once it is finished; what would fail then is refused now."""
    editions = {e: Path(p) for e, p in (("internal", report), ("public", public_report)) if p is not None}
    for path in editions.values():
        from shoal.report import report_format

        report_format(path)
        refuse_missing_folder(path.parent)

    def then(outcome: Outcome, placed: Placed) -> None:
        release = release_of(plan, source, outcome, placed)
        for edition, path in editions.items():
            release.report(path, edition)

    return then if editions else None


def release_of(plan: Plan, source: Any, outcome: Outcome, placed: Placed) -> Release:
    """A release that the disk engine or Spark has finished, of which columns are read one by one."""
    return Release(
        table=placed.released,
        labels=placed.labels,
        plan=plan,
        outcome=outcome,
        columns=outcome.columns,
        origin=Origin(Path(source), address=str(source)) if isinstance(source, (str, os.PathLike)) else None,
        original=placed.original,
        units=placed.units,
    )
