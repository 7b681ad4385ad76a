"""Many plans on one table: what each loses and what each risks."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from shoal.bounds import bound_matrix, measured
from shoal.display import Tabular
from shoal.engines.memory import run
from shoal.errors import InputError, ShoalError
from shoal.frame.frame import Frame
from shoal.frame.large import LargeTable
from shoal.frame.order import row_ids
from shoal.frame.types import read_column
from shoal.grouping.registry import get_method
from shoal.io.atomic import replacing
from shoal.io.json_text import json_text
from shoal.io.large import large_table
from shoal.io.source import frame_of
from shoal.kernels.runtime.threads import map_threads, thread_count
from shoal.measures.linkage import drawn
from shoal.plan import Plan, PlanFields, explicit
from shoal.plan.rules import alternatives, required_by, without
from shoal.report.pictures import front

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.release import Release
    from shoal.report.drawing import Picture

Progress = Callable[[float], None]
Job = Callable[[], "Run | Failure | float | None"]
BOUND_SECONDS = 10.0  # for the bound at each k
TRIED = 20_000  # records of a table larger than memory, with which plans are tried: each takes seconds
NEIGHBOUR_SECONDS = 20.0  # a report makes three further releases, unless this one took longer than that
ENDINGS = (".csv", ".json", ".svg")


@dataclass(frozen=True)
class Run:
    """One plan carried out. `risk` is the share of records correctly linked by all columns, `risk_high` the
    upper end of its confidence interval; `pareto` says that no other run loses less and risks less;
    `requirements` says what each group holds beyond k, as it is typed."""

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
    requirements: str = ""

    @classmethod
    def of(cls, release: Release, sample: int | None = None) -> Run:
        """What a release loses and risks. What it has measured already is not measured again."""
        risk = release.risk() if sample is None else release.risk(sample=sample)
        outcome = release.outcome
        same = ("method", "k", "information_loss", "groups", "smallest_group", "largest_group", "seconds")
        return cls(
            **{name: getattr(outcome, name) for name in same},
            risk=risk["linkage"].overall,
            risk_high=risk["linkage"].detail["high"],
            interval_disclosure=risk["interval_sd"].overall,
            requirements=required_by(release.plan),
        )


@dataclass(frozen=True)
class Failure:
    """A plan that could not be carried out, and why, in one sentence."""

    method: str
    k: int
    error: str
    requirements: str = ""


@dataclass(frozen=True)
class Comparison(Tabular):
    """What `compare` gives back.

    Attributes
    ----------
    records : int
        How many records were tried.
    columns : tuple of str
        The columns that were protected.
    runs : tuple of Run
        What was carried out, by growing loss.
    failures : tuple of Failure
        What could not be carried out, with the reason.
    bounds : mapping
        The proven least loss for each k, where there is one.
    notes : tuple of str
        Of a table larger than memory, how many of its records were tried.

    Examples
    --------
    >>> import shoal
    >>> tried = shoal.compare(shoal.datasets.survey(60), k=[3, 5], methods="mdav", bound_time=None)
    >>> tried
    Comparison(60 records, 6 columns: 2 runs, 2 on the front, 0 failures)
    >>> tried.front[0].k
    3
    """

    records: int
    columns: tuple[str, ...]
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    bounds: Mapping[int, float]
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> list[Run]:
        """The runs that no other beats in loss and in risk, by growing loss."""
        return [run for run in self.runs if run.pareto]

    def __repr__(self) -> str:
        return (
            f"Comparison({self.records:,} records, {len(self.columns)} columns: {len(self.runs)} runs, "
            f"{len(self.front)} on the front, {len(self.failures)} failures)"
        )

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "records": self.records,
            "columns": list(self.columns),
            "runs": [asdict(run) for run in self.runs],
            "failures": [asdict(failure) for failure in self.failures],
            "bounds": {str(k): value for k, value in self.bounds.items()},
            "notes": list(self.notes),
        }

    def records_of(self) -> list[dict[str, Any]]:
        """One row for each run, with the bound at its k."""
        return [{**asdict(run), "bound": self.bounds.get(run.k)} for run in self.runs]

    def csv(self) -> str:
        """One line for each run."""
        text = io.StringIO()
        rows = self.records_of()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    @property
    def _picture(self) -> Picture:
        from shoal.report.figures import risk_utility_map

        return risk_utility_map(self.facts())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the risk-utility map on these Axes, or on new ones; the Axes are returned."""
        return self._picture.on(ax)

    def svg(self) -> str:
        """The risk-utility map as a picture that stands alone."""
        return self._picture.svg()

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self._picture.img()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write as CSV, JSON or SVG, as the ending says."""
        path = Path(path)
        refuse_ending(path)
        ending = path.suffix.lower()
        text = json_text(self.facts(), indent=1) + "\n" if ending == ".json" else getattr(self, ending[1:])()
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")


def refuse_ending(path: Path) -> None:
    """Refuse a file that a comparison cannot be written to."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path.name!r} has another ending than .csv, .json or .svg: use one of these")


