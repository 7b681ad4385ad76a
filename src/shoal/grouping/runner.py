"""The one door through which every method is called, and checked."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.grouping.partition import Partition, rows_of
from shoal.grouping.registry import Confidential, MethodInfo


def run_method(
    info: MethodInfo,
    X: NDArray,
    k: int,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
    parameters: Mapping[str, Any] | None = None,
    confidential: Confidential | None = None,
) -> Partition:
    """Group the rows of X and check the outcome: the one door through which every method is called."""
    n = len(X)
    refuse_need(info, confidential)
    if k == 1 or n < 2 * k:
        only = Partition(np.arange(n) if k == 1 else np.zeros(n, np.int64))
        return Partition(only.labels, least=only.sse(X)) if info.proves else only
    X = np.ascontiguousarray(X).view()
    X.flags.writeable = False
    supply = {"time_limit": time_limit, "progress": progress, "confidential": confidential}
    given = {name: np.random.default_rng(seed) if name == "rng" else supply[name] for name in info.supplied}
    outcome = info.function(X, k, **given, **(parameters or {}))
    partition = outcome if isinstance(outcome, Partition) else Partition(outcome)
    partition.check(k, n, 2 * k - 1 if info.sizes == "k..2k-1" else None)
    return partition


def refuse_need(info: MethodInfo, confidential: Confidential | None) -> None:
    """Refuse a method that needs a column of which nothing is asked."""
    if info.needs is not None and confidential is None:
        raise InputError(
            f"method {info.key!r} needs a column whose distribution it keeps within t: ask for {info.needs}, "
            f'such as {info.needs}={{"income": 0.2}} (--{info.needs} income=0.2), or take another method'
        )


def run_within(
    info: MethodInfo,
    X: NDArray,
    k: int,
    strata: Ints | None,
    *,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
    confidential: Confidential | None = None,
    **options: Any,
) -> Partition:
    """Group the rows of X, each stratum (0, 1, ..) for itself; None is one stratum of all rows."""
    if strata is None:
        return run_method(
            info, X, k, time_limit=time_limit, progress=progress, confidential=confidential, **options
        )
    labels = np.empty(len(X), np.int64)
    least: float | None = 0.0
    done = groups = 0
    for rows in rows_of(strata):
        part = run_method(
            info,
            X[rows],
            k,
            time_limit=time_limit and max(time_limit * len(rows) / len(X), 1e-3),
            progress=share(progress, done / len(X), len(rows) / len(X)),
            confidential=confidential and confidential._replace(codes=confidential.codes[rows]),
            **options,
        )
        labels[rows] = part.labels + groups
        groups += len(part)
        least = None if least is None or part.least is None else least + part.least
        done += len(rows)
    return Partition(labels, least=least)


def share(
    progress: Callable[[float], None] | None, begin: float, width: float
) -> Callable[[float], None] | None:
    """The progress of one part, as that of the whole."""
    return progress and (lambda fraction: progress(begin + fraction * width))
