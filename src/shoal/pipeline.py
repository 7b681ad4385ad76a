"""The way a table takes: columns, matrix, groups, centroids, check. The only place where the stages meet."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.check import check_columns
from shoal.errors import InputError
from shoal.method import MethodInfo, get_method, run_method
from shoal.plan import Plan
from shoal.release import Release
from shoal.table.aggregate import centroids
from shoal.table.encode import UNCHANGED, measurable, raw_matrix, standardise
from shoal.table.frame import Frame

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
    **parameters: Any,
) -> Release:
    """Publish each record as the mean of a group of at least k similar records.

    `data` is a numpy array, a pandas, polars or pyarrow table, or a path. Without `columns` every numeric
    column is used. `per_column=True` groups each column on its own (individual ranking): k then holds
    for each column and not for the record. Further keywords are the method's own parameters.
    """
    return run(Plan(k, columns, method, parameters, seed, time_limit, per_column), data, progress)


def run(plan: Plan, data: Any, progress: Progress | None = None) -> Release:
    """Make the release that the plan describes."""
    began = time.perf_counter()
    info = get_method(plan.method, plan.parameters)
    frame = Frame(data)
    names = frame.choose(plan.columns)
    together = [[name] for name in names] if plan.per_column else [names]
    _refuse(plan, info, len(frame), together)
    original = {name: frame.values(name) for name in names}

    released: dict[Any, NDArray] = {}
    labels: dict[Any, NDArray[np.int64]] = {}
    sst = sse = rounding = 0.0
    for done, part in enumerate(together):
        columns = [original[name] for name in part]
        raw = info.input == "raw"
        Z, scales = measurable(columns) if raw else standardise(columns)
        partition = run_method(
            info,
            raw_matrix(columns) if raw else Z,
            plan.k,
            seed=plan.seed,
            time_limit=plan.time_limit and plan.time_limit / len(together),
            progress=_share(progress, done, len(together)),
            parameters=plan.parameters,
        )
        means, errors = partition.means_and_sse(Z)
        squares = partition.sst(Z)
        unit = len(columns) * (len(frame) - 1) / squares if raw and squares else 1.0
        sst += unit * squares
        sse += unit * errors
        for j, name in enumerate(part):
            same = scales[j] == UNCHANGED and columns[j].dtype == means.dtype
            published = means[:, j] if same else centroids(columns[j], partition)
            rounding += unit * float(partition.sizes @ np.square(scales[j].apply(published) - means[:, j]))
            released[name] = partition.spread(published)
            labels[name] = partition.labels
    check_columns(released, labels, plan.k)
    return Release(
        table=frame.replace(released),
        labels=np.stack(list(labels.values()), axis=1) if plan.per_column else labels[names[0]],
        information_loss=100 * sse / sst if sst else 0.0,
        rounding_loss=100 * rounding / sst if sst else 0.0,
        plan=plan,
        columns=tuple(names),
        seconds=time.perf_counter() - began,
        notes=tuple(_notes(plan, info, original)),
        source=frame.source,
        original=frame.native,
    )


def _refuse(plan: Plan, info: MethodInfo, records: int, together: Sequence[Sequence[Any]]) -> None:
    if records < plan.k:
        raise InputError(f"k={plan.k} needs at least {plan.k} records, but the table has {records}: lower k")
    if info.columns == "one" and any(len(part) > 1 for part in together):
        raise InputError(
            f"method {info.key!r} groups by one column, but {len(together[0])} were chosen: choose one, "
            "use per_column=True (--per-column) to group each on its own, or take another method"
        )


def _share(progress: Progress | None, done: int, parts: int) -> Progress | None:
    """The progress of one part as a progress of the whole."""
    return progress and (lambda fraction: progress((done + fraction) / parts))


_IDENTIFIER = re.compile(r"(^|[^a-z])(id|uid|uuid|key|ssn|pin|nr|no)$|[a-z](ID|Id)$|[A-Z]{3,}ID$|^id[^a-z]")
_WEIGHT = re.compile(r"weight|wgt|(^|[^a-z])wt($|[^a-z])", re.IGNORECASE)


def _notes(plan: Plan, info: MethodInfo, original: Mapping[Any, NDArray]) -> list[str]:
    """What a careful colleague would point out; never acted on."""
    notes = []
    if plan.columns is None:
        for name, values in original.items():
            if _IDENTIFIER.search(str(name)) or _counts_records(values):
                notes.append(f"column {name!r} looks like an identifier but was averaged like the rest")
            elif _WEIGHT.search(str(name)):
                notes.append(f"column {name!r} looks like a survey weight but was averaged like the rest")
    if plan.time_limit is not None:
        if "time_limit" in info.supplied:
            notes.append(
                "bounded by time: another machine may give another release; leave it out to repeat it"
            )
        else:
            notes.append(f"method {info.key!r} does not work against the clock: the time limit had no effect")
    return notes


def _counts_records(values: NDArray) -> bool:
    """Whole numbers that run from first to last without a gap or a repeat."""
    if values.dtype.kind not in "iu" or len(values) < 3:
        return False
    low, high = int(values.min()), int(values.max())
    return high - low == len(values) - 1 and len(np.unique(values)) == len(values)
