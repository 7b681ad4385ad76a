"""From a request to a release: the entry that Python, the command line, the page and the estimator share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

from shoal.engines.memory import run
from shoal.plan import explicit, plan_among
from shoal.release import Release

__all__ = ["microaggregate", "run"]

Progress = Callable[[float], None]


@explicit(loose=True)
def microaggregate(
    data: Any,
    k: int,
    *,
    columns: Iterable[Hashable] | Hashable | None = None,
    method: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    per_column: bool = False,
    blocks: Iterable[Iterable[Hashable] | Hashable] | None = None,
    roles: Mapping[Any, str] | None = None,
    types: Mapping[Any, str] | None = None,
    levels: Mapping[Any, Collection[Any]] | None = None,
    scaling: str | Mapping[Any, str] = "standard",
    log: Iterable[Hashable] | Hashable = (),
    column_weights: Mapping[Any, float] | None = None,
    centroids: str | Mapping[Any, str] | None = None,
    preserve: str | None = None,
    missing: str = "group",
    strata: Iterable[Hashable] | Hashable = (),
    merge_small_strata: bool = False,
    weight: Hashable = None,
    version: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
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
    blocks, roles, types, levels, scaling, log, column_weights, centroids, preserve, missing, strata, \
    merge_small_strata, weight, version, sha256
        As `shoal.Plan` has them.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1.

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
    return run(plan_among(locals()), data, progress)
