"""From a request to a release: the entry that Python, the command line, the page and the estimator share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.engines.memory import run
from shoal.plan import Plan
from shoal.release import Release

__all__ = ["microaggregate", "run"]

Progress = Callable[[float], None]


def microaggregate(
    data: Any,
    k: int,
    *,
    columns: Sequence[Any] | Any | None = None,
    method: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    per_column: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Publish each record as the mean of a group of at least k similar records.

    `data` is a numpy array, a pandas, polars or pyarrow table, or a path. Without `columns` every numeric
    column is used. `per_column=True` groups each column on its own (individual ranking): k then holds
    for each column and not for the record. Further keywords are the fields of `shoal.Plan` (types,
    missing, strata, weight, ...) or the method's own parameters.
    """
    plan = Plan.of(
        k,
        columns=columns,
        method=method,
        seed=seed,
        time_limit=time_limit,
        per_column=per_column,
        **options,
    )
    return run(plan, data, progress)
