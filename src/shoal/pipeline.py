"""From a request to a release: the entry that Python, the command line, the page and the estimator share."""

from collections.abc import Callable
from typing import Any, Unpack

from shoal.engines.memory import run
from shoal.plan import Plan, PlanFields, explicit
from shoal.progress import in_notebook, watching
from shoal.release import Release

__all__ = ["microaggregate", "run"]

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
