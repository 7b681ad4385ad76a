"""Many plans on one table: what each loses, what each risks, and which k answers a wish."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.bounds import lower_bound
from shoal.errors import InputError, ShoalError
from shoal.frame.frame import Frame
from shoal.grouping.registry import get_method
from shoal.io.atomic import replacing
from shoal.io.source import frame_of
from shoal.measures.risk import risk
from shoal.pipeline import run
from shoal.plan import Plan
from shoal.release import Release

Progress = Callable[[float], None]
CANDIDATES = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50)  # for k, if none are named
BOUND_SECONDS = 10.0  # for the bound at each k
NEIGHBOUR_SECONDS = 20.0  # a plan that took longer is not run again for a report


@dataclass(frozen=True)
class Run:
    """One plan carried out. `risk` is the share of records correctly linked by all columns, `risk_high` the
    upper end of its confidence interval; `pareto` says that no other run loses less and risks less."""

    method: str
    k: int
    information_loss: float
    risk: float
    risk_high: float
    interval_disclosure: float
    groups: int
    smallest_group: int
    largest_group: int
    seconds: float
    pareto: bool = False


@dataclass(frozen=True)
class Failure:
    """A plan that could not be carried out, and why, in one sentence."""

    method: str
    k: int
    error: str


@dataclass(frozen=True)
class Comparison:
    """Runs sorted by loss; `bounds` has the proven least loss for each k, where one is known."""

    records: int
    columns: tuple[str, ...]
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    bounds: Mapping[int, float]

    @property
    def front(self) -> list[Run]:
        """The runs that no other beats in loss and in risk, by growing loss."""
        return [run for run in self.runs if run.pareto]

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "records": self.records,
            "columns": list(self.columns),
            "runs": [asdict(run) for run in self.runs],
            "failures": [asdict(failure) for failure in self.failures],
            "bounds": {str(k): value for k, value in self.bounds.items()},
        }

    def csv(self) -> str:
        """One line for each run."""
        text = io.StringIO()
        rows = [{**asdict(run), "bound": self.bounds.get(run.k)} for run in self.runs]
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def svg(self) -> str:
        """The risk-utility map as a picture that stands alone."""
        from shoal.report.figures import risk_utility_map

        return risk_utility_map(self.facts())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write as CSV, JSON or SVG, told by the ending."""
        path = Path(path)
        makers = {
            ".csv": self.csv,
            ".json": lambda: json.dumps(self.facts(), indent=1) + "\n",
            ".svg": self.svg,
        }
        if path.suffix.lower() not in makers:
            raise InputError(f"{path.name!r} has another ending than .csv, .json or .svg: use one of these")
        text = makers[path.suffix.lower()]()
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")