@explicit(Plan)
def compare(
    data: Any,
    k: Sequence[int] | int = (3, 5, 10),
    methods: Sequence[str] | str | None = None,
    *,
    bound_time: float | None = BOUND_SECONDS,
    sample: int | None = None,
    price: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    **fields: Unpack[PlanFields],
) -> Comparison:
    """Run every method at every k, several at a time, and measure what each loses and risks.

    Parameters
    ----------
    data
        A table, a path, or the URL of a table in a database. Of a folder of Parquet files, or of more than a
        million records in one, 20,000 are tried, drawn by chance; the `notes` say so.
    k : list of int
        The group sizes to try. A list of rules for a column of `diversity`, `closeness`, `dominance` or
        `spread` is tried likewise: `closeness={"income": [0.1, 0.2]}`.
    methods : list of str, optional
        The methods to try; see `shoal.methods`. Without it the plan's `method`.
    bound_time : float or None
        Seconds for the proven bound at each k; None for no bounds.
    sample : int, optional
        How many records record linkage tries; see `shoal.risk`.
    price : bool
        Run each plan without each of its requirements too: what each costs.
    workers : int, optional
        How many runs go on at a time.
    progress : callable, optional
        Called with the share that is done.
    **fields
        The fields of `Plan`, the same for all runs; `time_limit` is that of each run.

    Returns
    -------
    Comparison
        What cannot be run is listed with its reason. If nothing can be run, the first reason is raised.

    Examples
    --------
    >>> import shoal
    >>> tried = shoal.compare(shoal.datasets.survey(60), k=[3, 5], methods="mdav", bound_time=None)
    >>> [(run.method, run.k) for run in tried.runs]
    [('mdav', 3), ('mdav', 5)]
    """
    sizes = [k] if isinstance(k, int) else list(k)
    keys = [methods] if isinstance(methods, str) else methods
    if not sizes or (keys is not None and not keys):
        raise InputError("nothing to compare: name at least one k and one method")
    plans = [Plan(sizes[0], **chosen) for chosen in alternatives(fields)]
    return compare_plans(plans, data, sizes, keys, bound_time, sample, workers, progress, price)


def compare_plans(
    wanted: Sequence[Plan],
    data: Any,
    sizes: Iterable[int],
    keys: Iterable[str] | None = None,
    bound_time: float | None = BOUND_SECONDS,
    sample: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    price: bool = False,
) -> Comparison:
    """The plans with each of these k and each of these methods; without any, with their own.

    A method that needs a requirement is not tried without it, where another of the plans has it.
    """
    frame, notes = some_of(data, wanted[0])
    wanted = [*wanted, *(less for plan in wanted if price for less in _less(plan, frame))]
    wanted = [plan.called(frame.names) for plan in wanted]
    first = wanted[0]
    names = tuple(frame.choose(first.columns, {*first.roles, *first.strata, first.weight}))
    plans: dict[tuple[int, str, str], Plan] = {}
    for size, plan in itertools.product(dict.fromkeys(sizes), wanted):
        for key in keys or [plan.method]:
            needs = get_method(key, plan.parameters).needs
            if needs is None or getattr(plan, needs) or not getattr(first, needs):
                plans.setdefault((size, key, required_by(plan)), replace(plan, k=size, method=key))
    runs: list[Job] = [partial(_run, each, frame.native, sample) for each in plans.values()]
    proven = {each.k: each for each in plans.values() if bound_time}
    bounds: list[Job] = [partial(_bound, frame, each, bound_time) for each in proven.values() if bound_time]
    done = _results([*runs, *bounds], workers, progress)
    least = {size: value for size, value in zip(proven, done[len(runs) :]) if isinstance(value, float)}
    return _compared(done[: len(runs)], len(frame), names, least, notes)


def some_of(data: Any, plan: Plan) -> tuple[Frame, tuple[str, ...]]:
    """The table; of one that is read column by column some records, or units, drawn by chance, and a note."""
    large = data if isinstance(data, LargeTable) else large_table(data)
    if large is None:
        return frame_of(data), ()
    rng, many = np.random.default_rng(plan.seed), len(large) > TRIED
    if many and plan.unit:
        ids = row_ids(pa.table({name: large[name] for name in plan.unit}), plan.unit)
        _, whose, often = np.unique(ids, return_inverse=True, return_counts=True)
        fit = rng.permutation(np.flatnonzero(often <= TRIED))
        rows = np.flatnonzero(np.isin(whose, fit[np.cumsum(often[fit]) <= TRIED]))
        how = "drawn by chance" if len(fit) == len(often) else f"of units of up to {TRIED:,} by chance"
    else:
        rows, how = drawn(len(large), TRIED, rng), "drawn by chance"
    some = large.take(rows)
    note = (
        f"tried with a sample of {len(rows):,} of {len(large):,} records, {how}: of fewer records "
        "more is lost as a rule, so compare these figures with one another only"
    )
    frame = Frame(pa.table({name: some[name] for name in some.column_names}))
    return frame, (note,) if many else ()