def compare(
    data: Any,
    k: Sequence[int] | int = (3, 5, 10),
    methods: Sequence[str] | str = ("auto",),
    *,
    columns: Sequence[Any] | Any | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    bound_time: float | None = BOUND_SECONDS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method at every k, several at a time, and measure what each loses and risks.

    `time_limit` is for each run. `bound_time` is what may be spent on the proven bound at each k (None: no
    bounds). What cannot be run is kept with its reason; if nothing can, the first reason is raised.
    """
    frame = frame_of(data)
    names = tuple(frame.choose(columns))
    many_k = list(dict.fromkeys([k] if isinstance(k, int) else k))
    keys = list(dict.fromkeys([methods] if isinstance(methods, str) else methods))
    if not many_k or not keys:
        raise InputError("nothing to compare: name at least one k and one method")
    for key in keys:
        get_method(key)
    settings: dict[str, Any] = {"columns": names, "seed": seed, "time_limit": time_limit}
    plans = [Plan(size, method=key, **settings) for size in many_k for key in keys]
    return compare_plans(plans, frame, names, bound_time, workers, progress)


def neighbours(release: Release, progress: Progress | None = None) -> Comparison | None:
    """The same plan at half, twice and four times its k; None where making it took longer than some seconds.

    It answers "why this k" in a report without making anybody wait.
    """
    k = release.plan.k
    if k < 2 or release.seconds > NEIGHBOUR_SECONDS:
        return None
    frame = frame_of(release.original)
    sizes = sorted({max(2, k // 2), k, 2 * k, 4 * k})
    plans = [replace(release.plan, k=size) for size in sizes if size <= max(k, len(frame) // 2)]
    return compare_plans(plans, frame, release.columns, None, None, progress)


def compare_plans(
    plans: Sequence[Plan],
    frame: Frame,
    names: Sequence[Any],
    bound_time: float | None,
    workers: int | None,
    progress: Progress | None,
) -> Comparison:
    """Carry out the plans, several at a time, and find the bounds at their k."""
    sizes = list(dict.fromkeys(plan.k for plan in plans))
    jobs: list[Callable[[], Any]] = [partial(_run, plan, frame.native) for plan in plans]
    if bound_time is not None:
        jobs += [partial(_bound, frame, names, size, bound_time) for size in sizes]
    done = _together(jobs, workers or min(os.cpu_count() or 1, 4), progress)
    runs = [outcome for outcome in done[: len(plans)] if isinstance(outcome, Run)]
    failures = [outcome for outcome in done[: len(plans)] if isinstance(outcome, Failure)]
    if not runs:
        raise InputError(failures[0].error)
    bounds = {size: value for size, value in zip(sizes, done[len(plans) :]) if value is not None}
    return Comparison(len(frame), tuple(map(str, names)), tuple(by_loss(runs)), tuple(failures), bounds)


def _run(plan: Plan, data: Any) -> Run | Failure:
    try:
        release = run(plan, data)
    except ShoalError as error:
        return Failure(plan.method, plan.k, str(error))
    found = risk(data, release.table, release.columns, per_column=plan.per_column, seed=plan.seed)
    sizes = release.group_sizes
    return Run(
        plan.method,
        plan.k,
        release.information_loss,
        found["linkage"].overall,
        found["linkage"].detail["high"],
        found["interval_sd"].overall,
        len(sizes),
        int(sizes.min()),
        int(sizes.max()),
        release.seconds,
    )


def _bound(frame: Frame, names: Sequence[Any], k: int, seconds: float) -> float | None:
    """The proven least loss at this k; None where no bound can be had."""
    try:
        return lower_bound(frame.native, k, columns=names, time_limit=seconds).information_loss
    except ShoalError:
        return None


def _together(jobs: Sequence[Callable[[], Any]], workers: int, progress: Progress | None) -> list[Any]:
    """The results of all jobs, in their order; kernels let other threads run."""
    done, lock = 0, threading.Lock()

    def work(job: Callable[[], Any]) -> Any:
        nonlocal done
        result = job()
        with lock:
            done += 1
            if progress is not None:
                progress(done / len(jobs))
        return result

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, jobs))


def by_loss(runs: Iterable[Run]) -> list[Run]:
    """By loss; the Pareto front marked."""
    lowest, found = float("inf"), []
    for entry in sorted(runs, key=lambda r: (r.information_loss, r.risk, r.k, r.method)):
        found.append(replace(entry, pareto=entry.risk < lowest))
        lowest = min(lowest, entry.risk)
    return found


@dataclass(frozen=True)
class Suggestion:
    """Which k, and why; `k` is None where no run keeps the risk low enough."""

    k: int | None
    method: str | None
    max_risk: float
    reason: str
    comparison: Comparison

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "k": self.k,
            "method": self.method,
            "max_risk": self.max_risk,
            "reason": self.reason,
            "comparison": self.comparison.facts(),
        }


def suggest(
    data: Any,
    max_risk: float = 0.05,
    k: Sequence[int] | None = None,
    methods: Sequence[str] | str = ("auto",),
    **options: Any,
) -> Suggestion:
    """Which k? The run of least loss whose share of correctly linked records is at most `max_risk`.

    Where the risk was estimated from a sample, the upper end of its confidence interval must keep to it.
    Further options are those of `compare`.
    """
    if not 0 < max_risk <= 1:
        raise InputError(f"max_risk is a share between 0 and 1, not {max_risk!r}")
    frame = frame_of(data)
    if k is None:
        k = [size for size in CANDIDATES if size <= len(frame)]
        if not k:
            raise InputError(f"the table has {len(frame)} records: too few to hide one among others")
    options.setdefault("bound_time", None)
    found = compare(frame.native, k, methods, **options)
    tried = found.runs
    safe = [run for run in tried if run.risk_high <= max_risk]
    wish = f"at most {100 * max_risk:.3g} %"
    if not safe:
        least = min(tried, key=lambda r: r.risk_high)
        reason = (
            f"no k tried keeps the share of correctly linked records to {wish}: the lowest was "
            f"{_share(least)} at k={least.k} ({least.method}). Try larger k, protect more columns, or "
            "allow more"
        )
        return Suggestion(None, None, max_risk, reason, found)
    best = min(safe, key=lambda r: (r.information_loss, r.k))
    reason = (
        f"k={best.k} ({best.method}): of all {len(tried)} runs that were tried it loses least "
        f"({best.information_loss:.3g} %) among those where an intruder who knows all the columns' "
        "true values "
        f"links {wish} of the records correctly ({_share(best)})"
    )
    riskier = [
        run for run in tried if run.risk_high > max_risk and run.information_loss < best.information_loss
    ]
    if riskier:
        nearest = max(riskier, key=lambda r: r.information_loss)
        reason += (
            f". The next with less loss, k={nearest.k} ({nearest.method}), loses "
            f"{nearest.information_loss:.3g} % "
            f"but lets {_share(nearest)} be linked"
        )
    return Suggestion(best.k, best.method, max_risk, reason, found)


def _share(entry: Run) -> str:
    text = f"{100 * entry.risk:.3g} %"
    if entry.risk_high > entry.risk:
        text += f", at most {100 * entry.risk_high:.3g} % with 95 % confidence"
    return text