def neighbours(release: Release, progress: Progress | None = None) -> Comparison | None:
    """The same plan at half, twice and four times its k, and without its requirements, beside the release.

    It answers "why this k" in a report. None where the release took long.
    """
    plan, k = release.plan, release.plan.k
    frame, notes = some_of(release.original, plan)
    records = len(frame)
    large = isinstance(release.original, LargeTable)  # where seconds say little of a run in memory
    if k < 2 or (release.seconds > NEIGHBOUR_SECONDS and not large):
        return None
    sizes = [size for size in sorted({max(2, k // 2), k, 2 * k, 4 * k}) if size <= max(k, records // 2)]
    plans = [replace(plan, k=size) for size in sizes if size != k] + _less(plan, frame)
    jobs: list[Job] = [partial(_run, other, frame.native) for other in plans]
    jobs.insert(place := sizes.index(k), _own(release, frame, notes))
    done = _results(jobs, None, progress)
    if isinstance(done[place], Failure):  # a stratum has too few in the sample, say
        return None
    return _compared(done, records, release.columns, {}, notes)


def _own(release: Release, frame: Frame, notes: Sequence[str]) -> Job:
    """The run of a release; where others run with a sample of its records, its plan does too."""
    return partial(_run, release.plan, frame.native) if notes else partial(Run.of, release)


def price(
    release: Release, *, bound_time: float | None = BOUND_SECONDS, progress: Progress | None = None
) -> Comparison:
    """The price of protection: the release beside those without each of its requirements, and without all.

    Parameters
    ----------
    release : Release
        What `microaggregate` gave back.
    bound_time : float or None
        Seconds for the proven bound, which holds with and without requirements; None for no bound.
    progress : callable, optional
        Called with the share that is done.

    Returns
    -------
    Comparison
        `requirements` of each run says what it holds.

    Raises
    ------
    InputError
        If the plan asks for no requirement.

    Examples
    --------
    >>> import shoal
    >>> firms = shoal.datasets.survey(60)
    >>> release = shoal.microaggregate(firms, 3, columns=["turnover", "wages"], diversity={"sector": 2})
    >>> [run.requirements for run in shoal.price(release, bound_time=None).runs]
    ['', 'diversity sector=2']
    """
    frame, notes = some_of(release.original, release.plan)
    refuse_price(release.plan, frame)
    jobs: list[Job] = [partial(_run, less, frame.native) for less in _less(release.plan, frame)]
    done = _results([_own(release, frame, notes), *jobs], None, progress)
    least = None if bound_time is None else _bound(frame, release.plan, bound_time)
    bounds = {} if least is None else {release.plan.k: least}
    return _compared(done, len(frame), release.columns, bounds, notes)


def refuse_price(plan: Plan, frame: Frame) -> None:
    """Refuse to price a plan that asks for nothing beyond k."""
    why = "the plan asks for no requirement whose price could be told: add one, such as diversity"
    if not _less(plan, frame):
        raise InputError(why)


def _less(plan: Plan, frame: Frame) -> list[Plan]:
    """The plan without each requirement, and without all. Two contributors matter to gaps, weights, zeros."""
    plan = plan.called(frame.names)
    thin = plan.weight is not None or plan.zeros == "group"
    for name in frame.choose(plan.columns, {*plan.roles, *plan.strata, plan.weight}):
        given = plan.types.get(name), plan.levels.get(name), plan.codes_of(name)
        thin |= read_column(frame, name, *given).gap_count > 0
    return without(plan, thin)


def _compared(
    done: Sequence[object],
    records: int,
    names: Sequence[Any],
    bounds: Mapping[int, float],
    notes: tuple[str, ...],
) -> Comparison:
    runs = [result for result in done if isinstance(result, Run)]
    failures = [result for result in done if isinstance(result, Failure)]
    if not runs:
        raise InputError(failures[0].error)
    return Comparison(records, tuple(map(str, names)), tuple(by_loss(runs)), tuple(failures), bounds, notes)


def _run(plan: Plan, data: Any, sample: int | None = None) -> Run | Failure:
    try:
        return Run.of(run(plan, data), sample)
    except ShoalError as error:
        return Failure(plan.method, plan.k, str(error), required_by(plan))


def _bound(frame: Frame, plan: Plan, seconds: float) -> float | None:
    """The proven least loss at the plan's k; None where there is no bound."""
    try:
        records, weights = measured(frame, plan=plan)
        return bound_matrix(records, plan.k, weights, time_limit=seconds).information_loss
    except ShoalError:
        return None


def _results(jobs: Sequence[Job], workers: int | None, progress: Progress | None) -> Sequence[object]:
    return map_threads(lambda job: job(), jobs, workers or min(thread_count(), 4), progress)


def by_loss(runs: Iterable[Run]) -> list[Run]:
    """The runs by growing loss; those on the Pareto front are marked."""
    ordered = sorted(runs, key=lambda r: (r.information_loss, r.risk, r.k, r.method))
    best = front([(run.information_loss, run.risk) for run in ordered])
    return [replace(run, pareto=place in best) for place, run in enumerate(ordered)]
